"""Breadth-first search of slotted pages on the GPU.

Rows of few arcs take the search for long paths of `kernels.bfs` on a copy of the arcs, made once after each change; others take
breadth.cu.
"""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.bfs.cuda import levels_top_down, quads_of
from kernels.gpu.loader import launch
from kernels.graph import NO_ROW, UNREACHED, Array, Csr
from kernels.library.dynamic.pages.layout import pages_of
from kernels.library.dynamic.pages.search.constants import CONTROL_WORDS, NO_VERTEX, SEARCH_THREADS, UNSEEN
from kernels.library.dynamic.structures.pages import SlottedPages
from kernels.paths.degrees import are_long

_SOURCE = "library/dynamic/pages/search/breadth.cu"
NONE = np.int32(2**31 - 1)  # as a predecessor: above every row


def search(graph: SlottedPages, source: int) -> Paths:
    """Answer `kernels.library.dynamic.searches.bfs` on CuPy arrays."""
    degrees, existing = graph.located().degrees, graph.exists()
    if not graph.derived.get(have_long_paths, lambda: have_long_paths(degrees)):
        return _push(graph, source, existing)
    csr = graph.derived.get(search_rows, graph.csr)
    return search_rows(csr, graph.derived.get(quads_of, lambda: quads_of(csr)), source, existing)


def have_long_paths(degrees: Array) -> bool:
    """Whether rows of these degrees take the search for long paths."""
    return are_long(int(degrees.sum()), int(cupy.count_nonzero(degrees)), int(degrees.max()) if len(degrees) else 0)


def answer(source: int, levels: Array, predecessor: Array) -> Paths:
    """Levels, negative where none is, and predecessors, NONE where none is, as a search returns them."""
    distance = cupy.where(levels >= 0, levels.astype(np.int64), np.int64(UNREACHED))
    return Paths(source, distance, cupy.where(predecessor == NONE, np.int32(NO_ROW), predecessor).astype(np.int32))


def _push(graph: SlottedPages, source: int, existing: Array) -> Paths:
    located, size = graph.located(), graph.store.page_size
    levels: Array = cupy.where(existing, np.int32(UNSEEN), np.int32(NO_VERTEX)).astype(np.int32)
    levels[source] = 0
    parts = pages_of(located.degrees, size)
    predecessor = none(graph.num_rows)
    queue, control = cupy.empty(graph.num_rows, np.int32), cupy.zeros(CONTROL_WORDS, np.uint64)
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
    return answer(source, levels, predecessor)


def search_rows(csr: Csr, quads: int, source: int, existing: Array) -> Paths:
    """Search rows with long paths; arcs may lead to rows that do not exist, and be in any order."""
    reached_at, _ = levels_top_down(csr, source, quads)
    levels: Array = cupy.where(existing, reached_at, UNREACHED).astype(np.int32)
    predecessor = none(len(levels))
    arguments = csr.offsets, csr.indices, np.int64(len(levels)), levels, predecessor
    launch(_SOURCE, "find_smallest_tails", SEARCH_THREADS, len(levels), *arguments)
    return answer(source, levels, predecessor)


def none(number: int) -> Any:
    """NONE for each row."""
    predecessor = cupy.empty(number, np.int32)
    predecessor.fill(NONE)
    return predecessor
