"""Shortest paths by buckets of width delta: light arcs are relaxed until a bucket is empty, then its heavy arcs once.

Meyer, Sanders: Delta-Stepping: A Parallelizable Shortest Path Algorithm (2003).
"""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, atomic_min, compute, filter, reduce, repeat_advance
from kernels.arrays import require_row

# A graph has hubs if a row has this number of arcs or more. Then each round of light arcs is an `advance`; otherwise all rounds
# of a bucket are one `repeat_advance`, which takes longer where degrees are very different (docs/decisions/0052-marked-rows.md).
_HUB = 1 << 12


def delta_stepping(graph: Graph, source: int, delta: float) -> Array:
    """Least sums of weights from row `source` to every row, float64 [V]; infinite if it is not reached."""
    if not delta > 0:
        raise ValueError(f"delta {delta} is not above 0")
    distance: Array = np.empty(graph.num_vertices, np.float64, like=graph.ids)
    waits, passed = (np.zeros(graph.num_vertices, np.bool_, like=graph.ids) for _ in range(2))
    far, limit, light, source = float("inf"), 0.0, True, require_row(graph, source)

    def start(row: int) -> None:
        distance[row] = 0.0 if row == source else far
        waits[row] = row == source

    def waiting(row: int) -> float:
        return distance[row] if waits[row] else far

    def degree_of(degree: int) -> int:
        return degree

    def in_bucket(row: int) -> bool:
        return waits[row] and distance[row] < limit

    def take(row: int) -> float:
        waits[row] = False
        passed[row] = light
        return distance[row]

    def relax(neighbour: int, weight: float, own: float) -> bool:
        if (weight <= delta) == light and atomic_min(distance, neighbour, own + weight):
            waits[neighbour] = True
            return own + weight < limit
        return False

    def has_passed(row: int) -> bool:
        return passed[row]

    has_hubs = reduce(everything := Frontier.everything(graph), degree_of, "max") >= _HUB
    compute(everything, start)
    while (least := float(reduce(everything, waiting, "min"))) < far:
        limit = max((least // delta + 1) * delta, float(np.nextafter(least, far)))  # also where the sum absorbs delta
        bucket, light = filter(everything, in_bucket), True
        while bucket.size:
            bucket = advance(bucket, relax, before=take) if has_hubs else repeat_advance(bucket, relax, before=take)[1]
        light = False
        advance(filter(everything, has_passed), relax, before=take)
    return distance
