"""Finding arcs in lists, and rewriting pages, on the CPU."""

from typing import Any, NamedTuple

import numpy as np

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.graph import Array
from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.pages.kernels import Located
from kernels.library.dynamic.pages.store import PageStore


class Runs(NamedTuple):
    """Sorted distinct arcs, by source."""

    starts: Array  # int64 [R + 1]: first arc of each source
    located: Located  # of the R sources
    heads: Array  # int32 [K]


def find_arcs(store: PageStore, runs: Runs, limits: Array) -> Array:
    """The last place below its limit at which each arc is in its source's list, or -1: int64 [K]."""
    lists, places = runs.located, np.full(len(runs.heads), -1, np.int64)
    arrays = store.words, store.slots, lists.pages, lists.words, lists.degrees, runs.starts, runs.heads, limits, places
    over_items(ranges(len(lists.pages), int(lists.degrees.sum())), lambda part: _find_arcs(*arrays, *part))
    return places


@njit(cache=True, nogil=True)
def _find_arcs(
    words: Any, slots: Any, pages: Any, degree_words: Any, degrees: Any, starts: Any, heads: Any, limits: Any, places: Any,
    begin: int, end: int,
) -> None:  # fmt: skip
    size = words.shape[1]
    for run in range(begin, end):
        for place in range(degrees[run]):
            rest = place - (size - HEADER_WORDS - 3)
            if rest < 0:
                head = words[slots[pages[run]], degree_words[run] + 1 + place]
            else:
                full = size - HEADER_WORDS
                head = words[slots[pages[run] + 1 + rest // full], HEADER_WORDS + rest % full]
            low = starts[run] + np.searchsorted(heads[starts[run] : starts[run + 1]], head)
            if low < starts[run + 1] and heads[low] == head and place < limits[low]:
                places[low] = place


def rewrite_pages(store: PageStore, numbers: Array, firsts: Array, slots: Array, columns: tuple[Any, Any, Any]) -> Array:
    """Insert or delete arcs of lists that are not large; whether each page was left as it is, for want of words: bool [T].

    Args:
        numbers (int32 [T]): Pages.
        firsts (int64 [T + 1]): First arc of each page.
        slots (int32 [K]): Of the arcs' sources, ascending within a page.
        columns: Heads (int32 [K]) and weights to insert, or places (int64 [K]) to delete; the others are None.
    """
    heads, weights, deleted = columns
    overflows = np.zeros(len(numbers), np.bool_)
    places, kept = np.empty(0, np.int64) if deleted is None else deleted, np.empty(0, np.int32) if heads is None else heads
    of_weights = np.empty((0, store.page_size), np.int32) if store.weights is None else store.weights
    added = of_weights.reshape(-1)[:0] if weights is None else weights
    arrays = store.words, of_weights, store.slots, numbers, firsts, slots, kept, added, places, overflows
    over_items(ranges(len(numbers), len(slots)), lambda part: _rewrite(*arrays, *part))
    return overflows


@njit(cache=True, nogil=True)
def _rewrite(  # noqa: PLR0912
    words: Any, weights: Any, page_slots: Any, numbers: Any, firsts: Any, slots: Any, heads: Any, added: Any, deleted: Any,
    overflows: Any, begin: int, end: int,
) -> None:  # fmt: skip
    size, weighted = words.shape[1], len(weights) > 0
    old, gone = np.empty(size, np.int32), np.zeros(size, np.bool_)
    old_weights = np.empty(size, weights.dtype)
    for item in range(begin, end):
        slot, arc, last = page_slots[numbers[item]], firsts[item], firsts[item + 1]
        page = words[slot]
        count, stop = page[0], page[1] + 1
        if len(deleted) == 0 and stop + last - arc > size - 2 * count:
            overflows[item] = True
            continue
        old[:] = page
        if weighted:
            old_weights[:] = weights[slot]
        if len(deleted):
            gone[:] = False
            for each in range(arc, last):
                gone[old[size - 2 - 2 * slots[each]] + 1 + deleted[each]] = True
        to = HEADER_WORDS
        for number in range(count):
            start = old[size - 2 - 2 * number]
            page[size - 2 - 2 * number] = new_start = to
            to += 1
            for word in range(start + 1, start + 1 + old[start]):
                if len(deleted) == 0 or not gone[word]:
                    page[to] = old[word]
                    if weighted:
                        weights[slot, to] = old_weights[word]
                    to += 1
            while len(deleted) == 0 and arc < last and slots[arc] == number:
                page[to] = heads[arc]
                if weighted:
                    weights[slot, to] = added[arc]
                to += 1
                arc += 1
            page[new_start] = to - new_start - 1
            if weighted:
                weights[slot, new_start] = old_weights[start]
        page[1] = to - 1
        for word in range(to, stop):
            page[word] = 0
            if weighted:
                weights[slot, word] = 0
