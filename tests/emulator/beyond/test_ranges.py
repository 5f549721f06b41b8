"""The layout in ranges of rows on the emulated GPU: the cases of tests/gpu/beyond."""

import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from tests.gpu.beyond.test_ranges import (  # noqa: F401
    free,
    test_a_range_has_few_enough_keys,
    test_a_star_and_graphs_without_edges,
    test_arcs_reversed_are_found_symmetric,
    test_memory_that_is_free_by_the_time_of_the_error,
    test_orders_and_shards,
    test_random_edges,
    test_the_arcs_of_one_vertex_have_to_be_few_enough,
    test_the_arcs_of_one_vertex_have_to_fit,
    test_the_vertices_have_to_fit,
)

pytestmark = pytest.mark.sampled
