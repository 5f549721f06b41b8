"""Label propagation on the GPU (cdlp.cu): a round is two launches, for the rows that need a block and for all others."""

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.answers import Components
from kernels.cdlp.constants import LARGE_ROW, MANY, MIDDLE_ROW, SMALL_ROW, THREADS
from kernels.gpu.loader import launch, pointer
from kernels.graph import Array, Csr, Graph

_SOURCE = "cdlp/cdlp.cu"


class CountedArcs(NamedTuple):
    """Arcs that count, and how their rows are counted."""

    arcs: tuple[Any, ...]  # offsets and indices of out-arcs and in-arcs, in the order of the kernels' arguments
    # index width: rows that need a table, those of more than LARGE_ROW arcs first, then those of more than MIDDLE_ROW arcs.
    tabled: Array
    slots: Array  # int64: where the slots of each of the first rows begin in global memory, and their number
    ends: tuple[np.int64, ...]  # how many of `tabled` there are up to the end of each kind


def solve(graph: Graph, iterations: int) -> Components:
    """Answer `kernels.cdlp.cdlp` on CuPy arrays."""
    sides, labels = sides_of(graph.out, graph.into), graph.positions
    waits = cupy.ones(graph.num_vertices, np.bool_)
    for done in range(iterations):
        after = propagated(sides, labels, waits) if done or not graph.symmetric else _after_first_round(sides, labels)
        changed = after != labels
        number = int(changed.sum())
        if not number:
            break
        labels, waits = after, _woken(sides, changed, number)
    return Components(graph.rows_by_id[labels])


def sides_of(out: Csr, into: Csr) -> CountedArcs:
    """As `kernels.cdlp.cpu.sides_of`."""
    degrees = cupy.diff(out.offsets)
    arcs: tuple[Any, ...] = (out.offsets, out.indices, pointer(None), pointer(None))
    if into is not out:
        degrees, arcs = degrees + cupy.diff(into.offsets), (out.offsets, out.indices, into.offsets, into.indices)
    limits = SMALL_ROW, MIDDLE_ROW, LARGE_ROW, np.iinfo(np.int64).max
    kinds = [cupy.flatnonzero((degrees > limits[i]) & (degrees <= limits[i + 1])) for i in (2, 1, 0)]
    slots = np.concatenate([np.zeros_like(degrees[:1], shape=(1,)), np.cumsum(2 * degrees[kinds[0]])])
    ends = tuple(np.cumsum([len(kind) for kind in kinds], dtype=np.int64))
    return CountedArcs(arcs, np.concatenate(kinds).astype(out.indices.dtype), slots, ends)


def propagated(sides: CountedArcs, labels: Array, waits: Array) -> Array:
    """As `kernels.cdlp.cpu.propagated`."""
    arcs, tabled, slots, (large, by_blocks, all_tabled) = sides
    after, num_slots, row = labels[: len(waits)].copy(), max(1, int(slots[-1])), labels.dtype
    state = labels, waits, after
    if by_blocks:
        tables, votes = cupy.empty(num_slots, row), cupy.empty(num_slots, np.uint32)
        counted = *arcs, tabled, slots, large, by_blocks, *state, tables, votes
        launch(_SOURCE, "count_by_blocks", THREADS, THREADS * int(by_blocks), *counted, ROW=row)
    counted = *arcs, tabled, by_blocks, all_tabled, np.int64(len(waits)), *state
    launch(_SOURCE, "count_by_warps", THREADS, max(len(waits), 32 * int(all_tabled - by_blocks)), *counted, ROW=row)
    return after


def _after_first_round(sides: CountedArcs, labels: Array) -> Array:
    """As `kernels.cdlp.cpu._after_first_round`."""
    (offsets, indices, *_), after, repeats = sides.arcs, labels.copy(), cupy.zeros(len(labels), np.bool_)
    state = np.int64(len(labels)), np.int64(len(indices)), labels, after, repeats
    launch(_SOURCE, "take_first", THREADS, len(indices), offsets, indices, *state, ROW=labels.dtype)
    return cupy.where(repeats, propagated(sides, labels, repeats), after) if repeats.any() else after


def _woken(sides: CountedArcs, changed: Array, number: int) -> Array:
    """Whether each row waits: all if many labels have changed."""
    waits: Array = cupy.full_like(changed, number * MANY > len(changed))
    if number * MANY > len(changed):
        return waits
    launch(_SOURCE, "wake", THREADS, len(changed), *sides.arcs, np.int64(len(changed)), changed, waits, ROW=sides.tabled.dtype)
    return waits
