"""Minimum spanning forest: every tree takes its lightest edge to another one, until no tree has one (Boruvka, 1926)."""

import numpy as np

from examples.weights.edges import edges_of
from graphmill import Array, Frontier, Graph, advance, atomic_min, compute


def boruvka(graph: Graph) -> tuple[Array, Array]:
    """Whether each edge belongs to the forest, bool [E], and the edges' two rows, int64 [2, E], ascending by weight and rows."""
    ranks, low, high = edges_of(graph)
    tree, roots, lightest = (np.empty(graph.num_vertices, np.int64, like=graph.ids) for _ in range(3))
    chosen: Array = np.zeros(len(low), np.bool_, like=graph.ids)
    none = len(low)

    def start(row: int) -> None:
        tree[row] = row

    def clear(row: int) -> None:
        lightest[row] = none
        roots[row] = tree[row]

    def leave(row: int, neighbour: int, arc: int) -> bool:
        if tree[row] == tree[neighbour]:
            return False
        atomic_min(lightest, tree[row], ranks[arc])
        atomic_min(lightest, tree[neighbour], ranks[arc])
        return True

    def stays(total: int) -> bool:
        return total > 0

    def hook(row: int) -> None:
        edge = lightest[row]
        if edge < none:
            chosen[edge] = True
            other = roots[low[edge]] + roots[high[edge]] - row
            if lightest[other] != edge or row > other:
                tree[row] = other

    def jump(row: int) -> None:
        root = tree[row]
        while root != tree[root]:
            root = tree[root]
        tree[row] = root

    everything = frontier = Frontier.everything(graph)
    compute(everything, start)
    while frontier.size:
        compute(everything, clear)
        frontier = advance(frontier, leave, after=stays, collect="sum")
        compute(everything, hook)
        compute(everything, jump)
    return chosen, np.stack([low, high])
