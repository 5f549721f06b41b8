"""Breadth-first search, bottom-up: every row that is not reached searches its in-arcs for the level before.

Beamer, Asanovic, Patterson: Direction-Optimizing Breadth-First Search (2012).
"""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, compute
from kernels.arrays import require_row
from kernels.graph import UNREACHED


def bottom_up(graph: Graph, source: int) -> Array:
    """Hops from row `source` to every row, int64 [V]; -1 if it is not reached."""
    source = require_row(graph, source)
    hops: Array = np.empty(graph.num_vertices, np.int64, like=graph.ids)
    last: Array = np.zeros(1, np.int64, like=graph.ids)
    level = 0

    def start(row: int) -> None:
        hops[row] = 0 if row == source else UNREACHED

    def own_hops(row: int) -> int:
        return hops[row]

    def in_level(neighbour: int, own: int) -> bool:
        return own < 0 and hops[neighbour] == level - 1

    def settle(row: int, total: int) -> None:
        if total >= 0:
            hops[row] = level
            last[0] = level

    everything = Frontier.everything(graph)
    compute(everything, start)
    while int(last[0]) == level:
        level += 1
        advance(everything, in_level, direction="in", before=own_hops, after=settle, collect="first")
    return hops
