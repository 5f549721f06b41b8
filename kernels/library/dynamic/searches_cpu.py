"""Breadth-first search of slotted pages on the CPU: one queue, and each row keeps the smallest tail of the level before."""

import numpy as np

from kernels.answers import Paths
from kernels.cpu.compiled import njit
from kernels.graph import NO_ROW, UNREACHED, Array
from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.structures.pages import SlottedPages


def search(graph: SlottedPages, source: int) -> Paths:
    """Answer `kernels.library.dynamic.searches.bfs` on NumPy arrays."""
    located, store = graph.located(), graph.store
    distance, predecessor = np.full(graph.num_rows, UNREACHED, np.int64), np.full(graph.num_rows, NO_ROW, np.int32)
    distance[source] = 0
    _search(store.words, store.slots, located.pages, located.words, located.degrees, source, distance, predecessor)
    return Paths(source, distance, predecessor)


@njit(cache=True, nogil=True)
def _search(
    words: Array, slots: Array, pages: Array, degree_words: Array, degrees: Array, source: int, distance: Array,
    predecessor: Array,
) -> None:  # fmt: skip
    queue, head, tail, size = np.empty(len(distance), np.int32), 0, 1, words.shape[1]
    queue[0] = source
    while head < tail:
        row = queue[head]
        head += 1
        page, word, rest, level = pages[row], degree_words[row] + 1, degrees[row], distance[row] + 1
        while rest > 0:  # a page of the list at a time
            end = word + min(rest, size - HEADER_WORDS - 3 if word > HEADER_WORDS else size - HEADER_WORDS)
            for neighbour in words[slots[page], word:end]:
                if distance[neighbour] == UNREACHED and pages[neighbour] >= 0:
                    distance[neighbour] = level
                    predecessor[neighbour] = row
                    queue[tail] = neighbour
                    tail += 1
                elif distance[neighbour] == level and row < predecessor[neighbour]:
                    predecessor[neighbour] = row
            page, rest, word = page + 1, rest - (end - word), HEADER_WORDS
