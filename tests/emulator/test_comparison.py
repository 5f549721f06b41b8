"""Comparisons of tables on the emulated GPU."""

import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from tests.gpu.test_comparison import (  # noqa: F401
    asked,
    test_a_gpu_without_memory_is_not_used,
    test_change_tables_have_the_same_bytes,
    test_many_rows,
    test_places_and_proofs_are_those_of_the_cpu,
    test_several_keys,
    test_what_the_gpu_cannot_answer_is_left_to_the_cpu,
)
