"""Transitive closure by searches from all rows at once, 64 in a word: what a row reaches is added to those before it."""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, atomic_or, compute


def closure_by_search(graph: Graph) -> Array:
    """Bits, int64 [V * W]: bit v of the W words of row u says whether a path of one arc or more leads from u to v."""
    words = -(-graph.num_vertices // 64)
    bits: Array = np.empty(graph.num_vertices * words, np.int64, like=graph.ids)

    def start(row: int) -> None:
        for word in range(words):
            bits[row * words + word] = 0

    def set_arc(row: int, neighbour: int) -> None:
        atomic_or(bits, row * words + (neighbour >> 6), 1 << (neighbour & 63))

    def add(row: int, neighbour: int) -> bool:
        grows = False
        for word in range(words):
            if atomic_or(bits, neighbour * words + word, bits[row * words + word]):
                grows = True
        return grows

    frontier = Frontier.everything(graph)
    compute(frontier, start)
    advance(frontier, set_arc)
    while frontier.size:
        frontier = advance(frontier, add, direction="in")
    return bits
