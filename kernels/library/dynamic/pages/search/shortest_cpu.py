"""Shortest paths of slotted pages on the CPU, with a near and a far pile as in shortest.cu, and one queue.

Lengths are summed unsigned, or as doubles, as `kernels.sssp` does: a sum that exceeds int64 is at least 2^63, so its row stays
unreached. Predecessors: kernels/paths/predecessors_cpu.py has the rule.
"""

from typing import Any

import numpy as np

from kernels.answers import Paths
from kernels.cpu.compiled import njit
from kernels.graph import NO_ROW, UNREACHED, Array, distance_dtype
from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.pages.search.widths import mean_step
from kernels.library.dynamic.structures.pages import SlottedPages
from kernels.paths.lengths import as_length

_WIDTH = 4.0  # of the lengths that are relaxed together, in steps of `mean_step`


def search(graph: SlottedPages, source: int) -> Paths:
    """Answer `kernels.library.dynamic.searches.sssp` on NumPy arrays."""
    located, store = graph.located(), graph.store
    assert store.weights is not None
    sums = distance_dtype(store.weights)
    far: Any = np.float64(np.inf) if sums.kind == "f" else np.uint64(2**63)
    lengths, predecessor = np.full(graph.num_rows, far), np.full(graph.num_rows, NO_ROW, np.int32)
    lists = store.words, store.weights, store.slots, located.pages, located.words, located.degrees
    width = as_length(sums, _WIDTH * mean_step(graph)).view(lengths.dtype)
    if not _shorten(lists, source, lengths, far, width):
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


def _shorten(lists: tuple[Array, ...], source: int, lengths: Array, far: Any, width: Any) -> bool:
    """Set the lengths; False if a weight that is met is negative or not a number."""
    queue, queued = np.empty(len(lengths), np.int32), np.zeros(len(lengths), np.bool_)
    pile, in_pile = np.empty(len(lengths), np.int32), np.zeros(len(lengths), np.bool_)
    queue[0], lengths[source] = source, 0
    limit, waiting, piled = width, 1, 0
    while waiting:
        piled = _relax(*lists, lengths, limit, queue, queued, waiting, pile, in_pile, piled)
        if piled < 0:
            return False
        limit, waiting, piled = _take(lengths, far, limit, width, queue, queued, pile, in_pile, piled)
    return True


@njit(cache=True, nogil=True)
def _relax(
    words: Array, weights: Array, slots: Array, pages: Array, degree_words: Array, degrees: Array, lengths: Array, limit: Any,
    queue: Array, queued: Array, waiting: int, pile: Array, in_pile: Array, piled: int,
) -> int:  # fmt: skip
    """Relax the first `waiting` rows of the queue, a ring, and those below the limit that become nearer.

    Returns the number of rows in the pile, to which the others come; -1 if a weight is negative or not a number.
    """
    head, size = 0, words.shape[1]
    while waiting:
        row = queue[head]
        head, waiting, queued[row] = (head + 1) % len(queue), waiting - 1, False
        page, word, rest, near = pages[row], degree_words[row] + 1, degrees[row], lengths[row]
        while rest > 0:
            end = _section(word, rest, size)
            for at in range(word, end):
                other, weight = words[slots[page], at], weights[slots[page], at]
                if pages[other] < 0:
                    continue
                if not weight >= 0:
                    return -1
                length = near + lengths.dtype.type(weight)
                if length >= lengths[other]:
                    continue
                lengths[other] = length
                if length < limit and not queued[other]:
                    queue[(head + waiting) % len(queue)], queued[other] = other, True
                    waiting += 1
                elif length >= limit and not in_pile[other]:
                    pile[piled], in_pile[other] = other, True
                    piled += 1
            page, rest, word = page + 1, rest - (end - word), HEADER_WORDS
    return piled


@njit(cache=True, nogil=True)
def _take(
    lengths: Array, far: Any, limit: Any, width: Any, queue: Array, queued: Array, pile: Array, in_pile: Array, piled: int
) -> tuple[Any, int, int]:
    """Queue the nearest rows of the pile; the next limit, and how many rows are in the queue and in the pile."""
    least, waiting, kept = far, 0, 0
    for row in pile[:piled]:
        if limit <= lengths[row] < least:  # a nearer row was relaxed since
            least = lengths[row]
    beyond = least + width
    if beyond == least:  # the sum is rounded
        beyond = lengths.dtype.type(least * (1 + 2.0**-52))
    for row in pile[:piled]:
        if lengths[row] >= beyond:
            pile[kept] = row
            kept += 1
            continue
        in_pile[row] = False
        if lengths[row] >= limit:
            queue[waiting], queued[row] = row, True
            waiting += 1
    return beyond, waiting, kept


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
