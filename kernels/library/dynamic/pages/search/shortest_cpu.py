"""Shortest paths of slotted pages on the CPU: Dijkstra's algorithm with a binary heap in which every row is once.

Lengths are summed unsigned, or as doubles, as `kernels.sssp` does: a sum that exceeds int64 is at least 2^63, so its row stays
unreached. Predecessors: kernels/paths/predecessors_cpu.py has the rule.
"""

from typing import Any

import numpy as np

from kernels.answers import Paths
from kernels.cpu.compiled import njit
from kernels.graph import NO_ROW, UNREACHED, Array, distance_dtype
from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.structures.pages import SlottedPages


def search(graph: SlottedPages, source: int) -> Paths:
    """Answer `kernels.library.dynamic.searches.sssp` on NumPy arrays."""
    located, store = graph.located(), graph.store
    assert store.weights is not None
    sums = distance_dtype(store.weights)
    far: Any = np.float64(np.inf) if sums.kind == "f" else np.uint64(2**63)
    lengths, predecessor = np.full(graph.num_rows, far), np.full(graph.num_rows, NO_ROW, np.int32)
    lists = store.words, store.weights, store.slots, located.pages, located.words, located.degrees
    if not _shorten(*lists, source, lengths):
        raise ValueError("sssp: a weight is negative or not a number")
    waits, exceeds = _find_tails(*lists, source, lengths, far, predecessor)
    if exceeds:
        raise OverflowError(f"a distance exceeds the largest {sums}")
    reached = lengths < far
    if waits:
        steps = np.where(predecessor == NO_ROW, -1, 0)
        steps[source] = 0
        starts, queue = np.flatnonzero(reached & (steps == 0)), np.empty(int(reached.sum()), np.int32)
        queue[: len(starts)] = starts
        _follow_flat_arcs(*lists, lengths, predecessor, steps, queue, len(starts))
    return Paths(source, np.where(reached, lengths.view(sums), sums.type(UNREACHED)), predecessor)


@njit(cache=True, nogil=True)
def _section(word: int, rest: int, size: int) -> int:
    """Behind the last word of a list's part that begins at `word`: of a page, or of the neighbours that are left."""
    return word + min(rest, size - HEADER_WORDS - 3 if word > HEADER_WORDS else size - HEADER_WORDS)


@njit(cache=True, nogil=True)
def _shorten(
    words: Array, weights: Array, slots: Array, pages: Array, degree_words: Array, degrees: Array, source: int, lengths: Array
) -> bool:
    """Set the lengths; False if a weight that is met is negative or not a number."""
    size = words.shape[1]
    heap, places, count = np.empty(len(lengths), np.int32), np.full(len(lengths), -1, np.int32), 1
    heap[0], places[source], lengths[source] = source, 0, 0
    while count:
        row, count = heap[0], count - 1
        if count:
            _sink(heap, places, lengths, count, heap[count])
        page, word, rest, near = pages[row], degree_words[row] + 1, degrees[row], lengths[row]
        while rest > 0:
            end = _section(word, rest, size)
            for at in range(word, end):
                head, weight = words[slots[page], at], weights[slots[page], at]
                if pages[head] < 0:
                    continue
                if not weight >= 0:
                    return False
                length = near + lengths.dtype.type(weight)
                if length < lengths[head]:
                    lengths[head] = length
                    if places[head] < 0:
                        places[head], count = count, count + 1
                    _rise(heap, places, lengths, places[head], head)
            page, rest, word = page + 1, rest - (end - word), HEADER_WORDS
    return True


@njit(cache=True, nogil=True)
def _rise(heap: Array, places: Array, lengths: Array, place: int, row: int) -> None:
    """Put a row at a place of the heap, or above if it is nearer."""
    while place > 0:
        above = (place - 1) >> 1
        if lengths[heap[above]] <= lengths[row]:
            break
        heap[place] = heap[above]
        places[heap[place]] = place
        place = above
    heap[place], places[row] = row, place


@njit(cache=True, nogil=True)
def _sink(heap: Array, places: Array, lengths: Array, count: int, row: int) -> None:
    """Put a row at the top of the heap, or below if it is farther."""
    place = 0
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and lengths[heap[below + 1]] < lengths[heap[below]]:
            below += 1
        if lengths[heap[below]] >= lengths[row]:
            break
        heap[place] = heap[below]
        places[heap[place]] = place
        place = below
    heap[place], places[row] = row, place


@njit(cache=True, nogil=True)
def _find_tails(
    words: Array, weights: Array, slots: Array, pages: Array, degree_words: Array, degrees: Array, source: int, lengths: Array,
    far: Any, predecessor: Array,
) -> tuple[bool, bool]:  # fmt: skip
    """Set predecessors that are strictly nearer; whether a reached row has none, and whether a sum exceeds its type."""
    size, exceeds = words.shape[1], False
    for row in range(len(lengths)):
        page, word, rest = pages[row], degree_words[row] + 1, degrees[row] if lengths[row] < far else 0
        while rest > 0:
            end = _section(word, rest, size)
            for at in range(word, end):
                head = words[slots[page], at]
                if pages[head] < 0:
                    continue
                total = lengths[row] + lengths.dtype.type(weights[slots[page], at])
                exceeds |= lengths[head] == far
                if predecessor[head] < 0 and lengths[row] < lengths[head] and lengths[head] == total < far:
                    predecessor[head] = row  # the smallest, as rows ascend
            page, rest, word = page + 1, rest - (end - word), HEADER_WORDS
    waits = False
    for row in range(len(lengths)):
        waits |= lengths[row] < far and predecessor[row] < 0 and row != source
    return waits, exceeds


@njit(cache=True, nogil=True)
def _follow_flat_arcs(
    words: Array, weights: Array, slots: Array, pages: Array, degree_words: Array, degrees: Array, lengths: Array,
    predecessor: Array, steps: Array, queue: Array, tail: int,
) -> None:  # fmt: skip
    """Breadth-first search from `queue[:tail]` along tight arcs of length zero; the smallest row of the level before wins."""
    head, size = 0, words.shape[1]
    while head < tail:
        row = queue[head]
        head += 1
        page, word, rest, level = pages[row], degree_words[row] + 1, degrees[row], steps[row] + 1
        while rest > 0:
            end = _section(word, rest, size)
            for at in range(word, end):
                other = words[slots[page], at]
                total = lengths[row] + lengths.dtype.type(weights[slots[page], at])
                if pages[other] < 0 or lengths[other] != lengths[row] or total != lengths[row]:
                    continue
                if steps[other] < 0:
                    steps[other], predecessor[other], queue[tail] = level, row, other
                    tail += 1
                elif steps[other] == level and row < predecessor[other]:
                    predecessor[other] = row
            page, rest, word = page + 1, rest - (end - word), HEADER_WORDS
