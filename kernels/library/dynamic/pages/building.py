"""Pages made from lists: which page every list gets, and the words of the pages. NumPy and CuPy give the same bytes."""

from typing import Any, NamedTuple

import numpy as np

from kernels.graph import Array
from kernels.library.dynamic.arrays import offsets_of, owners_of
from kernels.library.dynamic.contract import Lists
from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.pages.layout import most_in_first, pages_of, place_of, slot_words

REFILL = 0.7  # of the pages into which the lists of an overflowing page are laid out
_EXTRA_WORDS = 3  # of a vertex besides its neighbours: its degree and its slot


class PagePlan(NamedTuple):
    """The pages of lists. A group is what starts a page: some small lists, or one large one with all its pages."""

    group: Array  # int64 [n]: of each list
    starts: Array  # int64 [G + 1]: first list of each group
    pages: Array  # int64 [G + 1]: first page of each group

    @property
    def num_pages(self) -> int:
        """Pages of all groups."""
        return int(self.pages[-1])


def words_of_lists(fill: float, page_size: int) -> int:
    """The most words of lists in a page that is filled to a share."""
    return min(int(fill * page_size), page_size - HEADER_WORDS)


def plan_pages(degrees: Array, page_size: int, fill: float, breaks: Array | None = None) -> PagePlan:
    """Put lists into pages in order, as many as fit a share `fill` of each, at least one.

    The page that begins with list i ends before list next(i), which a binary search finds for all i at once. The lists that begin
    pages are those on the chain 0, next(0), next(next(0)), ...; it is found by doubling the steps.

    Args:
        degrees (integer [n])
        breaks (int64 [b], optional): Ascending lists that begin a page.
    """
    number, cost = len(degrees), offsets_of(degrees + _EXTRA_WORDS)
    places = np.arange(number, dtype=np.int64, like=cost)
    limit = words_of_lists(fill, page_size)
    ends = np.searchsorted(cost, cost[:-1] + limit, side="right") - 1
    jump = np.empty(number + 1, np.int64, like=cost)
    jump[:-1] = np.maximum(ends, places + 1)
    jump[-1:] = number
    if breaks is not None:
        forced = np.concatenate([breaks, jump[-1:]])
        jump[:-1] = np.minimum(jump[:-1], forced[np.searchsorted(breaks, places, side="right")])
    marks = np.zeros(number + 1, np.bool_, like=degrees)
    marks[:1] = True
    end = jump[-1:]
    while number and bool((jump[:-1] < number).any()):
        marks[jump[np.flatnonzero(marks)]] = True
        jump = jump[jump]
    begins = np.flatnonzero(marks[:-1])
    starts = np.concatenate([begins, end])
    return PagePlan(np.cumsum(marks[:-1], dtype=np.int64) - 1, starts, offsets_of(pages_of(degrees[begins], page_size)))


def write_pages(store: Any, slots: Array, plan: PagePlan, vertices: Array, lists: Lists) -> None:
    """Write lists to the pages at `slots` (int64 [plan.num_pages]) of a PageStore's memory."""
    size, words = store.page_size, store.words.reshape(-1)
    degrees = np.diff(lists.offsets)
    used = offsets_of(degrees + 1)  # words of lists
    store.words[slots] = 0
    first_list, first_page = plan.starts[plan.group], plan.pages[plan.group]
    degree_words = HEADER_WORDS + used[:-1] - used[first_list]
    bases = slots[first_page] * size
    vertex_words, place_words = slot_words(size, np.arange(len(degrees), dtype=np.int64, like=degrees) - first_list)
    words[bases + degree_words] = degrees.astype(words.dtype)
    words[bases + vertex_words] = vertices
    words[bases + place_words] = degree_words.astype(words.dtype)
    _write_headers(store, slots, plan, used)
    owner = owners_of(lists.offsets)
    place = np.arange(len(owner), dtype=np.int64, like=owner) - lists.offsets[owner]
    page, word = place_of(place, degree_words[owner], size)
    target = slots[first_page[owner] + page] * size + word
    words[target] = lists.heads
    if store.weights is not None:
        store.weights[slots] = 0
        store.weights.reshape(-1)[target] = lists.weights


def _write_headers(store: Any, slots: Array, plan: PagePlan, used: Array) -> None:
    size, group = store.page_size, owners_of(plan.pages)
    number = np.arange(len(group), dtype=np.int64, like=group) - plan.pages[group]  # of the page in its group
    large = (plan.pages[1:] - plan.pages[:-1])[group] > 1
    of_lists = (used[plan.starts[1:]] - used[plan.starts[:-1]])[group]
    first_end = np.where(large, HEADER_WORDS + most_in_first(size), HEADER_WORDS - 1 + of_lists)
    rest = of_lists - 1 - most_in_first(size) - (number - 1) * (size - HEADER_WORDS)
    values = (
        np.where(number == 0, (plan.starts[1:] - plan.starts[:-1])[group], 0),
        np.where(number == 0, first_end, np.minimum(size - 1, HEADER_WORDS - 1 + rest)),
        large,
    )
    for word, value in enumerate(values):
        store.words[slots, word] = value.astype(store.words.dtype)
