"""Pinned memory that the emulated system refuses: the cases of tests/gpu/beyond."""

import pytest

pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from tests.gpu.beyond.test_pinning import (  # noqa: F401
    laid_out_in_ranges,
    pinned,
    test_a_layout_that_cannot_pin_memory_is_the_cpus,
    test_another_error_of_an_allocation_is_raised,
    test_the_cpu_begins_without_pinned_memory_that_nothing_uses,
    test_what_a_layout_takes_of_the_hosts_memory,
)

pytestmark = pytest.mark.sampled
