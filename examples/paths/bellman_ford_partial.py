"""Shortest paths: the arcs of the rows whose distance changed are relaxed (Moore, 1959)."""

import numpy as np

from graphmill import Array, Frontier, Graph, atomic_min, compute, repeat_advance
from kernels.arrays import require_row


def bellman_ford_partial(graph: Graph, source: int) -> Array:
    """Least sums of weights from row `source` to every row, float64 [V]; infinite if it is not reached."""
    source = require_row(graph, source)
    distance: Array = np.empty(graph.num_vertices, np.float64, like=graph.ids)
    far = float("inf")

    def start(row: int) -> None:
        distance[row] = 0.0 if row == source else far

    def own_distance(row: int) -> float:
        return distance[row]

    def relax(neighbour: int, weight: float, own: float) -> bool:
        return atomic_min(distance, neighbour, own + weight)

    compute(Frontier.everything(graph), start)
    repeat_advance(Frontier.of_rows(graph, [source]), relax, before=own_distance)
    return distance
