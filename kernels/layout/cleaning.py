"""Edges to clean arcs: between positions, sorted into rows, without the arcs that the rules exclude."""

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import elementwise
from kernels.graph import Array, Csr
from kernels.layout.numbering import number
from kernels.layout.rules import ArcRules, Edges
from kernels.layout.sorting import sort_arcs


def clean(
    src: Array, dst: Array, weights: Array | None, rules: ArcRules, dropped: list[Edges] | None = None
) -> tuple[Array, Csr, int]:
    """Number the vertices and sort the edges into rows of clean arcs.

    Args:
        src, dst (int32 or int64 [E]): External ids of the edges' endpoints, not negative.
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
    self_loops = int(np.count_nonzero(elementwise(np.equal, src, dst, dtype=np.bool_)))
    numbering = number(src, dst, rules.declared)
    ids, between = numbering.ids, list[Edges]()
    arcs = sort_arcs(numbering, weights, rules, None if dropped is None else between)
    if dropped is not None and between:
        listed = between[0].take(slice(0)).with_parts(between)
        src_ids, dst_ids = (elementwise(ids.__getitem__, ends, dtype=ids.dtype) for ends in (listed.src, listed.dst))
        dropped.append(Edges(src_ids, dst_ids, listed.weights))
    return ids, arcs, self_loops
