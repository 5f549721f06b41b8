"""Weak components: trees are hooked to trees of smaller rows, and paths are shortened (Shiloach, Vishkin, 1982)."""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, atomic_min, compute


def shiloach_vishkin(graph: Graph) -> Array:
    """The smallest row of each row's weak component, int64 [V]."""
    parent: Array = np.empty(graph.num_vertices, np.int64, like=graph.ids)
    changed: Array = np.zeros(1, np.int64, like=graph.ids)

    def start(row: int) -> None:
        parent[row] = row

    def own_root(row: int) -> int:
        return parent[row]

    def hook(neighbour: int, own: int) -> None:
        other = parent[neighbour]
        if other != own and atomic_min(parent, max(own, other), min(own, other)):
            changed[0] = 1

    def jump(row: int) -> None:
        root = parent[row]
        while root != parent[root]:
            root = parent[root]
        atomic_min(parent, row, root)

    everything = Frontier.everything(graph)
    compute(everything, start)
    while True:
        changed[0] = 0
        advance(everything, hook, before=own_root)
        compute(everything, jump)
        if not int(changed[0]):
            return parent
