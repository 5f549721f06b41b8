"""How GPU kernels are timed: CUDA events, warm, the median over random sources, on memory that holds no old answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy as cp
import numpy as np

from kernels.graph import Graph

SOURCES = 16
_POISON = 0xCB  # a byte that is no answer: -875836469 as int32


def random_sources(graph: Graph, count: int = SOURCES, seed: int = 0) -> list[int]:
    """Rows with out-arcs, drawn at random, with replacement."""
    rows = cp.flatnonzero(cp.diff(graph.out.offsets))
    return [int(row) for row in cp.asnumpy(rows[cp.asarray(np.random.default_rng(seed).integers(len(rows), size=count))])]


def poison(num_bytes: int) -> None:
    """Fill `num_bytes` of the pool with a pattern, so that the next arrays made of it start with that."""
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


def median_over_sources(call: Callable[[Graph, int], Any], graph: Graph, count: int = SOURCES) -> float:
    """Median milliseconds of `call(graph, source)` over `count` random sources."""
    return float(np.median(milliseconds(call, [(graph, source) for source in random_sources(graph, count)])))


def peak_bytes(call: Callable[[], Any]) -> int:
    """Device memory that `call` takes beyond what is held before it, answers included."""
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.total_bytes()
    kept = call()
    cp.cuda.Device().synchronize()
    taken = pool.total_bytes() - before
    del kept
    return taken
