"""Time of an operator's kernels alone, and of calls as a user sees them."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import cupy
import numpy as np

from kernels.library.operators.gpu import bits
from kernels.library.operators.gpu.compiled import Program

_RUNS, _SECONDS = 11, 0.5  # of a measurement; a call that takes longer than this is made once more
_BUSY = 150_000  # cycles for which the GPU is kept busy while a launch is prepared
_SPIN = 'extern "C" __global__ void spin(long long n) { for (long long s = clock64(); clock64() - s < n;); }'


@dataclass(frozen=True)
class Times:
    """Milliseconds of one call: the median of `runs` calls, and what a tenth of them is below or above."""

    median: float
    p10: float
    p90: float
    runs: int

    @classmethod
    def of(cls, found: list[float]) -> "Times":
        """Of single calls."""
        low, middle, high = np.percentile(found, [10, 50, 90])
        return cls(float(middle), float(low), float(high), len(found))

    def each(self, parts: int) -> "Times":
        """Of each of several equal parts."""
        return Times(self.median / parts, self.p10 / parts, self.p90 / parts, self.runs)


def kernel_times(call: Callable[[], Any]) -> Times:
    """Time of all kernels that a call launches, without what the host does between them."""
    call()
    times = []
    with _watched() as spans:
        for _ in range(_RUNS):
            spans.clear()
            call()
            cupy.cuda.Device().synchronize()
            times.append(sum(cupy.cuda.get_elapsed_time(start, end) for start, end in spans))
    return Times.of(times)


def call_times(call: Callable[[], Any], at_once: int = 1) -> Times:
    """Wall time of a call until the GPU is done; of `at_once` calls in a row, without waiting between them."""
    first, times = _milliseconds(call, 1), list[float]()
    end = time.monotonic() + _SECONDS
    while not times or (len(times) < _RUNS and first < 1000 * _SECONDS and time.monotonic() < end):
        times.append(_milliseconds(call, at_once))
    return Times.of(times)


def _milliseconds(call: Callable[[], Any], count: int) -> float:
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    cupy.cuda.Device().synchronize()
    return 1000 * (time.perf_counter() - start) / count


@contextmanager
def _watched() -> Iterator[list[tuple[Any, Any]]]:
    spans: list[tuple[Any, Any]] = []
    spin = cupy.RawKernel(_SPIN, "spin")

    def watch(run: Any) -> Any:
        def watched(*arguments: Any, **named: Any) -> None:
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            spin((1,), (1,), (np.int64(_BUSY),))
            start.record()
            run(*arguments, **named)
            end.record()
            spans.append((start, end))

        return watched

    with ExitStack() as stack:
        for owner, name in ((Program, "run"), (bits, "launch")):
            stack.enter_context(patch.object(owner, name, watch(getattr(owner, name))))
        yield spans
