"""The kernels of a store on the CPU; pages.cu describes them."""

from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.dynamic.pages.constants import HEADER_WORDS


def locate(store: Any, vertices: Any, located: Any) -> None:
    """As `kernels.locate`."""
    arrays = store.words, store.slots, store.index, vertices, *located
    over_items(ranges(len(vertices)), lambda part: _locate(*arrays, *part))


@njit(cache=True, nogil=True)
def _locate(
    words: Any, slots: Any, index: Any, vertices: Any, found: Any, numbers: Any, degree_words: Any, degrees: Any,
    begin: int, end: int,
) -> None:  # fmt: skip
    size = words.shape[1]
    for item in range(begin, end):
        vertex = vertices[item]
        low, high = 0, len(slots)
        while low < high:
            middle = (low + high) >> 1
            if index[middle, 0] <= vertex:
                low = middle + 1
            else:
                high = middle
        number, page = -1, low - 1
        if page >= 0:
            page -= max(index[page, 1], 0)
            low, high = 0, words[slots[page], 0]
            while low < high:
                middle = (low + high) >> 1
                if words[slots[page], size - 1 - 2 * middle] < vertex:
                    low = middle + 1
                else:
                    high = middle
            if low < words[slots[page], 0] and words[slots[page], size - 1 - 2 * low] == vertex:
                number = low
        found[item] = page if number >= 0 else -1
        numbers[item] = number
        degree_words[item] = words[slots[page], size - 2 - 2 * number] if number >= 0 else -1
        degrees[item] = words[slots[page], degree_words[item]] if number >= 0 else 0


def expand(store: Any, located: Any, offsets: Any, heads: Any, weights: Any) -> None:
    """As `kernels.expand`."""
    pools = [(store.words, heads)] if weights is None else [(store.words, heads), (store.weights, weights)]
    for pool, out in pools:
        arrays = pool, store.slots, located.pages, located.words, offsets, out
        over_items(ranges(len(located.pages), len(heads)), lambda part, arrays=arrays: _expand(*arrays, *part))  # type: ignore[misc]


@njit(cache=True, nogil=True)
def _expand(pool: Any, slots: Any, pages: Any, degree_words: Any, offsets: Any, out: Any, begin: int, end: int) -> None:
    size = pool.shape[1]
    for item in range(begin, end):
        at, rest = offsets[item], offsets[item + 1] - offsets[item]
        page, word = pages[item], degree_words[item] + 1
        while rest > 0:
            here = min(rest, size - HEADER_WORDS - 3 if word > HEADER_WORDS else size - HEADER_WORDS)
            out[at : at + here] = pool[slots[page], word : word + here]
            at, rest, page, word = at + here, rest - here, page + 1, HEADER_WORDS


def find_arcs(store: Any, runs: Any, parts: Any, limits: Any, places: Any) -> None:
    """As `kernels.find_arcs`."""
    found = runs.located
    arrays = store.words, store.slots, found.pages, found.words, found.degrees, runs.starts, runs.heads, limits, places
    over_items(ranges(len(found.pages), int(found.degrees.sum())), lambda part: _find_arcs(*arrays, *part))


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


def rewrite_pages(store: Any, numbers: Any, firsts: Any, slots: Any, *columns: Any) -> None:
    """As `kernels.rewrite_pages`; the columns end with what overflows."""
    heads, weights, deleted, overflows = columns
    places, kept = np.empty(0, np.int64) if deleted is None else deleted, np.empty(0, np.int32) if heads is None else heads
    of_weights = np.empty((0, store.page_size), np.int32) if store.weights is None else store.weights
    added = of_weights.reshape(-1)[:0] if weights is None else weights
    arrays = store.words, of_weights, store.slots, numbers, firsts, slots, kept, added, places, overflows
    over_items(ranges(len(numbers), len(slots)), lambda part: _rewrite(*arrays, *part))


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
