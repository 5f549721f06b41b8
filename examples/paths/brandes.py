"""Betweenness: for each source the shortest paths are counted level by level, then shares of them are added on the way back.

Brandes: A Faster Algorithm for Betweenness Centrality (2001).
"""

from collections.abc import Iterable

import numpy as np

from graphmill import Array, Frontier, Graph, advance, compute, filter, reduce
from kernels.arrays import require_row
from kernels.graph import UNREACHED


def brandes(graph: Graph, sources: Iterable[int]) -> Array:
    """Sums over the sources of the shares of shortest paths through each row, float64 [V]; weights are not read."""
    rows = [require_row(graph, each) for each in sources]
    between, paths, share = (np.zeros(graph.num_vertices, np.float64, like=graph.ids) for _ in range(3))
    hops: Array = np.empty(graph.num_vertices, np.int64, like=graph.ids)
    source, level = -1, 0

    def start(row: int) -> None:
        hops[row] = 0 if row == source else UNREACHED
        paths[row] = 1.0 if row == source else 0.0
        share[row] = 0.0

    def visit(neighbour: int) -> bool:
        if hops[neighbour] >= 0 and hops[neighbour] != level:
            return False
        hops[neighbour] = level
        return True

    def counted(neighbour: int) -> float:
        return paths[neighbour] if hops[neighbour] == level - 1 else 0.0

    def keep_count(row: int, total: float) -> None:
        paths[row] = total

    def own_hops(row: int) -> int:
        return hops[row]

    def in_level(row: int) -> bool:
        return hops[row] == level

    def given(neighbour: int) -> float:
        return (1 + share[neighbour]) / paths[neighbour] if hops[neighbour] == level + 1 else 0.0

    def keep_share(row: int, total: float) -> None:
        share[row] = total * paths[row]
        between[row] += share[row]

    everything = Frontier.everything(graph)
    for each in rows:
        source, level = each, 0
        compute(everything, start)
        frontier = Frontier.of_rows(graph, [source])
        while frontier.size:
            level += 1
            frontier = advance(frontier, visit)
            advance(frontier, counted, direction="in", after=keep_count, collect="sum")
        for below in range(int(reduce(everything, own_hops, "max")) - 1, 0, -1):
            level = below
            advance(filter(everything, in_level), given, after=keep_share, collect="sum")
    return between
