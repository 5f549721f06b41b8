"""Shortest paths by buckets of width delta: light arcs are relaxed until a bucket is empty, then its heavy arcs once.

Meyer, Sanders: Delta-Stepping: A Parallelizable Shortest Path Algorithm (2003).
"""

import numpy as np

from kernels.graph import Array, Graph
from kernels.operators import Frontier, advance, atomic_min, compute, filter, reduce


def delta_stepping(graph: Graph, source: int, delta: float) -> Array:
    """Least sums of weights from row `source` to every row, float64 [V]; infinite if it is not reached."""
    distance: Array = np.empty(graph.num_vertices, np.float64, like=graph.ids)
    waits, passed = (np.zeros(graph.num_vertices, np.bool_, like=graph.ids) for _ in range(2))
    far, limit = float("inf"), 0.0

    def start(row: int) -> None:
        distance[row] = 0.0 if row == source else far
        waits[row] = row == source

    def is_waiting(row: int) -> bool:
        return waits[row]

    def own_distance(row: int) -> float:
        return distance[row]

    def in_bucket(row: int) -> bool:
        return waits[row] and distance[row] < limit

    def take(row: int) -> None:
        waits[row] = False
        passed[row] = True

    def relax_light(neighbour: int, weight: float, own: float) -> None:
        if weight <= delta and atomic_min(distance, neighbour, own + weight):
            waits[neighbour] = True

    def has_passed(row: int) -> bool:
        return passed[row]

    def relax_heavy(row: int, neighbour: int, weight: float, own: float) -> None:
        if weight > delta and atomic_min(distance, neighbour, own + weight):
            waits[neighbour] = True
        passed[row] = False

    everything = Frontier.everything(graph)
    compute(everything, start)
    while (waiting := filter(everything, is_waiting)).size:
        least = float(reduce(waiting, own_distance, "min"))
        limit = max((least // delta + 1) * delta, float(np.nextafter(least, far)))  # also where the sum absorbs delta
        while (bucket := filter(everything, in_bucket)).size:
            compute(bucket, take)
            advance(bucket, relax_light, before=own_distance)
        advance(filter(everything, has_passed), relax_heavy, before=own_distance)
    return distance
