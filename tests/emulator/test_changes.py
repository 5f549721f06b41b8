"""`graphmill change` on the emulated GPU: the tables of a rebuild on the CPU, to the byte."""

import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from tests.pipeline.changes.histories import history


@pytest.mark.parametrize("seed", [0, 3])
def test_tables_of_a_history_are_those_of_a_rebuild(seed, tmp_path):
    assert history(seed, tmp_path, 3, 3, backend="gpu", stages=["wcc"]) == []
