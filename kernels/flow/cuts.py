"""The arcs of cuts, by their ends."""

import numpy as np

from kernels.graph import OFFSET, Array, Graph


def ends_of(graph: Graph, begins: Array, arcs: Array) -> tuple[Array, Array]:
    """The ends of the arcs of cuts, of each pair ascending by their external ids: a row's arcs ascend already."""
    pair = np.searchsorted(begins, np.arange(len(arcs), like=arcs), side="right")
    tails = np.searchsorted(graph.out.offsets, arcs, side="right") - 1
    order = np.lexsort(np.stack([arcs, graph.positions[tails].astype(OFFSET), pair.astype(OFFSET)]))
    return tails[order].astype(graph.rows_by_id.dtype), graph.out.indices[arcs[order]]
