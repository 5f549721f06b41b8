"""Strong components: the rows that a pivot reaches and that reach it, after rows without in- or out-arcs are removed.

Fleischer, Hendrickson, Pinar: On Identifying Strongly Connected Components in Parallel (2000); trimming: McLendon et al. (2005).
"""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, atomic_or, compute, filter, reduce
from kernels.graph import NO_ROW


def forward_backward(graph: Graph) -> Array:
    """The smallest row of each row's strong component, int64 [V]."""
    labels, reached = (np.empty(graph.num_vertices, np.int64, like=graph.ids) for _ in range(2))
    size, pivot, side = graph.num_vertices, 0, 0

    def start(row: int) -> None:
        labels[row] = NO_ROW
        reached[row] = 0

    def is_left(row: int) -> bool:
        return labels[row] < 0

    def left_beside(row: int, neighbour: int) -> bool:
        return neighbour != row and labels[neighbour] < 0

    def trim(row: int, total: int) -> bool:
        if total < 0:
            labels[row] = row
        return total < 0

    def first_left(row: int) -> int:
        return row if labels[row] < 0 else size

    def visit(neighbour: int) -> bool:
        return labels[neighbour] < 0 and atomic_or(reached, neighbour, side)

    def settle(row: int) -> None:
        if reached[row] == 3:
            labels[row] = pivot
        reached[row] = 0

    everything = Frontier.everything(graph)
    compute(everything, start)
    while True:
        for direction in ("out", "in"):
            while advance(filter(everything, is_left), left_beside, direction=direction, after=trim, collect="first").size:
                pass
        if (pivot := int(reduce(everything, first_left, "min"))) == size:
            return labels
        for side, direction in ((1, "out"), (2, "in")):
            reached[pivot] |= side
            frontier = Frontier.of_rows(graph, [pivot])
            while frontier.size:
                frontier = advance(frontier, visit, direction=direction)
        compute(everything, settle)
