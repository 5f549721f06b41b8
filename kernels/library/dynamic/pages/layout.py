"""One page: its two layouts, and where a large list continues.

AE ("efficient access"), the stored one, has S words of int32: word 0 is the number n of vertices, word 1 the last used word of
the lists, word 2 whether the page is part of a large list. From word 3 the lists ascend: `degree, neighbour, neighbour, ...`.
From the end the slots descend: vertex k has its number in word S-1-2k and the place of its degree in word S-2-2k.

ME ("minimum space") has the lists without degrees, then the slots `degree, vertex` in the same descending order, without free
words.

A list of more than S-6 neighbours is large: it has its own page with the first S-6, and pages without slots with S-3 each.

Martinho: Marrow-Graph (2021), sections 3.1 and 3.2. There the slots are also called records; word 1 is here the last used
word, as in its Table 3.2, and not the next free one, as in its Algorithm 2.
"""

from typing import Any

import numpy as np

from kernels.graph import Array
from kernels.library.dynamic.pages.constants import HEADER_WORDS, MOST_WORDS

WORD = np.dtype(np.int32)
PAGE_SIZES = range(40, MOST_WORDS + 1, 2)  # words; the document's are 256, 512, ..., 2048
_SLOT = 2  # words


def most_in_first(page_size: int) -> int:
    """The most neighbours of a list that is alone in its page."""
    return page_size - HEADER_WORDS - _SLOT - 1


def pages_of(degree: Any, page_size: int) -> Any:
    """Pages of a list that starts a page of its own (numbers or arrays)."""
    rest = degree - most_in_first(page_size)
    return 1 + np.maximum(rest + page_size - HEADER_WORDS - 1, 0) // (page_size - HEADER_WORDS)


def place_of(place: Any, degree_word: Any, page_size: int) -> tuple[Any, Any]:
    """Page of the list, from 0, and word of the neighbour at `place` of a list whose degree is in `degree_word` (arrays)."""
    rest = place - most_in_first(page_size)
    full = page_size - HEADER_WORDS
    first = rest < 0
    page = np.where(first, 0, 1 + rest // full)
    return page, np.where(first, degree_word + 1 + place, HEADER_WORDS + rest % full)


def slot_words(page_size: int, number: Any) -> tuple[Any, Any]:
    """The words of slot `number`: of the vertex, and of the place of its degree."""
    return page_size - 1 - _SLOT * number, page_size - 2 - _SLOT * number


def vertices_of(page: Array) -> Array:
    """The vertices of a page, ascending: a view."""
    return page[len(page) - 1 : len(page) - 1 - _SLOT * int(page[0]) : -_SLOT]


def degree_words_of(page: Array) -> Array:
    """Where the degree of each vertex of a page is: a view."""
    return page[len(page) - 2 : len(page) - 2 - _SLOT * int(page[0]) : -_SLOT]


def free_words(page: Array) -> int:
    """Words between the lists and the slots."""
    return len(page) - _SLOT * int(page[0]) - int(page[1]) - 1


def encode(lists: dict[int, list[int]], page_size: int) -> Array:
    """The AE page of ascending vertices; raises ValueError if they do not fit."""
    page = np.zeros(page_size, WORD)
    words = [word for neighbours in lists.values() for word in (len(neighbours), *neighbours)]
    if HEADER_WORDS + len(words) + _SLOT * len(lists) > page_size:
        raise ValueError(f"{len(lists)} vertices and {len(words)} words of lists exceed a page of {page_size} words")
    page[:HEADER_WORDS] = len(lists), HEADER_WORDS + len(words) - 1, 0
    page[HEADER_WORDS : HEADER_WORDS + len(words)] = words
    vertices_of(page)[:] = list(lists)
    degree_words_of(page)[:] = HEADER_WORDS + np.cumsum([0, *(len(each) + 1 for each in lists.values())])[:-1]
    return page


def decode(page: Array) -> dict[int, list[int]]:
    """The lists of an AE page that is not part of a large list."""
    starts = degree_words_of(page).tolist()
    lists = (page[start + 1 : start + 1 + int(page[start])].tolist() for start in starts)
    return dict(zip(vertices_of(page).tolist(), lists, strict=True))


def encode_minimum(lists: dict[int, list[int]]) -> Array:
    """The words of the ME layout."""
    slots = [word for vertex, neighbours in reversed(lists.items()) for word in (len(neighbours), vertex)]
    return np.array([neighbour for neighbours in lists.values() for neighbour in neighbours] + slots, WORD)


def decode_minimum(words: Array, num_vertices: int) -> dict[int, list[int]]:
    """The lists of a page in the ME layout."""
    lists, start = {}, 0
    for number in range(num_vertices):
        vertex_word, degree_word = slot_words(len(words), number)
        lists[int(words[vertex_word])] = words[start : start + int(words[degree_word])].tolist()
        start += int(words[degree_word])
    return lists


def space_efficiency(page: Array, minimum: bool = False) -> float:
    """Share of a page's words that are used; of its words in the ME layout if `minimum`."""
    used = len(page) - free_words(page)
    return (used - HEADER_WORDS - int(page[0]) if minimum else used) / len(page)
