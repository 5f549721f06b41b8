"""The edges whose betweenness is stated, and which arcs of the graph each of them is."""

from typing import NamedTuple

import numpy as np

from kernels.distributed.columns import add_at
from kernels.graph import OFFSET, Array, Graph


class DistinctEdges(NamedTuple):
    """E edges, ascending by the external ids of their ends; self-loops are left out."""

    src: Array  # index width [E]: the row of the smaller external id, if edges have no direction
    dst: Array  # index width [E]
    arcs: Array  # int64 [B]: the out-arcs that are no self-loops
    edge: Array  # int64 [B]: the edge of each of them

    def sums(self, of_arcs: Array) -> Array:
        """Sums over the arcs of each edge, int64 [E], of int64 [A]."""
        total = np.zeros(len(self.src), OFFSET, like=of_arcs)
        add_at(total, self.edge, of_arcs[self.arcs])
        return total


def distinct_edges(graph: Graph) -> DistinctEdges:
    """The edges of a graph."""
    position, tails, count = graph.positions, tails_of(graph.out.offsets), graph.num_vertices
    arcs = np.flatnonzero(tails != graph.out.indices)
    ends = position[tails[arcs]].astype(OFFSET), position[graph.out.indices[arcs]].astype(OFFSET)
    if not graph.directed:
        ends = np.minimum(*ends), np.maximum(*ends)
    numbers, edge = np.unique(ends[0] * count + ends[1], return_inverse=True)
    src, dst = (graph.rows_by_id[ends] for ends in (numbers // max(count, 1), numbers % max(count, 1)))
    return DistinctEdges(src, dst, arcs, edge)


def tails_of(offsets: Array) -> Array:
    """The row of each arc, int64 [A]."""
    arcs = np.arange(int(offsets[-1]), dtype=OFFSET, like=offsets)
    return np.searchsorted(offsets, arcs, side="right").astype(OFFSET) - 1
