"""The layout on a GPU whose memory does not hold the arcs: rows are made range by range, and go to pinned memory of the host.

The edges are in the host's memory, and are read again for each range: memory for their keys, divided by range, would take longer
to pin than they take to read. The arcs of each position are counted, then, in ranges of positions, those of them that are not
parallel. These numbers decide the order of the rows, ranges of which are sorted as `kernels.layout.cuda` sorts ranges of tails.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import cupy
import numpy as np

from kernels.cpu.parallel import differences, inverse
from kernels.distributed.gpu.memory import arcs_on_host, pinned_array
from kernels.distributed.partition import cut
from kernels.gpu.loader import free_bytes, to_host
from kernels.gpu.radix_sort import KEY
from kernels.gpu.transfer import on_host
from kernels.graph import OFFSET, Array, Csr, index_dtype
from kernels.layout.cuda import MOST_KEYS, add_arcs, by_degree_in_windows
from kernels.layout.laid_out import LaidOut
from kernels.layout.numbering import Searched
from kernels.layout.on_gpu.numbering import NumberedEdges, number
from kernels.layout.on_gpu.streaming import StreamedEdges
from kernels.layout.rules import ArcRules, Edges, EdgeSource
from kernels.layout.sorting import equal

_OF_VERTEX = 72  # bytes of the GPU for each vertex, at most, beside ids and positions
_ORDERED = 32  # bytes for each arc while parallel arcs are ordered by their weights
_LISTED = 96  # bytes for each of parallel arcs, at most, while all but the lightest are listed
_MIB = 2**20


def build_in_ranges(edges: StreamedEdges, rules: ArcRules, window: int | None, parts: int = 1) -> LaidOut:
    """As `kernels.layout.building.build_csr` on a single rank, to the byte; arcs are CuPy arrays in the host's memory.

    Raises:
        MemoryError: The GPU has no memory for the vertices, or for the arcs of one vertex; nothing else depends on its memory.
            Or the system does not pin enough of the host's.
    """
    dropped: list[Edges] = []
    numbered = number(edges, rules, dropped)
    vertices = len(numbered.ids)
    if (needed := _OF_VERTEX * vertices) > (spare := _spare()):
        raise _too_little("the vertices of a graph take", needed, spare)
    counts = _counts(numbered)
    stay = _distinct(numbered, counts)
    in_order: Array = cupy.arange(vertices, dtype=index_dtype(vertices))
    order = in_order if window is None else by_degree_in_windows(stay, window)
    by_id = inverse(order)
    numbered = replace(numbered, order=order, rows=by_id)
    counts, stay = counts[order], stay[order]
    arcs = int(stay.sum())
    out, self_loops = _rows(numbered, counts, stay, arcs)
    del stay
    directions = {"out": out}
    if not rules.both:
        turned = replace(numbered, edges=_changed(numbered.edges, StreamedEdges.reversed), dropped=None)
        counts = _counts(turned)[order]
        into, _ = _rows(turned, counts, counts, arcs)
        if not equal(arcs_on_host(into), arcs_on_host(out)):
            directions["in"] = into
    cuts = [0, vertices]
    if parts > 1:
        total: Any = sum(differences(csr.offsets) for csr in directions.values())
        cuts = [0, *(rows.stop for rows in cut(to_host(total), parts))]
    bounds, ids = np.array(cuts, OFFSET), numbered.ids[order]
    return LaidOut(bounds, range(parts), ids, order, 0, by_id, directions, not rules.both, False, self_loops, dropped)


def _counts(numbered: NumberedEdges) -> Array:
    """The number of arcs of each position, parallel ones included, int64 [V]."""
    counts: Array = cupy.zeros(len(numbered.ids), OFFSET)
    ends = _changed(numbered.edges, StreamedEdges.ends)
    replace(numbered, edges=ends).launch("count_arcs", index_dtype(len(numbered.ids)), counts)
    return counts


def _distinct(numbered: NumberedEdges, counts: Array) -> Array:
    """The number of arcs of each position that the rules keep, int64 [V]; `counts` are the arcs of each."""
    if numbered.rules.keep_parallel:
        return counts
    degrees: Array = cupy.zeros(len(counts) + 1, OFFSET)
    row = index_dtype(len(counts))
    ends = replace(numbered, edges=_changed(numbered.edges, StreamedEdges.ends), dropped=None)
    for tails, most in _ranges(counts, counts * (row.itemsize + 2 * KEY.itemsize)):
        add_arcs(ends, tails, most, Csr(degrees[tails.start + 1 :], cupy.empty(most, row), None))
    return degrees[1:]


def _rows(numbered: NumberedEdges, counts: Array, stay: Array, arcs: int) -> tuple[Csr, int]:
    """The rows of a direction, whose `arcs` arcs are in the host's memory, and the number of self-loops.

    `counts` and `stay` (int64 [V]) are the arcs of each row with and without parallel ones, as far as these are listed.
    """
    row, weight, keep_parallel = index_dtype(len(counts)), numbered.edges.weight, numbered.rules.keep_parallel
    of_weight = 0 if weight is None else weight.itemsize
    sorting = 2 * (KEY.itemsize + of_weight)
    if of_weight and keep_parallel:
        sorting = _ORDERED + 2 * of_weight
    elif numbered.dropped is not None:
        sorting += 2  # whether a key is that of a parallel arc
    offsets, columns = cupy.zeros(len(counts) + 1, OFFSET), [pinned_array(arcs, dtype) for dtype in (row, weight) if dtype]
    done = self_loops = 0
    for tails, most in _ranges(counts, counts * (row.itemsize + of_weight + sorting) + (counts - stay) * (2 * _LISTED)):
        weights = None if weight is None else cupy.empty(most, weight)
        own = Csr(offsets[tails.start + 1 :], cupy.empty(most, row), weights)
        added, loops = add_arcs(numbered, tails, most, own)
        assert numbered.rows is not None
        made = [numbered.rows[own.indices[:added]], *([] if weights is None else [weights[:added]])]
        for (_, there), values in zip(columns, made, strict=True):
            values.get(out=there[done : done + added])
        if numbered.dropped is not None:
            numbered.dropped[:] = map(on_host, numbered.dropped)
        done, self_loops = done + added, self_loops + loops
        del own, weights, made, values  # before the next range
    cupy.cumsum(offsets, out=offsets)
    return Csr(offsets, columns[0][0], None if weight is None else columns[1][0]), self_loops


def _ranges(counts: Array, needed: Array) -> Iterator[tuple[range, int]]:
    """Ranges of tails with their numbers of arcs, at most `MOST_KEYS`, each of which fits into the memory that is free now.

    Args:
        counts, needed (int64 [V]): Arcs of each tail, and bytes of the GPU that they take.

    Raises:
        MemoryError: A single tail has more arcs, or these take more memory.
    """
    pool, sums, ends = cupy.get_default_memory_pool(), cupy.cumsum(needed), cupy.cumsum(counts)
    pool.free_all_blocks()  # of a large block in part of which an array stays, the rest is lost for a larger one
    most, begin, before, done = _spare(), 0, 0, 0
    while begin < len(counts):
        limits = (sums, before + most), (ends, done + MOST_KEYS)
        end = min(int(cupy.searchsorted(column, cupy.array([limit]), side="right")[0]) for column, limit in limits)
        if end == begin:
            if (arcs := int(ends[begin]) - done) > MOST_KEYS:
                raise MemoryError(f"one vertex has {arcs:,} arcs, and the GPU sorts {MOST_KEYS:,} at a time")
            raise _too_little("the arcs of one vertex take", int(sums[begin]) - before, most)
        arcs = int(ends[end - 1]) - done
        yield range(begin, end), arcs
        pool.free_all_blocks()
        begin, before, done = end, int(sums[end - 1]), done + arcs


def _spare() -> int:
    """Bytes of the GPU's memory that arrays may take; the rest is for those that are not counted."""
    return free_bytes() // 4 * 3


def _too_little(what: str, needed: int, free: int) -> MemoryError:
    """The error that says that so many bytes of the GPU's memory are needed, and fewer are free."""
    return MemoryError(f"{what} {needed / _MIB:,.1f} MiB of the GPU's memory, and {free / _MIB:,.1f} MiB are free")


def _changed(edges: EdgeSource, change: Callable[[StreamedEdges], StreamedEdges]) -> EdgeSource:
    """The same source with other columns of the edges in the host's memory."""
    if isinstance(edges, Searched):
        return replace(edges, edges=_changed(edges.edges, change))
    assert isinstance(edges, StreamedEdges)
    return change(edges)
