"""Breadth-first search that is top-down while the frontier has few arcs, and bottom-up otherwise.

Beamer, Asanovic, Patterson: Direction-Optimizing Breadth-First Search (2012).
"""

import numpy as np

from kernels.graph import UNREACHED, Array, Graph
from kernels.operators import Frontier, advance, compute, filter, reduce

_FEW = 1 / 14  # of the arcs: a frontier with fewer is expanded top-down


def direction_optimising(graph: Graph, source: int) -> Array:
    """Hops from row `source` to every row, int64 [V]; -1 if it is not reached."""
    hops: Array = np.empty(graph.num_vertices, np.int64, like=graph.ids)
    level = 0

    def start(row: int) -> None:
        hops[row] = 0 if row == source else UNREACHED

    def visit(neighbour: int) -> bool:
        if hops[neighbour] >= 0:
            return False
        hops[neighbour] = level
        return True

    def unreached(row: int) -> bool:
        return hops[row] < 0

    def in_level(neighbour: int) -> bool:
        return hops[neighbour] == level - 1

    def settle(row: int, total: int) -> bool:
        if total < 0:
            return False
        hops[row] = level
        return True

    def arcs(degree: int) -> int:
        return degree

    compute(Frontier.everything(graph), start)
    frontier = Frontier.of_rows(graph, [source])
    while frontier.size:
        level += 1
        if reduce(frontier, arcs) < _FEW * graph.num_arcs:
            frontier = advance(frontier, visit)
        else:
            left = filter(Frontier.everything(graph), unreached)
            frontier = advance(left, in_level, direction="in", after=settle, collect="first")
    return hops
