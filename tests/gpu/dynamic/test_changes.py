"""`graphmill change` on the GPU: the tables of a rebuild on the CPU, to the byte."""

import pytest

pytest.importorskip("cupy")

from tests.counts import NIGHTLY
from tests.pipeline.changes.histories import history


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 4))
def test_tables_of_a_history_are_those_of_a_rebuild(seed, tmp_path):
    assert history(seed, tmp_path, 20 if NIGHTLY else 2, 5 if NIGHTLY else 2, backend="gpu", stages=["wcc"]) == []
