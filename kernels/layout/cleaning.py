"""Edges to clean arcs: between positions, sorted into rows, without the arcs that the rules exclude."""

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.compiled import njit
from kernels.graph import Array, Csr
from kernels.layout.numbering import number
from kernels.layout.rules import Edges, Rules
from kernels.layout.sorting import sort_arcs


def clean(
    src: Array, dst: Array, weights: Array | None, rules: Rules, dropped: list[Edges] | None = None
) -> tuple[Array, Csr, int]:
    """Number the vertices and sort the edges into rows of clean arcs.

    Args:
        src, dst (int64 [E]): External ids of the edges' endpoints, not negative; on a GPU also int32.
        weights ([E] or None): Not negative, not NaN.
        dropped: If given, the edges that are dropped because a parallel one is no heavier are appended, for the layout's
            certificate.

    Returns:
        ids (int64 [V]): Ascending; position p is the vertex `ids[p]`.
        arcs: The out-arcs of each position, ascending by the position of their head, then by weight.
        self_loops: Number of edges that are self-loops.

    Raises:
        ValueError: On a GPU: more than 2^32 vertices, so that two positions do not fit a key.
    """
    if is_cupy_array(src):
        from kernels.layout import cuda

        return cuda.clean(src, dst, weights, rules, dropped)
    ids, src, dst = number(src, dst, rules.declared)
    if rules.keep_parallel:
        src, dst, weights = _lightest_first(src, dst, weights)
    arcs = sort_arcs(len(ids), src, dst, weights, rules.both, rules.keep_self_loops)
    self_loops = int((src == dst).sum())
    if rules.keep_parallel:
        return ids, arcs, self_loops
    return ids, _lightest_of_parallel(ids, arcs, rules.both, dropped), self_loops


def _lightest_first(src: Array, dst: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    """Edges in ascending order of weight, so that stable sorts keep parallel arcs in that order."""
    if weights is None:
        return src, dst, weights
    order = np.argsort(weights, kind="stable")
    return src[order], dst[order], weights[order]


def _lightest_of_parallel(ids: Array, csr: Csr, both: bool, dropped: list[Edges] | None) -> Csr:
    """Keep the arc of least weight among parallel arcs. Overwrites the arrays of `csr` and returns views of them."""
    length = 0 if dropped is None else _parallel(csr.offsets, csr.indices, both)
    tails, heads = (np.empty(length, csr.indices.dtype) for _ in range(2))
    weights = None if csr.weights is None else np.empty(length, csr.weights.dtype)
    kept = _keep_lightest(csr.offsets, csr.indices, csr.weights, both, tails, heads, weights)
    if dropped is not None:
        dropped.append(Edges(ids[tails], ids[heads], weights))
    return Csr(csr.offsets, csr.indices[:kept], None if csr.weights is None else csr.weights[:kept])


@njit(cache=True, nogil=True)
def _parallel(offsets: Array, indices: Array, both: bool) -> int:
    """How many arcs are parallel to the one before them; of both arcs of an edge one is counted."""
    count = 0
    for row in range(len(offsets) - 1):
        for arc in range(offsets[row] + 1, offsets[row + 1]):
            count += indices[arc] == indices[arc - 1] and not (both and indices[arc] > row)
    return count


@njit(cache=True, nogil=True)
def _keep_lightest(
    offsets: Array, indices: Array, weights: Array | None, both: bool, tails: Array, heads: Array, dropped_weights: Array
) -> int:
    kept = 0
    begin = 0
    place = 0
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        first = kept
        for arc in range(begin, end):
            if kept > first and indices[kept - 1] == indices[arc]:
                if place < len(tails) and not (both and indices[arc] > row):
                    tails[place], heads[place] = row, indices[arc]
                    if weights is not None:
                        dropped_weights[place] = max(weights[kept - 1], weights[arc])
                    place += 1
                if weights is not None:
                    weights[kept - 1] = min(weights[kept - 1], weights[arc])
            else:
                indices[kept] = indices[arc]
                if weights is not None:
                    weights[kept] = weights[arc]
                kept += 1
        begin = end
        offsets[row + 1] = kept
    return kept
