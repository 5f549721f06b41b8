"""The tests of graphs that change, on the emulated GPU."""

import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from tests.gpu.test_dynamic import (  # noqa: F401
    test_b4_single_edges_are_removed_by_a_kernel,
    test_batches_in_pages,
    test_batches_in_pages_of_many_lists,
    test_batches_that_are_refused,
    test_columns_of_batches_as_callers_hold_them,
    test_contract,
    test_d1_to_d5_operators_on_every_structure,
    test_e2_shortest_paths_on_pages,
    test_merged_changes,
    test_operators,
    test_searches_of_pages,
    test_structures,
)
