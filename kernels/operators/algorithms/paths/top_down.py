"""Breadth-first search, top-down: the frontier's arcs find the next level."""

import numpy as np

from kernels.graph import UNREACHED, Array, Graph
from kernels.operators import Frontier, advance, compute


def top_down(graph: Graph, source: int) -> Array:
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

    compute(Frontier.everything(graph), start)
    frontier = Frontier.of_rows(graph, [source])
    while frontier.size:
        level += 1
        frontier = advance(frontier, visit)
    return hops
