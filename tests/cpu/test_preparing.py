"""Times of compiled functions: without the time in which Numba compiles them, on any thread."""

import time

import numpy as np

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items
from kernels.preparing import Prepared, measured
from pipeline.runtime.backend import Clock


def mostly_compiling():
    """Whether a clock leaves out most of a first call: compiling takes longer than the work, and is done on another thread."""

    @njit(nogil=True)
    def doubled(values):
        return values * 2

    clock, started = Clock("cpu"), time.perf_counter()
    with clock.timed():
        over_items([np.arange(4), np.arange(9)], doubled)
    first = time.perf_counter() - started
    return 0 <= clock.seconds < first / 2


def test_a_clock_leaves_out_what_compiling_takes():
    assert any(mostly_compiling() for _ in range(5))  # a busy machine may stop this process while it works


def test_threads_that_prepare_at_the_same_time_are_counted_once():
    both = Prepared()
    both.begin()
    both.begin()
    time.sleep(0.02)
    both.end()
    assert both.seconds == 0
    both.end()
    assert both.seconds >= 0.02


def test_what_others_prepare_is_not_counted():
    with measured() as outer, measured() as inner:
        over_items([0, 1], lambda _: None)
    assert outer.seconds == inner.seconds == 0
