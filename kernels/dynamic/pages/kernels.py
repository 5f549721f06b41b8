"""The kernels of a store: NumPy's arrays are processed on the CPU, CuPy's on the GPU, to the same bytes."""

from typing import Any, NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.dynamic.arrays import offsets_of
from kernels.dynamic.contract import Lists
from kernels.dynamic.pages.layout import pages_of
from kernels.dynamic.pages.store import PageStore
from kernels.graph import Array


class Located(NamedTuple):
    """Where the lists of vertices are."""

    pages: Array  # int32 [n]: -1 if there is no such vertex
    slots: Array  # int32 [n]: number in the page, or -1
    words: Array  # int32 [n]: word of the degree, or -1
    degrees: Array  # int64 [n]: 0 if there is no such vertex

    def taken(self, kept: Array) -> "Located":
        """Those of places, or where a mask is true."""
        return Located(*(column[kept] for column in self))


class Runs(NamedTuple):
    """Sorted distinct arcs, by source."""

    starts: Array  # int64 [R + 1]: first arc of each source
    located: Located  # of the R sources
    heads: Array  # int32 [K]


def locate(store: PageStore, vertices: Array) -> Located:
    """Find the lists of vertices (integer [n])."""
    vertices = vertices.astype(np.int32)  # a copy without gaps, as kernels need
    kinds = (np.int32, np.int32, np.int32, np.int64)
    located = Located(*(np.empty(len(vertices), kind, like=store.slots) for kind in kinds))
    if len(vertices):
        _backend(store).locate(store, vertices, located)
    return located


def expand(store: PageStore, located: Located) -> Lists:
    """The lists, one after the other."""
    offsets = offsets_of(located.degrees)
    total = int(offsets[-1])
    heads = np.empty(total, np.int32, like=offsets)
    weights = None if store.weights is None else np.empty(total, store.weights.dtype, like=offsets)
    if total:
        _backend(store).expand(store, located, offsets, heads, weights)
    return Lists(offsets, heads, weights)


def find_arcs(store: PageStore, runs: Runs, limits: Array) -> Array:
    """The last place below its limit at which each arc is in its source's list, or -1: int64 [K]."""
    places = np.empty(len(runs.heads), np.int64, like=limits)
    places.fill(-1)
    if len(places):
        parts = offsets_of(pages_of(runs.located.degrees, store.page_size))
        _backend(store).find_arcs(store, runs, parts, limits, places)
    return places


def rewrite_pages(store: PageStore, numbers: Array, firsts: Array, slots: Array, columns: tuple[Any, Any, Any]) -> Array:
    """Insert or delete arcs of lists that are not large; whether each page was left as it is, for want of words: bool [T].

    Args:
        numbers (int32 [T]): Pages.
        firsts (int64 [T + 1]): First arc of each page.
        slots (int32 [K]): Of the arcs' sources, ascending within a page.
        columns: Heads (int32 [K]) and weights to insert, or places (int64 [K]) to delete; the others are None.
    """
    overflows = np.zeros(len(numbers), np.bool_, like=firsts)
    if len(numbers):
        _backend(store).rewrite_pages(store, numbers, firsts, slots, *columns, overflows)
    return overflows


def _backend(store: PageStore) -> Any:
    if is_cupy_array(store.words):
        from kernels.dynamic.pages import cuda

        return cuda
    from kernels.dynamic.pages import cpu

    return cpu
