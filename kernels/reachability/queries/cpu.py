"""Queries on the CPU: the cuts first, in large parts over all cores, then searches for undecided queries, in small parts."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import NamedTuple

import numpy as np

from kernels.answers import Condensation, ReachabilityIndex, Reached
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items
from kernels.graph import Array
from kernels.reachability.constants import FILTER, POSITIVE_CUT, SAME, SEARCH
from kernels.reachability.queries.exception_lists import is_exception
from kernels.reachability.queries.records import Records, contains, decide, records_of
from kernels.reachability.queries.search import breadth_first, depth_first, meet, reset

SEARCHES = ("dfs", "pruned-dfs", "pruned-bfs", "exceptions")
_DFS, _PRUNED_DFS, _PRUNED_BFS, _EXCEPTIONS, _MEET = range(len(SEARCHES) + 1)
_CUT_PART = 1 << 17  # queries, about a millisecond; fewer are not worth a thread
_SEARCH_PART = 1 << 8  # queries; so few that a part with long searches does not delay the end


class Scratch(NamedTuple):
    """What a core needs to search, [C] each: nodes visited and queued in both directions, and the next arcs along a path."""

    visited: Array
    queue: Array
    back_visited: Array
    back_queue: Array
    arcs: Array


def answer(index: ReachabilityIndex, src: Array, dst: Array, search: str | None) -> Reached:
    """Answer `kernels.reachability.reach` on NumPy arrays."""
    if search is not None and search not in SEARCHES:
        raise ValueError(f"reach: no search {search!r}; there are {', '.join(SEARCHES)}")
    way = _MEET if search is None else SEARCHES.index(search)
    answers = answer_by_labels(index, src, dst, way)
    left, node = np.flatnonzero(answers.decided == SEARCH), index.condensation.node
    src, dst = node[np.asarray(src)[left]], node[np.asarray(dst)[left]]
    if way == _EXCEPTIONS:
        answers.reachable[left] = ~is_exception(index, src, dst)
    else:
        answers.reachable[left] = _searched(index.condensation, records_of(index), src, dst, way)
    return answers


def answer_by_labels(index: ReachabilityIndex, src: Array, dst: Array, way: int = _MEET) -> Reached:
    """The answers that labels decide; those of other queries, decided by SEARCH, are no. Raises as `reach`."""
    num_rows = len(index.condensation.node)
    src, dst = _checked(src, num_rows), _checked(dst, num_rows)
    if len(src) != len(dst):
        raise ValueError(f"reach: {len(src)} sources, {len(dst)} destinations")
    reachable, decided = np.empty(len(src), np.bool_), np.empty(len(src), np.uint8)
    records, node = records_of(index), frozen(index.condensation.node)

    def decide_part(part: slice) -> None:
        _cut(*records, node[src[part]], node[dst[part]], way, reachable[part], decided[part])

    _over_parts(len(src), _CUT_PART, decide_part)
    return Reached(reachable, decided)


def _searched(condensation: Condensation, records: Records, src: Array, dst: Array, way: int) -> Array:
    """Whether each node of `src` reaches that of `dst`, for pairs that no cut decides."""
    found = np.empty(len(src), np.bool_)

    def search(sides: list[Array], scratch: Scratch, part: slice) -> None:
        _search(*records, *sides, *scratch, src[part], dst[part], way, found[part])

    over_searches(condensation, len(src), search)
    return found


def over_searches(condensation: Condensation, count: int, search: Callable[[list[Array], Scratch, slice], None]) -> None:
    """Call `search(arrays of children and parents, scratch, part)` for parts of `count` queries, on all cores."""
    sides = [frozen(array) for csr in (condensation.children, condensation.parents) for array in (csr.offsets, csr.indices)]
    free: SimpleQueue[Scratch] = SimpleQueue()

    def call(part: slice) -> None:
        scratch = _scratch(condensation.names, free)
        search(sides, scratch, part)
        free.put(scratch)

    _over_parts(count, _SEARCH_PART, call)


def _checked(rows: Array, num_rows: int) -> Array:
    rows = np.asarray(rows)
    if rows.dtype.kind not in "iu":
        raise TypeError(f"reach: rows are {rows.dtype}, not integers")
    if len(rows) and not (rows.min() >= 0 and rows.max() < num_rows):
        row = rows[(rows < 0) | (rows >= num_rows)][0]
        raise IndexError(f"row {row} is not in 0..{num_rows - 1}, the rows of this graph")
    return rows


def _scratch(names: Array, free: SimpleQueue[Scratch]) -> Scratch:
    """A scratch that a finished part has returned, or a new one."""
    try:
        return free.get_nowait()
    except Empty:
        size, index = len(names), names.dtype
        ways = (np.zeros(size, np.bool_), np.empty(size, index), np.zeros(size, np.bool_), np.empty(size, index))
        return Scratch(*ways, np.empty(size, np.int64))


def _over_parts(length: int, part: int, call: Callable[[slice], None]) -> None:
    """Call for each slice of `part` entries, on all cores."""
    over_items([slice(begin, begin + part) for begin in range(0, length, part)], call, parallel=length > part)


@njit(cache=True, nogil=True)
def _cut(
    bits: Array, entries: Array, backward: Array, src: Array, dst: Array, way: int, reachable: Array, decided: Array
) -> None:
    """Apply the cuts that a way of searching allows; SEARCH marks the queries that they do not decide."""
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


@njit(cache=True, nogil=True)
def _search(
    bits: Array, entries: Array, backward: Array, offsets: Array, indices: Array, into_offsets: Array, into_indices: Array,
    visited: Array, queue: Array, back_visited: Array, back_queue: Array, arcs: Array,
    src: Array, dst: Array, way: int, found: Array,
) -> None:  # fmt: skip
    """Search for every query."""
    for query in range(len(src)):
        u, v = src[query], dst[query]
        if way == _MEET:
            met, _, tail, back_tail = meet(
                bits, entries, backward, offsets, indices, into_offsets, into_indices,
                visited, queue, back_visited, back_queue, u, v,
            )  # fmt: skip
            found[query] = met >= 0
            reset(visited, queue, tail)
            reset(back_visited, back_queue, back_tail)
        elif way == _PRUNED_BFS:
            found[query] = breadth_first(entries, backward, offsets, indices, visited, queue, u, v)
        else:
            pruned = way == _PRUNED_DFS
            found[query] = depth_first(entries, backward, offsets, indices, visited, queue, back_queue, arcs, u, v, pruned)
