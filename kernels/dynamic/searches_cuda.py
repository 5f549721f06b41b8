"""Breadth-first search of slotted pages on the GPU.

Rows of few arcs take the search for long paths of `kernels.bfs`, which begins by copying the arcs; others take search.cu.
"""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.bfs.cuda import levels_top_down, quads_of
from kernels.dynamic.constants import NO_VERTEX, SEARCH_THREADS, UNSEEN
from kernels.dynamic.pages.layout import pages_of
from kernels.dynamic.structures.pages import SlottedPages
from kernels.gpu.loader import launch
from kernels.graph import NO_ROW, UNREACHED, Array
from kernels.paths.degrees import are_long

_SOURCE = "dynamic/search.cu"
_NONE = np.int32(2**31 - 1)
_CONTROL_WORDS = 8  # of 64 bits, at least the size of search.cuh's Control


def search(graph: SlottedPages, source: int) -> Paths:
    """Answer `kernels.dynamic.searches.bfs` on CuPy arrays."""
    degrees, existing = graph.located().degrees, graph.exists()
    predecessor = cupy.empty(graph.num_rows, np.int32)
    predecessor.fill(_NONE)
    by_push = not graph.derived.get(are_long, lambda: are_long(*_totals(degrees)))
    levels = (_push if by_push else _search_long_paths)(graph, source, existing, predecessor)
    distance = cupy.where(levels >= 0, levels.astype(np.int64), np.int64(UNREACHED))
    return Paths(source, distance, cupy.where(predecessor == _NONE, np.int32(NO_ROW), predecessor).astype(np.int32))


def _totals(degrees: Array) -> tuple[int, int, int]:
    return int(degrees.sum()), int(cupy.count_nonzero(degrees)), int(degrees.max()) if len(degrees) else 0


def _push(graph: SlottedPages, source: int, existing: Array, predecessor: Any) -> Array:
    located, size = graph.located(), graph.store.page_size
    levels: Array = cupy.where(existing, np.int32(UNSEEN), np.int32(NO_VERTEX)).astype(np.int32)
    levels[source] = 0
    parts = pages_of(located.degrees, size)
    queue, control = cupy.empty(graph.num_rows, np.int32), cupy.zeros(_CONTROL_WORDS, np.uint64)
    queue[:1] = source
    waiting = [cupy.empty(int(parts[parts > 1].sum()) + 1, np.int32) for _ in range(2)]
    arguments = (
        graph.store.addresses[0],
        located.pages,
        located.words,
        np.int32(size),
        levels,
        predecessor,
        queue,
        *waiting,
        control,
    )
    launch(_SOURCE, "search_pages", SEARCH_THREADS, None, *arguments)
    return levels


def _search_long_paths(graph: SlottedPages, source: int, existing: Array, predecessor: Any) -> Array:
    csr = graph.csr()
    levels: Array = cupy.where(existing, levels_top_down(csr, source, quads_of(csr)), UNREACHED).astype(np.int32)
    arguments = csr.offsets, csr.indices, np.int64(graph.num_rows), levels, predecessor
    launch(_SOURCE, "find_smallest_tails", SEARCH_THREADS, graph.num_rows, *arguments)
    return levels
