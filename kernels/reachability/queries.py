"""Queries on the CPU, in parts over all cores: the cuts decide a part first, then a search what they leave of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import NamedTuple

import numpy as np
from numba import njit

from kernels.answers import ReachabilityIndex, Reached
from kernels.backend import cores, frozen
from kernels.graph import Array
from kernels.reachability import FILTER, POSITIVE_CUT, SAME, SEARCH
from kernels.reachability.cuts import Records, contains, decide, pack
from kernels.reachability.exception_lists import is_exception
from kernels.reachability.search import breadth_first, depth_first, meet

SEARCHES = ("dfs", "pruned-dfs", "pruned-bfs", "exceptions")
_DFS, _PRUNED_DFS, _PRUNED_BFS, _EXCEPTIONS, _MEET = range(len(SEARCHES) + 1)
_LARGEST_PART = 1 << 16  # queries: so few that one that searches long does not hold up the others' end
_SMALLEST_PART = 1 << 13  # queries: so many that a thread is worth its start


class Scratch(NamedTuple):
    """What one core needs to search, [C] each: nodes visited and waiting, of both directions, and the next arcs along a path."""

    visited: Array
    queue: Array
    back_visited: Array
    back_queue: Array
    arcs: Array


def reach(index: ReachabilityIndex, src: Array, dst: Array, search: str | None) -> Reached:
    """Answer `kernels.reachability.reach` on NumPy arrays."""
    if search is not None and search not in SEARCHES:
        raise ValueError(f"reach: no search {search!r} for these arrays; there are {', '.join(SEARCHES)}")
    way = _MEET if search is None else SEARCHES.index(search)
    num_rows = len(index.condensation.node)
    src, dst = _rows(src, num_rows), _rows(dst, num_rows)
    if len(src) != len(dst):
        raise ValueError(f"reach: {len(src)} sources, {len(dst)} destinations")
    answers = Reached(np.zeros(len(src), np.bool_), np.zeros(len(src), np.uint8))
    condensation = index.condensation
    records, node = _records(index), frozen(condensation.node)
    sides = [frozen(array) for csr in (condensation.children, condensation.parents) for array in (csr.offsets, csr.indices)]
    free: SimpleQueue[Scratch] = SimpleQueue()

    def answer(begin: int, end: int) -> None:
        asked = node[src[begin:end]], node[dst[begin:end]]
        reachable, decided = answers.reachable[begin:end], answers.decided[begin:end]
        left = _cut(*records, *asked, way, reachable, decided)
        if left and way == _EXCEPTIONS:
            reachable |= (decided == SEARCH) & ~is_exception(index, *asked)
        elif left:
            scratch = _scratch(condensation.names, free)
            _search(*records, *sides, *scratch, *asked, way, reachable, decided)
            free.put(scratch)

    _over_parts(len(src), answer)
    return answers


def _rows(rows: Array, num_rows: int) -> Array:
    rows = np.asarray(rows)
    if rows.dtype.kind not in "iu":
        raise TypeError(f"reach: rows are {rows.dtype}, no integers")
    if len(rows) and not (rows.min() >= 0 and rows.max() < num_rows):
        row = rows[(rows < 0) | (rows >= num_rows)][0]
        raise IndexError(f"row {row} is not in 0..{num_rows - 1}, the rows of this graph")
    return rows


def _records(index: ReachabilityIndex) -> Records:
    """The index's records; made once an index and kept with it."""
    records: Records | None = vars(index).get("_records")
    if records is None:
        records = pack(index.labels)
        vars(index)["_records"] = records
    return records


def _scratch(names: Array, free: SimpleQueue[Scratch]) -> Scratch:
    """One that another part of the queries has done with, or a new one."""
    try:
        return free.get_nowait()
    except Empty:
        size, index = len(names), names.dtype
        ways = (np.zeros(size, np.bool_), np.empty(size, index), np.zeros(size, np.bool_), np.empty(size, index))
        return Scratch(*ways, np.empty(size, np.int64))


def _over_parts(num_queries: int, answer: Callable[[int, int], None]) -> None:
    workers = cores()
    size = min(max(_SMALLEST_PART, -(-num_queries // (4 * workers))), _LARGEST_PART)
    begins = range(0, num_queries, size)
    if workers == 1 or len(begins) < 2:
        for begin in begins:
            answer(begin, min(begin + size, num_queries))
        return
    with ThreadPoolExecutor(workers) as threads:
        for _ in threads.map(answer, begins, [min(begin + size, num_queries) for begin in begins]):
            pass


@njit(cache=True, nogil=True)
def _cut(bits, entries, backward, src, dst, way, reachable, decided):  # type: ignore[no-untyped-def]
    """Decide what the cuts of a way of searching decide; return how many queries are left to search."""
    left = 0
    for query in range(len(src)):
        u, v = src[query], dst[query]
        if way == _MEET:
            by = decide(bits, entries, backward, u, v)
        elif u == v:
            by = SAME
        else:
            by = SEARCH if way == _DFS or contains(entries, backward, u, v) else FILTER
        decided[query] = by
        reachable[query] = (by == SAME) | (by == POSITIVE_CUT)
        left += by == SEARCH
    return left


@njit(cache=True, nogil=True)
def _search(  # type: ignore[no-untyped-def]
    bits, entries, backward, offsets, indices, into_offsets, into_indices,
    visited, queue, back_visited, back_queue, arcs, src, dst, way, reachable, decided,
):  # fmt: skip
    """Search for the queries that are left."""
    for query in range(len(src)):
        if decided[query] == SEARCH:
            u, v = src[query], dst[query]
            if way == _MEET:
                reachable[query] = meet(
                    bits, entries, backward, offsets, indices, into_offsets, into_indices,
                    visited, queue, back_visited, back_queue, u, v,
                )  # fmt: skip
            elif way == _PRUNED_BFS:
                reachable[query] = breadth_first(entries, backward, offsets, indices, visited, queue, u, v)
            else:
                pruned = way == _PRUNED_DFS
                reachable[query] = depth_first(
                    entries, backward, offsets, indices, visited, queue, back_queue, arcs, u, v, pruned
                )
