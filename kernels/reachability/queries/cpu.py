"""Queries on the CPU: the cuts first, in large parts over all cores, then searches for undecided queries, in small parts."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from kernels.answers import Condensation, ReachabilityIndex, Reached
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items
from kernels.cpu.spare import Spare
from kernels.graph import Array
from kernels.reachability.constants import POSITIVE_CUT, SAME, SEARCH
from kernels.reachability.queries.records import decide, records_of
from kernels.reachability.queries.search import breadth_first, meet, reset

_CUT_PART = 1 << 17  # queries, about a millisecond; fewer are not worth a thread
_SEARCH_PART = 1 << 8  # queries; so few that a part with long searches does not delay the end


class Scratch(NamedTuple):
    """What a core needs to search, [C] each: nodes visited and queued in both directions."""

    visited: Array
    queue: Array
    back_visited: Array
    back_queue: Array


def answer(index: ReachabilityIndex, src: Array, dst: Array) -> Reached:
    """Answer `kernels.reachability.reach` on NumPy arrays."""
    answers, records = answer_by_labels(index, src, dst), records_of(index)
    left, node = np.flatnonzero(answers.decided == SEARCH), index.condensation.node
    src, dst, reachable = node[np.asarray(src)[left]], node[np.asarray(dst)[left]], np.empty(len(left), np.bool_)

    def search(sides: list[Array], scratch: Scratch, part: slice) -> None:
        _search(*records, *sides, *scratch, src[part], dst[part], reachable[part])

    over_searches(index.condensation, len(left), search)
    answers.reachable[left] = reachable
    return answers


def answer_by_search(index: ReachabilityIndex, src: Array, dst: Array) -> Array:
    """Answer `kernels.reachability.reach_by_search` on NumPy arrays."""
    src, dst = checked_rows(index, src, dst)
    node, reachable = index.condensation.node, np.empty(len(src), np.bool_)

    def search(sides: list[Array], scratch: Scratch, part: slice) -> None:
        _search_all(sides[0], sides[1], scratch.visited, scratch.queue, node[src[part]], node[dst[part]], reachable[part])

    over_searches(index.condensation, len(src), search)
    return reachable


def answer_by_labels(index: ReachabilityIndex, src: Array, dst: Array) -> Reached:
    """The answers that labels decide; those of other queries, decided by SEARCH, are no. Raises as `reach`."""
    src, dst = checked_rows(index, src, dst)
    reachable, decided = np.empty(len(src), np.bool_), np.empty(len(src), np.uint8)
    records, node = records_of(index), frozen(index.condensation.node)

    def decide_part(part: slice) -> None:
        _cut(*records, node[src[part]], node[dst[part]], reachable[part], decided[part])

    _over_parts(len(src), _CUT_PART, decide_part)
    return Reached(reachable, decided)


def checked_rows(index: ReachabilityIndex, src: Array, dst: Array) -> tuple[Array, Array]:
    """Rows as NumPy arrays. Raises as `reach`."""
    src, dst = (_checked(rows, len(index.condensation.node)) for rows in (src, dst))
    if len(src) != len(dst):
        raise ValueError(f"reach: {len(src)} sources, {len(dst)} destinations")
    return src, dst


def over_searches(condensation: Condensation, count: int, search: Callable[[list[Array], Scratch, slice], None]) -> None:
    """Call `search(arrays of children and parents, scratch, part)` for parts of `count` queries, on all cores."""
    sides = [frozen(array) for csr in (condensation.children, condensation.parents) for array in (csr.offsets, csr.indices)]
    spare = Spare(partial(_scratch, condensation.names))

    def call(part: slice) -> None:
        scratch = spare.take()
        search(sides, scratch, part)
        spare.release(scratch)

    _over_parts(count, _SEARCH_PART, call)


def _checked(rows: Array, num_rows: int) -> Array:
    rows = np.asarray(rows)
    if rows.dtype.kind not in "iu":
        raise TypeError(f"reach: rows are {rows.dtype}, not integers")
    if len(rows) and not (rows.min() >= 0 and rows.max() < num_rows):
        row = rows[(rows < 0) | (rows >= num_rows)][0]
        raise IndexError(f"row {row} is not in 0..{num_rows - 1}, the rows of this graph")
    return rows


def _scratch(names: Array) -> Scratch:
    size, index = len(names), names.dtype
    return Scratch(np.zeros(size, np.bool_), np.empty(size, index), np.zeros(size, np.bool_), np.empty(size, index))


def _over_parts(length: int, part: int, call: Callable[[slice], None]) -> None:
    """Call for each slice of `part` entries, on all cores."""
    over_items([slice(begin, begin + part) for begin in range(0, length, part)], call, parallel=length > part)


@njit(cache=True, nogil=True)
def _cut(bits: Array, entries: Array, backward: Array, src: Array, dst: Array, reachable: Array, decided: Array) -> None:
    """Apply all cuts; SEARCH marks the queries that they do not decide."""
    for query in range(len(src)):
        by = decide(bits, entries, backward, src[query], dst[query])
        decided[query] = by
        reachable[query] = (by == SAME) | (by == POSITIVE_CUT)


@njit(cache=True, nogil=True)
def _search(
    bits: Array, entries: Array, backward: Array, offsets: Array, indices: Array, into_offsets: Array, into_indices: Array,
    visited: Array, queue: Array, back_visited: Array, back_queue: Array, src: Array, dst: Array, reachable: Array,
) -> None:  # fmt: skip
    """Search for every query, with all cuts."""
    for query in range(len(src)):
        met, _, tail, back_tail = meet(
            bits, entries, backward, offsets, indices, into_offsets, into_indices,
            visited, queue, back_visited, back_queue, src[query], dst[query],
        )  # fmt: skip
        reachable[query] = met >= 0
        reset(visited, queue, tail)
        reset(back_visited, back_queue, back_tail)


@njit(cache=True, nogil=True)
def _search_all(offsets: Array, indices: Array, visited: Array, queue: Array, src: Array, dst: Array, reachable: Array) -> None:
    for query in range(len(src)):
        reachable[query] = breadth_first(offsets, indices, visited, queue, src[query], dst[query])
