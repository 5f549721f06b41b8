"""The kernels of a store: NumPy's arrays are processed on the CPU, CuPy's on the GPU, to the same bytes."""

from typing import Any, NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import Array
from kernels.library.dynamic.arrays import offsets_of
from kernels.library.dynamic.contract import Lists
from kernels.library.dynamic.pages.store import PageStore


class Located(NamedTuple):
    """Where the lists of vertices are."""

    pages: Array  # int32 [n]: -1 if there is no such vertex
    slots: Array  # int32 [n]: number in the page, or -1
    words: Array  # int32 [n]: word of the degree, or -1
    degrees: Array  # int64 [n]: 0 if there is no such vertex

    def taken(self, kept: Array) -> "Located":
        """Those of places, or where a mask is true."""
        return Located(*(column[kept] for column in self))


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


def _backend(store: PageStore) -> Any:
    if is_cupy_array(store.words):
        from kernels.library.dynamic.pages import cuda

        return cuda
    from kernels.library.dynamic.pages import cpu

    return cpu
