"""Graphs that the memory of the emulated GPU does not hold: the cases of tests/gpu/beyond."""

import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from tests.gpu.beyond.test_arcs_on_host import (  # noqa: F401
    collected,
    laid_out_in_ranges,
    small_bands,
    test_a_layout_that_runs_out_of_the_gpus_memory,
    test_a_layout_without_memory_for_pinned_arcs_is_the_cpus,
    test_a_run_in_little_memory_publishes_the_same_tables,
    test_a_stage_that_does_not_fit_beside_the_arcs_runs_on_the_cpu,
    test_a_worker_holds_the_arcs_of_a_graph_on_its_gpu,
    test_an_estimate_says_where_arcs_are,
    test_arcs_of_a_layout_in_ranges_stay_where_stages_read_them,
    test_arcs_that_the_gpu_holds_after_all_are_opened_there,
    test_every_stage_with_arcs_on_the_host,
    test_products_of_arcs_that_a_gpu_does_not_hold_are_made_on_the_cpu,
    test_without_host_memory_for_pinned_arcs_stages_run_on_maps,
    test_without_memory_for_the_vertices_the_cpu_computes,
)

pytestmark = pytest.mark.sampled
