"""Weak components: every row takes the smallest colour of its neighbours in both directions until none changes."""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, compute


def colouring(graph: Graph) -> Array:
    """The smallest row of each row's weak component, int64 [V]."""
    colours, least = (np.empty(graph.num_vertices, np.int64, like=graph.ids) for _ in range(2))
    changed: Array = np.zeros(1, np.int64, like=graph.ids)

    def start(row: int) -> None:
        colours[row] = row
        least[row] = row

    def colour(neighbour: int) -> int:
        return colours[neighbour]

    def keep(row: int, total: int) -> None:
        least[row] = min(least[row], total)

    def take(row: int) -> None:
        if least[row] < colours[row]:
            colours[row] = least[row]
            changed[0] = 1

    everything = Frontier.everything(graph)
    compute(everything, start)
    while True:
        changed[0] = 0
        advance(everything, colour, direction="out", after=keep, collect="min")
        advance(everything, colour, direction="in", after=keep, collect="min")
        compute(everything, take)
        if not int(changed[0]):
            return colours
