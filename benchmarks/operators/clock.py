"""Time of an operator's kernels alone, and of calls as a user sees them."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import cupy
import numpy as np

from kernels.library.operators.gpu import bits
from kernels.library.operators.gpu.compiled import Program

_BUSY = 150_000  # cycles for which the GPU is kept busy while a launch is prepared
_spin = cupy.RawKernel(
    'extern "C" __global__ void spin(long long n) { for (long long s = clock64(); clock64() - s < n;); }', "spin"
)


def kernel_milliseconds(call: Callable[[], Any]) -> float:
    """Median over nine calls of the time of all kernels that a call launches, without what the host does between them."""
    call()
    times = []
    with _watched() as spans:
        for _ in range(9):
            spans.clear()
            call()
            cupy.cuda.Device().synchronize()
            times.append(sum(cupy.cuda.get_elapsed_time(start, end) for start, end in spans))
    return float(np.median(times))


def call_milliseconds(call: Callable[[], Any], at_once: int = 1) -> float:
    """Median wall time of a call until the GPU is done; of `at_once` calls in a row, without waiting between them."""
    call()
    times = []
    for _ in range(5):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        for _ in range(at_once):
            call()
        cupy.cuda.Device().synchronize()
        times.append(1000 * (time.perf_counter() - start) / at_once)
    return float(np.median(times))


@contextmanager
def _watched() -> Iterator[list[tuple[Any, Any]]]:
    spans: list[tuple[Any, Any]] = []

    def watch(run: Any) -> Any:
        def watched(*arguments: Any, **named: Any) -> None:
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            _spin((1,), (1,), (np.int64(_BUSY),))
            start.record()
            run(*arguments, **named)
            end.record()
            spans.append((start, end))

        return watched

    with ExitStack() as stack:
        for owner, name in ((Program, "run"), (bits, "launch")):
            stack.enter_context(patch.object(owner, name, watch(getattr(owner, name))))
        yield spans
