"""How words and pages move when lists in the host's memory become longer or shorter."""

import numpy as np

from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.pages.layout import degree_words_of, vertices_of
from kernels.library.dynamic.pages.store import NOT_LARGE, PageStore


class PageMoves:
    """Moves in the pages of a store; `dirty` are the slots of the pages that were changed since it was last cleared."""

    def __init__(self, store: PageStore) -> None:
        self.store, self.dirty = store, set[int]()

    def change_degree(self, page: int, by: int) -> None:
        """Change the degree of a large list that begins at a page."""
        words = self.store.page(page)
        words[degree_words_of(words)[0]] += by
        self.touch(page)

    def number_pages(self, first: int, pages: int) -> None:
        """Write header and index of the pages of a list that has become larger or smaller."""
        large = pages > 1
        for number in range(pages):
            self.store.page(first + number)[2] = large
            self.store.index[first + number, 1:] = (number, pages) if large else (NOT_LARGE, NOT_LARGE)
            self.touch(first + number)

    def resize(self, number: int, slot: int, by: int) -> int:
        """Make the list of a slot longer by 1, or shorter by 1, at its end; -1 for an empty list removes its degree word.

        The lists behind it move. Returns the word at its end that is new.
        """
        page, weights = self.store.page(number), self.store.weights_of(number)
        starts, last = degree_words_of(page), int(page[1])
        start = int(starts[slot])
        end = start + 1 + int(page[start])  # the list's
        if by < 0 and page[start] == 0:
            end = start + 1
        else:
            page[start] += by
        for words in (page,) if weights is None else (page, weights):
            words[end + by : last + 1 + by] = words[end : last + 1].copy()
            words[last + 1 + min(by, 0) : last + 1] = 0
        starts[slot + 1 :] += by
        page[1] += by
        self.touch(number)
        return end

    def split(self, number: int, first: int) -> None:
        """Move the lists from slot `first` on to a new page behind this one."""
        store, page = self.store, self.store.page(number)
        begin, end, count = int(degree_words_of(page)[first]), int(page[1]) + 1, int(page[0]) - first
        made = self.new_page(number + 1, int(vertices_of(page)[first]))
        page, fresh = store.page(number), store.page(made)  # the pool may have grown
        fresh[:3] = count, HEADER_WORDS - 1 + end - begin, 0
        vertices_of(fresh)[:] = vertices_of(page)[first:]
        degree_words_of(fresh)[:] = degree_words_of(page)[first:] + (HEADER_WORDS - begin)
        for pool in (store.words,) if store.weights is None else (store.words, store.weights):
            old, new = pool[store.slots[number]], pool[store.slots[made]]
            new[HEADER_WORDS : HEADER_WORDS + end - begin] = old[begin:end]
            old[begin:end] = 0
        page[len(page) - 2 * int(page[0]) : len(page) - 2 * first] = 0
        page[0], page[1] = first, begin - 1
        self.touch(number)

    def new_page(self, number: int, vertex: int) -> int:
        """Insert an empty page, whose first vertex will be `vertex`."""
        store = self.store
        slot = int(store.take(1)[0])
        store.words[slot] = 0
        store.words[slot, 1] = HEADER_WORDS - 1
        if store.weights is not None:
            store.weights[slot] = 0
        store.set_order(np.insert(store.slots, number, slot), np.insert(store.index, number, (vertex, -1, -1), axis=0))
        self.touch(number)
        return number

    def erase(self, number: int) -> None:
        """Remove a page."""
        store = self.store
        self.dirty.discard(int(store.slots[number]))
        store.release(store.slots[number : number + 1])
        store.set_order(np.delete(store.slots, number), np.delete(store.index, number, axis=0))

    def touch(self, number: int) -> None:
        """Note that a page was changed."""
        self.dirty.add(int(self.store.slots[number]))

    def put(self, page: int, word: int, dst: int, weight: float) -> None:
        """Write a neighbour and its weight to a word."""
        self.store.page(page)[word] = dst
        if (weights := self.store.weights_of(page)) is not None:
            weights[word] = weight
        self.touch(page)
