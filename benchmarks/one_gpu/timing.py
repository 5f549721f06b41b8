"""Timing of GPU kernels: CUDA events, warm, the median over random sources, on memory without old answers."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cupy as cp
import numpy as np

from kernels.graph import Graph

SOURCES = 16
_POISON = 0xCB  # a byte that no answer contains: -875836469 as int32
_COPIED = 1 << 31  # bytes copied to measure the bandwidth


def random_sources(graph: Graph, count: int) -> list[int]:
    """Rows with out-arcs, drawn at random, with replacement."""
    rows = cp.flatnonzero(cp.diff(graph.out.offsets))
    return [int(row) for row in cp.asnumpy(rows[cp.asarray(np.random.default_rng(0).integers(len(rows), size=count))])]


def poison(num_bytes: int) -> None:
    """Fill `num_bytes` of the pool with a pattern, so that the next arrays from it begin with the pattern."""
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    filled = cp.full(num_bytes, _POISON, cp.uint8)
    cp.cuda.Device().synchronize()
    del filled


def milliseconds(call: Callable[..., Any], inputs: Sequence[Any] = ((),), warm_up: int = 2, repeats: int = 1) -> list[float]:
    """Time of `call(*one)` for every `one` of `inputs`, `repeats` times each, between two CUDA events."""
    for one in [*inputs][:warm_up]:
        call(*one)
    times = []
    start, end = cp.cuda.Event(), cp.cuda.Event()
    for one in [*inputs] * repeats:
        cp.cuda.Device().synchronize()
        start.record()
        call(*one)
        end.record()
        end.synchronize()
        times.append(float(cp.cuda.get_elapsed_time(start, end)))
    return times


def milliseconds_within(seconds: float, call: Callable[..., Any], inputs: Sequence[Any]) -> list[float]:
    """Wall time of `call(*one)` on all streams for the first `inputs`, at least one, until `seconds` have passed."""
    times: list[float] = []
    for one in inputs:
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        call(*one)
        cp.cuda.Device().synchronize()
        times.append(1000 * (time.perf_counter() - start))
        if sum(times) > 1000 * seconds:
            break
    return times


class PoolMemory(cp.cuda.MemoryHook):
    """Counts bytes allocated from CuPy's pool while the hook is active: those held now, and the peak."""

    name = "graphmill"

    def __init__(self) -> None:
        self.held = self.most = 0

    def malloc_postprocess(self, **block: int) -> None:
        """Count a block."""
        self.held += block["mem_size"]
        self.most = max(self.most, self.held)

    def free_postprocess(self, **block: int) -> None:
        """Uncount a block."""
        self.held -= block["mem_size"]


def peak_bytes(call: Callable[[], Any]) -> int:
    """Peak device memory of `call` in addition to what was held before, answers included."""
    with PoolMemory() as memory:
        call()
    return memory.most


@dataclass(frozen=True)
class FirstCall:
    """Cost of a kernel's first call on a graph, which includes deriving its plan."""

    milliseconds: float
    peak_bytes: int  # device memory beyond the graph, answer included
    kept_bytes: int  # the part that stays with the graph


def first_call(kernel: Callable[..., Any], graph: Graph, *arguments: Any) -> FirstCall:
    """Measure the first call on a graph with kernels that are already compiled."""
    fresh = replace(graph)
    cp.get_default_memory_pool().free_all_blocks()
    with PoolMemory() as memory:
        start = time.perf_counter()
        answer = kernel(fresh, *arguments)
        cp.cuda.Device().synchronize()
        elapsed = 1000 * (time.perf_counter() - start)
        del answer
    return FirstCall(elapsed, memory.most, memory.held)


def copy_bandwidth() -> float:
    """Bytes per second that a copy within device memory reads and writes: an upper bound for kernels."""
    source = cp.zeros(_COPIED, cp.uint8)
    target = cp.empty_like(source)
    times = milliseconds(lambda: cp.copyto(target, source), repeats=20)
    return 2 * _COPIED / (float(np.median(times)) / 1000)
