"""Minimum spanning forest: every tree takes its lightest edge to another one, until no tree has one (Boruvka, 1926)."""

import numpy as np

from examples.weights.edges import edges_of
from kernels.graph import Array, Graph
from kernels.library.operators import Frontier, advance, atomic_min, compute


def boruvka(graph: Graph) -> tuple[Array, Array]:
    """Whether each edge belongs to the forest, bool [E], and the edges' two rows, int64 [2, E], ascending by weight and rows."""
    ranks, low, high = edges_of(graph)
    tree, lightest = (np.empty(graph.num_vertices, np.int64, like=graph.ids) for _ in range(2))
    chosen: Array = np.zeros(len(low), np.bool_, like=graph.ids)
    none = len(low)

    def start(row: int) -> None:
        tree[row] = row

    def clear(row: int) -> None:
        lightest[row] = none

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
        roots[row] = root

    def copy(row: int) -> None:
        tree[row] = roots[row]

    everything = frontier = Frontier.everything(graph)
    compute(everything, start)
    roots = tree.copy()
    while frontier.size:
        compute(everything, clear)
        frontier = advance(frontier, leave, after=stays, collect="sum")
        for step in (hook, jump, copy):
            compute(everything, step)
    return chosen, np.stack([low, high])
