"""Shortest paths by phases of Dijkstra's algorithm, each of which settles all rows that are known to be final.

A row is final if its distance is at most the least of distance + lightest out-arc over all rows that wait.
Crauser, Mehlhorn, Meyer, Sanders: A Parallelization of Dijkstra's Shortest Path Algorithm (1998), the OUT criterion.
"""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, atomic_min, compute, filter, reduce
from kernels.arrays import require_row


def dijkstra(graph: Graph, source: int) -> Array:
    """Least sums of weights from row `source` to every row, float64 [V]; infinite if it is not reached."""
    source = require_row(graph, source)
    distance, lightest = (np.empty(graph.num_vertices, np.float64, like=graph.ids) for _ in range(2))
    waits: Array = np.zeros(graph.num_vertices, np.bool_, like=graph.ids)
    far, bound = float("inf"), 0.0

    def start(row: int) -> None:
        distance[row] = 0.0 if row == source else far
        waits[row] = row == source

    def of_arc(weight: float) -> float:
        return weight

    def keep_lightest(row: int, total: float) -> None:
        lightest[row] = total

    def is_waiting(row: int) -> bool:
        return waits[row]

    def reach(row: int) -> float:
        return distance[row] + lightest[row]

    def is_final(row: int) -> bool:
        return distance[row] <= bound

    def relax(row: int, neighbour: int, weight: float) -> None:
        if atomic_min(distance, neighbour, distance[row] + weight):
            waits[neighbour] = True

    def settle(row: int) -> None:
        waits[row] = False

    everything = Frontier.everything(graph)
    compute(everything, start)
    advance(everything, of_arc, after=keep_lightest, collect="min")
    while (waiting := filter(everything, is_waiting)).size:
        bound = float(reduce(waiting, reach, "min"))
        final = filter(waiting, is_final)
        compute(final, settle)
        advance(final, relax)
    return distance
