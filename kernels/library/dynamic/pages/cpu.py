"""The kernels of a store on the CPU; pages.cu describes them."""

from typing import Any

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.library.dynamic.pages.constants import HEADER_WORDS


def locate(store: Any, vertices: Any, located: Any) -> None:
    """As `kernels.locate`."""
    arrays = store.words, store.slots, store.index, vertices, *located
    over_items(ranges(len(vertices)), lambda part: _locate(*arrays, *part))


@njit(cache=True, nogil=True)
def _locate(
    words: Any, slots: Any, index: Any, vertices: Any, pages: Any, numbers: Any, degree_words: Any, degrees: Any,
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
        pages[item] = page if number >= 0 else -1
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
