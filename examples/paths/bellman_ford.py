"""Shortest paths: all arcs are relaxed until none lowers a distance (Bellman, 1958; Ford, 1956)."""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, atomic_min, compute
from kernels.arrays import require_row


def bellman_ford(graph: Graph, source: int) -> Array:
    """Least sums of weights from row `source` to every row, float64 [V]; infinite if it is not reached."""
    source = require_row(graph, source)
    distance: Array = np.empty(graph.num_vertices, np.float64, like=graph.ids)
    changed: Array = np.zeros(1, np.int64, like=graph.ids)
    far = float("inf")

    def start(row: int) -> None:
        distance[row] = 0.0 if row == source else far

    def own_distance(row: int) -> float:
        return distance[row]

    def relax(neighbour: int, weight: float, own: float) -> None:
        if own < far and atomic_min(distance, neighbour, own + weight):
            changed[0] = 1

    everything = Frontier.everything(graph)
    compute(everything, start)
    while True:
        changed[0] = 0
        advance(everything, relax, before=own_distance)
        if not int(changed[0]):
            return distance
