"""Breadth-first search that is top-down while the frontier has few arcs, and bottom-up otherwise.

Beamer, Asanovic, Patterson: Direction-Optimizing Breadth-First Search (2012).
"""

import numpy as np

from kernels.arrays import is_cupy
from kernels.graph import UNREACHED, Array, Graph
from kernels.operators import Frontier, advance, compute, filter, reduce, repeat_advance

# A frontier is expanded top-down if it has at most these shares of the arcs of rows that are not reached, and of all rows; on a
# GPU also if its arcs take less time than the calls for a level bottom-up.
_ARCS, _ROWS, _AT_ONCE = 1 / 14, 1 / 2, 1 << 22


def direction_optimising(graph: Graph, source: int) -> Array:
    """Hops from row `source` to every row, int64 [V]; -1 if it is not reached."""
    hops: Array = np.empty(graph.num_vertices, np.int64, like=graph.ids)
    level = 0

    def start(row: int) -> None:
        hops[row] = 0 if row == source else UNREACHED

    def visit(neighbour: int, round: int) -> bool:
        if hops[neighbour] >= 0:
            return False
        hops[neighbour] = level + round
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

    everything, frontier, left = Frontier.everything(graph), Frontier.of_rows(graph, [source]), graph.num_arcs
    compute(everything, start)
    while True:
        few = _ARCS * left + _ROWS * graph.num_vertices + (_AT_ONCE if is_cupy(graph) else 0)
        rounds, frontier = repeat_advance(frontier.under(most_work=int(few)), visit)
        if not frontier.size:
            return hops
        level += rounds + 1
        below = filter(everything, unreached)
        left = int(reduce(below, arcs))
        frontier = advance(below, in_level, direction="in", after=settle, collect="first")
