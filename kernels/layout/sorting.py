"""Edges to rows of arcs by two stable counting sorts, by head and then by tail: a radix sort whose digits are vertices.

References: Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 8.2 and 8.3.
"""

from typing import Any

import numpy as np

from kernels.arrays import is_cupy
from kernels.cpu.compiled import njit
from kernels.graph import OFFSET, Array, Csr, index_dtype


def sort_arcs(num_vertices: int, src: Array, dst: Array, weights: Array | None, both: bool, keep_self_loops: bool) -> Csr:
    """Sort edges into out-rows whose arcs ascend by their head; equal arcs keep the order of the edges.

    Args:
        src, dst (index width [E]): Positions of the edges' endpoints.
        weights: [E] or None.
        both: Also store the reverse of every edge. A self-loop is its own reverse.
        keep_self_loops: Otherwise self-loops are dropped.
    """
    offsets = np.zeros(num_vertices + 1, OFFSET)
    _count_heads(src, dst, both, keep_self_loops, offsets[1:])
    np.cumsum(offsets, out=offsets)
    by_head = _empty(offsets, index_dtype(num_vertices), weights)
    _put_by_head(src, dst, weights, both, keep_self_loops, offsets[:-1].copy(), by_head.indices, by_head.weights)
    return transpose(by_head)


def in_rows(out: Csr) -> Csr:
    """The in-arcs of a graph whose rows are positions: `out` itself if the graph is symmetric, including the weights."""
    if is_cupy(out):
        from kernels.layout import cuda

        into = cuda.transposed(out)
        return out if cuda.equal(into, out) else into
    positions = np.arange(len(out.offsets) - 1, dtype=out.indices.dtype)
    return out if is_transpose(out, out, positions) else transpose(out)


def transpose(csr: Csr) -> Csr:
    """The arcs reversed: their rows ascend by index, and parallel arcs keep their order."""
    offsets = np.zeros_like(csr.offsets)
    _count(csr.indices, offsets[1:])
    np.cumsum(offsets, out=offsets)
    transposed = _empty(offsets, csr.indices.dtype, csr.weights)
    _put_by_index(*_arrays(csr), offsets[:-1].copy(), transposed.indices, transposed.weights)
    return transposed


def is_transpose(out: Csr, into: Csr, order: Array) -> bool:
    """Whether `into` holds exactly the arcs of `out`, weights included, and each row of both ascends by `order`, then weight.

    Args:
        out, into: Both valid. Pass the same object to test whether a graph is symmetric.
        order (index width [V]): All rows, in the order in which a row's arcs ascend.
    """
    if len(out.indices) != len(into.indices):
        return False
    return bool(_is_transpose(*_arrays(out), *_arrays(into), into.offsets[:-1].copy(), order))


def _empty(offsets: Array, dtype: np.dtype[Any], weights: Array | None) -> Csr:
    length = int(offsets[-1])
    return Csr(offsets, np.empty(length, dtype), None if weights is None else np.empty(length, weights.dtype))


def _arrays(csr: Csr) -> tuple[Array, Array, Array | None]:
    return csr.offsets, csr.indices, csr.weights


@njit(cache=True, nogil=True)
def _count_heads(src: Array, dst: Array, both: bool, keep_self_loops: bool, counts: Array) -> None:
    for edge in range(len(src)):
        if src[edge] != dst[edge]:
            counts[dst[edge]] += 1
            if both:
                counts[src[edge]] += 1
        elif keep_self_loops:
            counts[dst[edge]] += 1


@njit(cache=True, nogil=True)
def _put_by_head(
    src: Array, dst: Array, weights: Array | None, both: bool, keep_self_loops: bool,
    free: Array, tails: Array, sorted_weights: Array,
) -> None:  # fmt: skip
    """Write each arc to the next free slot of its head."""
    for edge in range(len(src)):
        tail, head = src[edge], dst[edge]
        if tail == head and not keep_self_loops:
            continue
        place = free[head]
        free[head] += 1
        tails[place] = tail
        if weights is not None:
            sorted_weights[place] = weights[edge]
        if both and tail != head:
            place = free[tail]
            free[tail] += 1
            tails[place] = head
            if weights is not None:
                sorted_weights[place] = weights[edge]


@njit(cache=True, nogil=True)
def _count(indices: Array, counts: Array) -> None:
    for arc in range(len(indices)):
        counts[indices[arc]] += 1


@njit(cache=True, nogil=True)
def _put_by_index(
    offsets: Array, indices: Array, weights: Array | None, free: Array, sorted_indices: Array, sorted_weights: Array
) -> None:
    """Write each arc to the next free slot of its index, row by row, so that the slots of an index ascend by row."""
    for row in range(len(offsets) - 1):
        for arc in range(offsets[row], offsets[row + 1]):
            place = free[indices[arc]]
            free[indices[arc]] += 1
            sorted_indices[place] = row
            if weights is not None:
                sorted_weights[place] = weights[arc]


@njit(cache=True, nogil=True)
def _is_transpose(
    offsets: Array, indices: Array, weights: Array | None,
    into_offsets: Array, into_indices: Array, into_weights: Array, expected: Array, order: Array,
) -> bool:  # fmt: skip
    """Visit the out-arcs in the order that every in-row must have; `expected` is the next arc of each in-row."""
    for place in range(len(order)):
        row = order[place]
        for arc in range(offsets[row], offsets[row + 1]):
            head = indices[arc]
            into_arc = expected[head]
            if into_arc == into_offsets[head + 1] or into_indices[into_arc] != row:
                return False
            if weights is not None and into_weights[into_arc] != weights[arc]:
                return False
            expected[head] = into_arc + 1
    return True
