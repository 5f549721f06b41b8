"""Edges to clean arcs: between positions, sorted into rows, without the arcs that the rules exclude."""

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import elementwise
from kernels.graph import Array, Csr
from kernels.layout.numbering import number
from kernels.layout.rules import ArcRules, Edges, EdgeSource
from kernels.layout.sorting import sort_arcs


def clean(edges: EdgeSource, rules: ArcRules, dropped: list[Edges] | None = None) -> tuple[Array, Csr, int]:
    """Number the vertices and sort the edges into rows of clean arcs.

    Args:
        edges: Between external ids; NumPy's arrays or CuPy's.
        dropped: If given, the edges that are dropped because a parallel one is no heavier are appended, for the layout's
            certificate.

    Returns:
        ids (int64 [V]): Ascending; position p is the vertex `ids[p]`.
        arcs: The out-arcs of each position, ascending by the position of their head, then by weight.
        self_loops: Number of edges that are self-loops.

    Raises:
        ValueError: On a GPU: more than 2^32 vertices, so that two positions do not fit a key.
    """
    if is_cupy_array(edges.none().src):
        from kernels.layout import cuda

        return cuda.clean(edges, rules, dropped)
    numbering = number(edges, rules.declared)
    ids, ends = numbering.ids, np.empty(0, numbering.table.dtype)

    def by_id(listed: Edges) -> Edges:
        src_ids, dst_ids = (elementwise(ids.take, ends, dtype=ids.dtype) for ends in (listed.src, listed.dst))
        return Edges(src_ids, dst_ids, listed.weights)

    none = Edges(ends, ends, edges.none().weights)
    if dropped is not None and edges.spill:
        from kernels.layout.spilling import GrowingEdges, spilled

        growing = GrowingEdges(none, edges.spill)
        arcs = sort_arcs(numbering, rules, growing)
        dropped.append(spilled(by_id(none), map(by_id, growing.close().pieces()), edges.spill))
        return ids, arcs, numbering.self_loops
    between = list[Edges]()
    arcs = sort_arcs(numbering, rules, None if dropped is None else between)
    if dropped is not None and between:
        dropped.append(by_id(none.with_parts(between)))
    return ids, arcs, numbering.self_loops
