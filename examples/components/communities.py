"""Communities by label propagation: a row takes the label that most of its out-arcs lead to, of several the smallest.

Raghavan, Albert, Kumara: Near Linear Time Algorithm to Detect Community Structures (2007). Here half of the rows move in a round,
and the others in the next one. The halves are drawn again for each two rounds, because neighbours that move together may exchange
their labels. A row whose label is among the most frequent keeps it, so that the rounds end if every arc has its reverse.
"""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, compute


def communities(graph: Graph, most_rounds: int = 100) -> Array:
    """A label for each row, int64 [V]: a row of its community. A row of more than 2^20 arcs is refused."""
    labels: Array = np.empty(graph.num_vertices, np.int64, like=graph.ids)
    size, turn = graph.num_vertices, 0
    offsets, indices = graph.out.offsets, graph.out.indices

    def start(row: int) -> None:
        labels[row] = row

    def votes(row: int, neighbour: int) -> int:
        label = labels[neighbour]
        count = 0
        for arc in range(offsets[row], offsets[row + 1]):
            count += 2 * (labels[indices[arc]] == label)
        return (count + (label == labels[row])) * size + size - 1 - label

    def choose(row: int, total: int) -> bool:
        mixed = (row * 2654435761 + turn // 2) * 2685821657736338717
        moves = ((mixed ^ (mixed >> 32)) * 2246822519 >> 40) & 1 == turn % 2
        best[row] = size - 1 - total % size if total >= 0 and moves else labels[row]
        return best[row] != labels[row]

    def move(row: int) -> None:
        labels[row] = best[row]

    best = np.empty_like(labels)
    everything, still = Frontier.everything(graph), 0
    compute(everything, start)
    for turn in range(most_rounds):  # noqa: B007  (`choose` reads it)
        moving = advance(everything, votes, after=choose, collect="max")
        compute(moving, move)
        still = 0 if moving.size else still + 1
        if still == 3:  # two of these rounds have all rows
            break
    return labels
