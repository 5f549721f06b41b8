"""Shortest paths of slotted pages on the GPU: the launcher of shortest.cu."""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.gpu.loader import launch
from kernels.graph import NO_ROW, UNREACHED, Array, distance_dtype
from kernels.library.dynamic.pages.layout import pages_of
from kernels.library.dynamic.pages.search.breadth_cuda import NONE, none
from kernels.library.dynamic.pages.search.constants import (
    BEYOND,
    CONTROL_WORDS,
    NEGATIVE,
    NO_VERTEX,
    SEARCH_THREADS,
    SHORTEST_WORDS,
    UNSEEN,
)
from kernels.library.dynamic.pages.search.widths import mean_step
from kernels.library.dynamic.structures.pages import SlottedPages
from kernels.paths.lengths import as_length, far_of

_SOURCE = "library/dynamic/pages/search/shortest.cu"
_WIDTH = 32.0  # of the lengths that are relaxed together, in steps of `mean_step`, as in the paper


def search(graph: SlottedPages, source: int) -> Paths:
    """Answer `kernels.library.dynamic.searches.sssp` on CuPy arrays."""
    located, store, rows = graph.located(), graph.store, graph.num_rows
    assert store.weights is not None
    sums, existing = distance_dtype(store.weights), graph.exists()
    far, types = np.uint64(far_of(sums)), {"WEIGHT": store.weights.dtype, "SUM": sums}
    lists = *store.addresses, located.pages, located.words, np.int32(store.page_size)
    parts = pages_of(located.degrees, store.page_size)
    num_parts = int(parts[parts > 1].sum())
    waiting = [cupy.empty(num_parts + 1, np.int32) for _ in range(2)]
    lengths: Array = cupy.where(existing, far, np.uint64(0))
    lengths[source] = 0
    near, pile = (cupy.empty(2 * rows, np.int32) for _ in range(2))
    near[:1] = source
    marks, rounds = [cupy.zeros(rows, np.int32) for _ in range(2)], cupy.zeros((2, SHORTEST_WORDS), np.uint64)
    rounds[:, -1] = far
    width = as_length(sums, _WIDTH * mean_step(graph))
    _launch(
        "shorten", types, *lists, np.int64(rows), lengths, near, pile, *marks, *waiting, np.bool_(num_parts), width, rounds[0]
    )
    lengths[~existing] = far
    predecessor = none(rows)
    _launch("find_tails", types, *lists, np.int64(rows), lengths, predecessor, *waiting, rounds[1])
    broken, flat = _report(rounds)
    if NEGATIVE in broken:
        raise ValueError("sssp: a weight is negative or not a number")
    if BEYOND in broken:
        raise OverflowError(f"a distance exceeds the largest {sums}")
    if flat:
        _follow(lists, types, lengths, source, predecessor, waiting)
    distance = cupy.where(lengths < far, lengths.view(sums), sums.type(UNREACHED))
    return Paths(source, distance, cupy.where(predecessor == NONE, np.int32(NO_ROW), predecessor).astype(np.int32))


def _follow(lists: tuple[Any, ...], types: dict[str, Any], lengths: Array, source: int, predecessor: Array, waiting: Any) -> None:
    """Set the predecessors of rows that only tight arcs of length zero reach."""
    levels: Array = cupy.where(predecessor == NONE, np.int32(UNSEEN), np.int32(0))
    levels[source] = 0
    levels[lengths == np.uint64(far_of(types["SUM"]))] = NO_VERTEX
    queue, sources = cupy.empty(len(levels), np.int32), cupy.flatnonzero(levels == 0)
    queue[: len(sources)] = sources
    control = cupy.zeros(CONTROL_WORDS, np.uint64)
    arrays = lengths, levels, predecessor, queue, np.int64(len(sources)), *waiting, control
    _launch("follow_flat_arcs", types, *lists, *arrays)


def _report(rounds: Any) -> tuple[set[int], bool]:
    """Why there is no answer, and whether tight arcs of length zero were met; waits for the launches."""
    first, second = rounds[:, :2].get().tolist()
    return {first[0] >> 32, second[0] >> 32}, bool(second[1])


def _launch(name: str, types: dict[str, Any], *arguments: Any) -> None:
    launch(_SOURCE, name, SEARCH_THREADS, None, *arguments, **types)
