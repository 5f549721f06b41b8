"""Breadth-first search that is top-down while the frontier has few arcs, and bottom-up otherwise.

Beamer, Asanovic, Patterson: Direction-Optimizing Breadth-First Search (2012).
"""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, compute, filter, reduce, repeat_advance
from kernels.arrays import is_cupy, require_row
from kernels.graph import UNREACHED

# A frontier is expanded top-down if it has at most these shares of the arcs of rows that are not reached, and of all rows; on a
# GPU also if its arcs take less time than the calls for a level bottom-up. Levels of more than _FEW of the rows stay bottom-up.
_ARCS, _ROWS, _AT_ONCE, _FEW = 1 / 14, 1 / 2, 1 << 21, 1 / 64


def direction_optimising(graph: Graph, source: int) -> Array:
    """Hops from row `source` to every row, int64 [V]; -1 if it is not reached."""
    hops, reached = (np.empty(graph.num_vertices, of, like=graph.ids) for of in (np.int64, np.bool_))
    level, source = 0, require_row(graph, source)

    def start(row: int) -> None:
        hops[row] = 0 if row == source else UNREACHED
        reached[row] = row == source

    def visit(neighbour: int, round: int) -> bool:
        if reached[neighbour]:
            return False
        reached[neighbour] = True
        hops[neighbour] = level + round
        return True

    def unreached(row: int) -> bool:
        return not reached[row]

    def in_level_before(neighbour: int) -> bool:
        return hops[neighbour] == level - 1

    def stays(row: int, degree: int, total: int) -> bool:
        if total >= 0:
            reached[row] = True
            hops[row] = level
        return total < 0 and degree > 0

    def in_level(row: int) -> bool:
        return hops[row] == level

    def arcs(degree: int) -> int:
        return degree

    everything, frontier, left = Frontier.everything(graph), Frontier.of_rows(graph, [source]), graph.num_arcs
    compute(everything, start)
    while True:
        few = _ARCS * left + _ROWS * graph.num_vertices + (_AT_ONCE if is_cupy(graph) else 0)
        rounds, frontier = repeat_advance(frontier.under(most_work=int(few)), visit)
        level += rounds
        if not frontier.size:
            return hops
        below, before = filter(everything, unreached), 2 * graph.num_vertices
        while below.size and before - below.size > _FEW * graph.num_vertices:
            level, before = level + 1, below.size
            below = advance(below, in_level_before, direction="in", after=stays, collect="first")
        if not below.size:
            return hops
        frontier, left = filter(everything, in_level), int(reduce(below, arcs)) if below.kind == "dense" else 0
