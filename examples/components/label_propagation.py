"""Weak components: the smallest label spreads along the arcs of the rows whose label changed."""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, atomic_min, compute


def label_propagation(graph: Graph) -> Array:
    """The smallest row of each row's weak component, int64 [V]."""
    labels: Array = np.empty(graph.num_vertices, np.int64, like=graph.ids)

    def start(row: int) -> None:
        labels[row] = row

    def own_label(row: int) -> int:
        return labels[row]

    def spread(neighbour: int, own: int) -> bool:
        return atomic_min(labels, neighbour, own)

    frontier, directions = Frontier.everything(graph), ("out",) if graph.symmetric else ("out", "in")
    compute(frontier, start)
    while frontier.size:
        changed = [advance(frontier, spread, direction=direction, before=own_label) for direction in directions]
        frontier = changed[0] if graph.symmetric else Frontier.of_rows(graph, np.concatenate([each.rows() for each in changed]))
    return labels
