"""Transitive closure: for every row k, all rows that reach k also reach what k reaches (Warshall, 1962), 64 rows in a word."""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, atomic_or, compute


def floyd_warshall(graph: Graph) -> Array:
    """Bits, int64 [V * W]: bit v of the W words of row u says whether a path of one arc or more leads from u to v."""
    words = -(-graph.num_vertices // 64)
    bits: Array = np.empty(graph.num_vertices * words, np.int64, like=graph.ids)
    middle = 0

    def start(row: int) -> None:
        for word in range(words):
            bits[row * words + word] = 0

    def set_arc(row: int, neighbour: int) -> None:
        atomic_or(bits, row * words + (neighbour >> 6), 1 << (neighbour & 63))

    def through(row: int) -> None:
        if row != middle and (bits[row * words + (middle >> 6)] >> (middle & 63)) & 1:
            for word in range(words):
                bits[row * words + word] |= bits[middle * words + word]

    everything = Frontier.everything(graph)
    compute(everything, start)
    advance(everything, set_arc)
    for middle in range(graph.num_vertices):  # noqa: B007  (`through` reads it)
        compute(everything, through)
    return bits
