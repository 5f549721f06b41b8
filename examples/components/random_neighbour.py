"""Weak components: every root draws a side; roots of one side are hooked to a neighbouring root of the other side.

Reif (1985), random mates. The sides are hashes of the row and the round, and of several neighbours the smallest is taken, so the
answer is the same on every run. All bits of a row's number take part: roots whose sides never differ would never be joined.
"""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, atomic_min, compute


def random_neighbour(graph: Graph) -> Array:
    """The smallest row of each row's weak component, int64 [V]."""
    parent, mate, least = (np.empty(graph.num_vertices, np.int64, like=graph.ids) for _ in range(3))
    apart: Array = np.zeros(1, np.int64, like=graph.ids)
    size, turn = graph.num_vertices, 0

    def start(row: int) -> None:
        parent[row] = row
        least[row] = size

    def jump_and_draw(row: int) -> None:
        parent[row] = parent[parent[row]]
        mixed = (row * 2654435761 + turn) * 2685821657736338717
        mate[row] = ((mixed ^ (mixed >> 32)) * 2246822519 >> 40) & 1

    def hook(row: int, neighbour: int) -> None:
        one = parent[row]
        other = parent[neighbour]
        if one != other:
            apart[0] = 1
            if mate[one] != mate[other]:
                atomic_min(least, other if mate[one] else one, one if mate[one] else other)

    def join(row: int) -> None:
        if least[row] < size:
            parent[row] = least[row]
            least[row] = size

    def find_least(row: int) -> None:
        atomic_min(least, parent[row], row)

    def name(row: int) -> None:
        mate[row] = least[parent[row]]

    everything = Frontier.everything(graph)
    compute(everything, start)
    while True:
        turn += 1
        apart[0] = 0
        compute(everything, jump_and_draw)
        advance(everything, hook)
        if not int(apart[0]):
            break
        compute(everything, join)
    compute(everything, find_least)
    compute(everything, name)
    return mate
