"""Weak components: a search over arcs in both directions from the smallest row that has no component yet."""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, compute, reduce
from kernels.graph import NO_ROW


def by_search(graph: Graph) -> Array:
    """The smallest row of each row's weak component, int64 [V]."""
    labels: Array = np.empty(graph.num_vertices, np.int64, like=graph.ids)
    size, root = graph.num_vertices, 0

    def start(row: int) -> None:
        labels[row] = NO_ROW

    def left(row: int) -> int:
        return row if labels[row] < 0 else size

    def visit(neighbour: int) -> bool:
        if labels[neighbour] >= 0:
            return False
        labels[neighbour] = root
        return True

    everything = Frontier.everything(graph)
    compute(everything, start)
    while (root := int(reduce(everything, left, "min"))) < size:
        labels[root] = root
        waiting = [Frontier.of_rows(graph, [root])]
        while waiting:
            frontier = waiting.pop()
            reached = [advance(frontier, visit, direction="out"), advance(frontier, visit, direction="in")]
            waiting += [each for each in reached if each.size]
    return labels
