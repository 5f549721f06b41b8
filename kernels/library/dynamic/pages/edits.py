"""Single edits of pages in the host's memory, as the document makes them: one after the other, on one core.

Inserting an edge takes one of these ways: the page has a free word; or it is full and (a) the lists behind the source's move to a
new page, (b) the source's list, the last of several, moves, or (c) it is alone and becomes large; or the list is large and its
last page has a free word, or has none and a new page follows.

Martinho: Marrow-Graph (2021), section 3.3. Its condition for a new vertex (`HAS_SPACE`) is inverted there, its removal of an edge
deletes something even if the edge is absent, and its searches return a place for vertices that do not exist.
"""

from typing import Any, NamedTuple

import numpy as np

from kernels.graph import Array
from kernels.library.dynamic.contract import BatchRules
from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.pages.layout import WORD, degree_words_of, free_words, vertices_of
from kernels.library.dynamic.pages.moves import PageMoves
from kernels.library.dynamic.pages.store import NOT_LARGE, PageStore
from kernels.library.dynamic.values import converted, require_vertex

_FREE_SHARE = 0.6  # of a page to which a vertex is added


class ListPlace(NamedTuple):
    """Where a list is."""

    page: int
    number: int  # of its slot
    pages: int  # 1, or those of a large list


class Editor(PageMoves):
    """Edits of a store."""

    def __init__(self, store: PageStore, rules: BatchRules | None = None) -> None:
        super().__init__(store)
        self.rules = rules or BatchRules()

    def find(self, vertex: int) -> ListPlace | None:
        """The list of a vertex, or None."""
        index = self.store.index
        page = int(np.searchsorted(index[:, 0], vertex, side="right")) - 1
        if page < 0:
            return None
        page -= max(int(index[page, 1]), 0)
        vertices = vertices_of(self.store.page(page))
        number = int(np.searchsorted(vertices, vertex))
        if number == len(vertices) or int(vertices[number]) != vertex:
            return None
        return ListPlace(page, number, max(int(index[page, 2]), 1))

    def add_vertex(self) -> int:
        """Add the next vertex and return its number."""
        store, vertex = self.store, require_vertex(self.store.num_rows)
        last = store.num_pages - 1
        if last < 0 or store.index[last, 1] != NOT_LARGE or free_words(store.page(last)) < _FREE_SHARE * store.page_size:
            last = self.new_page(last + 1, vertex)
        page = store.page(last)
        number, word = int(page[0]), int(page[1]) + 1
        page[0], page[1], page[word] = number + 1, word, 0
        vertices_of(page)[number], degree_words_of(page)[number] = vertex, word
        self.touch(last)
        store.num_rows += 1
        return vertex

    def add_edge(self, src: int, dst: int, weight: float = 1) -> bool:
        """Append `dst` to the list of `src`; False, and no change, if a vertex is missing or `unique` finds the edge.

        Raises ValueError if the store has weights and cannot hold this one; a store without weights ignores it.
        """
        weight, place = self._held(weight), self.find(src)
        if place is None or self.find(dst) is None or (self.rules.unique and self.positions(src, dst)):
            return False
        self._append(place, dst, weight)
        if self.rules.undirected and src != dst:
            mirrored = self.find(dst)
            assert mirrored
            self._append(mirrored, src, weight)
        return True

    def remove_edge(self, src: int, dst: int) -> bool:
        """Remove the last arc from `src` to `dst`: the last neighbour takes its place. False, and no change, if there is none."""
        places = self.positions(src, dst)
        if not places:
            return False
        weight = self._weight(src, places[-1])
        self._remove(src, places[-1])
        if self.rules.undirected and src != dst:
            mirrored = self.positions(dst, src)
            self._remove(dst, [place for place in mirrored if self._weight(dst, place) == weight][-1])
        return True

    def edit_edge(self, src: int, old: int, new: int, atomic: bool = False) -> bool:
        """Remove the edge to `old`, add one to `new` of the same weight; whether both succeeded.

        If one fails the other is still made, as in the document, unless `atomic`: then nothing changes.
        """
        places = self.positions(src, old)
        exists = self.rules.unique and new != old and bool(self.positions(src, new))
        if atomic and (not places or self.find(new) is None or exists):
            return False
        weight = self._weight(src, places[-1]) if places else 1
        removed = self.remove_edge(src, old)
        return self.add_edge(src, new, weight) and removed

    def set_weight(self, src: int, dst: int, weight: float) -> bool:
        """Set the weight of all arcs from `src` to `dst`; False if there is none, or the store has no weights.

        Raises ValueError if the store cannot hold it.
        """
        weight = self._held(weight)
        if self.store.weights is None or not self.positions(src, dst):
            return False
        for tail, head in {(src, dst), (dst, src)} if self.rules.undirected else {(src, dst)}:
            for number in self.positions(tail, head):
                page, word = self._word(tail, number)
                weights = self.store.weights_of(page)
                assert weights is not None
                weights[word] = weight
                self.touch(page)
        return True

    def remove_vertex(self, vertex: int, purge_incoming: bool = False) -> bool:
        """Remove a vertex and its out-arcs; arcs that enter it stay and lead to no vertex, unless `purge_incoming`."""
        if self.find(vertex) is None:
            return False
        self.store.complete = False
        if purge_incoming or self.rules.undirected:
            for tail in self._tails_of(vertex):
                while places := self.positions(tail, vertex):
                    self._remove(tail, places[-1])
        for number in reversed(range(len(self.neighbours(vertex)))):
            self._remove(vertex, number)
        place = self.find(vertex)
        assert place
        page = self.store.page(place.page)
        self.resize(place.page, place.number, -1)
        vertices, words = vertices_of(page), degree_words_of(page)
        vertices[place.number : -1], words[place.number : -1] = (
            vertices[place.number + 1 :].copy(),
            words[place.number + 1 :].copy(),
        )
        vertices[-1:], words[-1:] = 0, 0
        page[0] -= 1
        if page[0]:
            self.store.index[place.page, 0] = vertices[0]
            self.touch(place.page)
        else:
            self.erase(place.page)
        return True

    def neighbours(self, vertex: int) -> list[int]:
        """The list of a vertex, in its order; empty if there is no such vertex."""
        heads: list[int] = self._list(vertex).tolist()
        return heads

    def positions(self, src: int, dst: int) -> list[int]:
        """Where `dst` is in the list of `src`."""
        places: list[int] = np.flatnonzero(self._list(src) == dst).tolist()
        return places

    def _list(self, vertex: int) -> Array:
        parts = [self.store.page(page)[begin:end] for page, begin, end in self._parts(vertex)]
        return np.concatenate([np.empty(0, WORD), *parts])

    def _parts(self, vertex: int) -> list[tuple[int, int, int]]:
        """Pages and words, first and behind the last, of a list."""
        place = self.find(vertex)
        if place is None:
            return []
        page = self.store.page(place.page)
        word = int(degree_words_of(page)[place.number])
        if place.pages == 1:
            return [(place.page, word + 1, word + 1 + int(page[word]))]
        more = range(place.page + 1, place.page + place.pages)
        rest = [(number, HEADER_WORDS, int(self.store.page(number)[1]) + 1) for number in more]
        return [(place.page, word + 1, int(page[1]) + 1), *rest]

    def _word(self, vertex: int, number: int) -> tuple[int, int]:
        """Page and word of a neighbour."""
        for page, begin, end in self._parts(vertex):
            if number < end - begin:
                return page, begin + number
            number -= end - begin
        raise IndexError(number)

    def _weight(self, vertex: int, number: int) -> float:
        page, word = self._word(vertex, number)
        weights = self.store.weights_of(page)
        return 1 if weights is None else weights[word].item()

    def _held(self, weight: float) -> Any:
        """A weight in the store's type."""
        weights = self.store.weights
        return weight if weights is None else converted([weight], weights.dtype, weights)[0]

    def _append(self, place: ListPlace, dst: int, weight: float) -> None:
        store, page = self.store, self.store.page(place.page)
        if place.pages > 1 or (free_words(page) == 0 and page[0] == 1):
            self._append_to_large(place, dst, weight)
            return
        if free_words(page) == 0:
            first = place.number + 1 if place.number + 1 < page[0] else place.number
            self.split(place.page, first)  # way (a), or (b)
            if first == place.number:
                place = ListPlace(place.page + 1, 0, 1)
                page = store.page(place.page)
        word = self.resize(place.page, place.number, 1)
        self.put(place.page, word, dst, weight)

    def _append_to_large(self, place: ListPlace, dst: int, weight: float) -> None:
        """Append behind the last page's last word, or in a new page: way (c) if the list is not yet large."""
        store, last = self.store, place.page + place.pages - 1
        tail = store.page(last)
        if place.pages == 1 or int(tail[1]) + 1 == store.page_size:
            last = self.new_page(last + 1, int(store.index[place.page, 0]))
            tail = store.page(last)
            self.number_pages(place.page, place.pages + 1)
        tail[1] += 1
        self.put(last, int(tail[1]), dst, weight)
        self.change_degree(place.page, 1)

    def _remove(self, vertex: int, number: int) -> None:
        """Remove a neighbour: the last one takes its place."""
        place, store = self.find(vertex), self.store
        assert place
        page, word = self._word(vertex, number)
        last_page, begin, end = self._parts(vertex)[-1]
        store.page(page)[word] = store.page(last_page)[end - 1]
        if store.weights is not None:
            store.weights[store.slots[page], word] = store.weights[store.slots[last_page], end - 1]
        self.touch(page)
        if place.pages == 1:
            self.resize(place.page, place.number, -1)
            return
        self.change_degree(place.page, -1)
        tail = store.page(last_page)
        tail[1] -= 1
        tail[end - 1] = 0
        if store.weights is not None:
            store.weights[store.slots[last_page], end - 1] = 0
        self.touch(last_page)
        if begin == end - 1:
            self.erase(last_page)
            self.number_pages(place.page, place.pages - 1)

    def _tails_of(self, vertex: int) -> list[int]:
        """Vertices with an arc to one: a scan of all lists."""
        tails = (vertices_of(self.store.page(number)).tolist() for number in range(self.store.num_pages))
        return [tail for page in tails for tail in page if vertex in self.neighbours(tail)]


def lists_of(store: PageStore) -> dict[int, Array]:
    """The neighbours of every vertex, by vertex."""
    editor = Editor(store)
    pages = (vertices_of(store.page(number)).tolist() for number in range(store.num_pages))
    return {vertex: np.array(editor.neighbours(vertex), np.int32) for page in pages for vertex in page}
