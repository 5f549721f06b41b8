"""The rules of a store's pages, checked page by page in Python: for tests and for debugging."""

import numpy as np

from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.pages.layout import degree_words_of, free_words, most_in_first, vertices_of
from kernels.library.dynamic.pages.store import NOT_LARGE, PageStore


def require_valid(store: PageStore) -> None:
    """Raise ValueError with the first broken rule of a store in the host's memory."""
    _require(len(set(store.slots.tolist())) == store.num_pages, "two pages have one slot")
    _require(store.index.shape == (store.num_pages, 3), f"index of shape {store.index.shape} for {store.num_pages} pages")
    index, before, number = [], -1, 0
    while number < store.num_pages:
        pages = _require_list(store, number) if store.page(number)[2] else 1
        vertices = vertices_of(store.page(number)).tolist()
        _require(bool(vertices), f"page {number} has no vertices")
        _require(vertices == sorted(set(vertices)) and vertices[0] > before, f"page {number}: vertices do not ascend")
        _require(vertices[-1] < store.num_rows, f"page {number}: vertex {vertices[-1]} of {store.num_rows} numbers")
        before = vertices[-1]
        if pages == 1:
            _require_small(store, number)
            index.append((vertices[0], NOT_LARGE, NOT_LARGE))
        index += [(vertices[0], place, pages) for place in range(pages) if pages > 1]
        number += pages
    _require(bool((store.index == np.array(index, np.int32).reshape(-1, 3)).all()), "the index is not that of the pages")


def _require_small(store: PageStore, number: int) -> None:
    page, word = store.page(number), HEADER_WORDS
    for start in degree_words_of(page).tolist():
        _require(start == word, f"page {number}: a list is at word {start}, not {word}")
        _require(page[start] >= 0, f"page {number}: a degree is {page[start]}")
        word += 1 + int(page[start])
    _require(page[1] == word - 1, f"page {number}: the lists end at word {word - 1}, the header says {page[1]}")
    _require(free_words(page) >= 0, f"page {number}: the lists reach into the slots")
    _require(not page[word : word + free_words(page)].any(), f"page {number}: a free word is not 0")


def _require_list(store: PageStore, number: int) -> int:
    """Check a large list and return the number of its pages."""
    size, first = store.page_size, store.page(number)
    _require(first[0] == 1 and degree_words_of(first)[0] == HEADER_WORDS, f"page {number}: a large list is not alone")
    rest, pages = int(first[HEADER_WORDS]) - most_in_first(size), 1
    _require(rest > 0, f"page {number}: a large list has {first[HEADER_WORDS]} neighbours, which fit one page")
    _require(first[1] == HEADER_WORDS + most_in_first(size), f"page {number}: the first page of a large list is not full")
    while rest > 0:
        _require(number + pages < store.num_pages, f"page {number}: {rest} neighbours of a large list are missing")
        page, here = store.page(number + pages), min(rest, size - HEADER_WORDS)
        header = [0, HEADER_WORDS - 1 + here, 1]
        _require(page[:HEADER_WORDS].tolist() == header, f"page {number + pages}: header {page[:HEADER_WORDS]}, not {header}")
        _require(not page[HEADER_WORDS + here :].any(), f"page {number + pages}: a free word is not 0")
        rest, pages = rest - here, pages + 1
    return pages


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise ValueError(reason)
