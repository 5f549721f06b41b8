"""Breadth-first search, top-down: the frontier's arcs find the next level."""

import numpy as np

from graphmill import Array, Frontier, Graph, compute, repeat_advance
from kernels.arrays import require_row
from kernels.graph import UNREACHED


def top_down(graph: Graph, source: int) -> Array:
    """Hops from row `source` to every row, int64 [V]; -1 if it is not reached."""
    source = require_row(graph, source)
    hops: Array = np.empty(graph.num_vertices, np.int64, like=graph.ids)

    def start(row: int) -> None:
        hops[row] = 0 if row == source else UNREACHED

    def visit(neighbour: int, round: int) -> bool:
        if hops[neighbour] >= 0:
            return False
        hops[neighbour] = round
        return True

    compute(Frontier.everything(graph), start)
    repeat_advance(Frontier.of_rows(graph, [source]), visit)
    return hops
