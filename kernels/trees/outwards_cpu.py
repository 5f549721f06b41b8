"""Float sums of `LANES` trees at a time on CPUs, rounded once per arc from the sources outwards, as `sssp` defines them.

A sweep over the hierarchy adds in another order, so its lengths may differ from these in their last digits. Slightly raised, they
are upper bounds, which only arcs of shortest paths lower, or arcs that are as good but for rounding. Addition is monotone, so any
order of visits ends with the smallest sums.

Rows are sorted by their mean distance from the sources. A row whose length became smaller in any tree waits for a visit, in which
its arcs lower what they lead to: first once from the farthest row to the nearest one, then always the nearest row that waits. If
the sources are near each other, all trees together visit a row once or twice. Where that takes too many visits, rows are visited
in their order and back again, until none waits.
"""

from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.trees.constants import LANES, RAISED, RAISED_BY
from kernels.trees.vectors import copy, lower, scale

# Visits of a row, on average, until the order of visits changes, and until trees are left to searches, which take as long.
_FEW, _MOST = 6, 128
_WORD = 8  # rows whose flags are read at a time
_TINY = 2.0**-900  # means below it are taken for equal
_SAMPLE = 5  # of every so many trees one counts for the mean


class Work:
    """Arrays of a thread.

    Attributes:
        place: For which the order was made; -1: for none.
        order (unsigned, index width [2, V]): Rows in the order of visits, and their places in it.
        keys (float64 [V]): Mean distances.
        lengths (float64 [V * LANES]): In that order.
        arcs: Offsets, heads and weights of arcs in that order.
        waiting (uint64): Flags of 8 rows each that are to be visited; all are zero between calls.
    """

    def __init__(self, num_rows: int, num_arcs: int, row: np.dtype[Any]) -> None:
        kind, self.place = f"u{row.itemsize}", -1
        self.order, self.keys, self.lengths = np.empty((2, num_rows), kind), np.empty(num_rows), np.empty(num_rows * LANES)
        self.arcs = np.empty(num_rows + 1, np.uint64), np.empty(num_arcs, kind), np.empty(num_arcs)
        self.waiting = np.zeros(-(-num_rows // _WORD), np.uint64)


def add_outwards(out: Any, found: tuple[Array, Array], sources: Array, place: int, work: Work, by_row: Array) -> None:
    """Write the smallest sums along the graph's arcs.

    Args:
        out: Offsets, heads and weights of the graph's out-arcs.
        found: Positions of rows in the hierarchy ([V]), and right lengths but for rounding by position (float64 [V * LANES]).
        sources (int64 [LANES]): Rows of the sources.
        place: Where the sources are; calls with the same one share the order of visits.
        by_row (float64 [V * LANES]): Results. Where a limit of visits is exceeded, they are upper bounds, which no proof accepts.
    """
    (positions, swept), (order, places) = found, work.order
    if place != work.place:
        work.place = place
        _sort(positions, swept, order, places, work.keys)
        _renumber(out, order, places, *work.arcs)
    _raise(positions, swept, order, work.lengths)
    most = _FEW * len(places), _MOST * len(places)
    _lower_all(work.arcs, places[sources], work.lengths, work.waiting.view(np.bool_), work.waiting, most)
    _to_rows(places, work.lengths, by_row)


@njit(cache=True, nogil=True)
def _sort(positions: Array, swept: Array, order: Array, places: Array, keys: Array) -> None:
    """Sort rows by their mean length over some trees that reach them, in units of which the largest one has as many as V."""
    largest = 0.0
    for row in range(len(order)):
        total, count = 0.0, 0
        for lane in range(0, LANES, _SAMPLE):
            length = swept[positions[row] * LANES + lane]
            if length < np.inf:
                total += length / LANES
                count += 1
        keys[row] = total / max(count, 1)
        largest = max(largest, keys[row])
    last = len(order) - 1
    unit = last / largest if largest > _TINY else 0.0
    ends = np.zeros(len(order) + 1, np.int64)
    for row in range(len(order)):
        places[row] = min(int(keys[row] * unit), last)
        ends[places[row] + 1] += 1
    ends = np.cumsum(ends)
    for row in range(len(order)):
        key = places[row]
        places[row] = ends[key]
        order[ends[key]] = row
        ends[key] += 1


@njit(cache=True, nogil=True)
def _renumber(out: Any, order: Array, places: Array, starts: Array, others: Array, lasting: Array) -> None:
    """Write the arcs in the order of visits."""
    offsets, heads, weights = out
    count = 0
    for place in range(len(order)):
        starts[place] = count
        for arc in range(offsets[order[place]], offsets[order[place] + 1]):
            others[count], lasting[count] = places[heads[arc]], weights[arc]
            count += 1
    starts[len(order)] = count


@njit(cache=True, nogil=True)
def _raise(positions: Array, swept: Array, order: Array, lengths: Array) -> None:
    """Write upper bounds in the order of visits."""
    for place in range(len(order)):
        copy(lengths, place * LANES, swept, positions[order[place]] * LANES)
        scale(lengths, place * LANES, RAISED, RAISED_BY)


@njit(cache=True, nogil=True)
def _lower_all(arcs: Any, sources: Array, lengths: Array, waits: Array, words: Array, most: tuple[int, int]) -> None:
    """Lower all lengths as far as the arcs do; `waits` are the flags of which `words` consists, `most` the limits of visits."""
    for lane in range(LANES):
        lengths[sources[lane] * LANES + lane] = 0.0
        waits[sources[lane]] = True
    visits, word = 0, 0
    for number in range(len(words) - 1, -1, -1):
        if words[number]:
            visits += _visit(arcs, number, True, lengths, waits)[0]
    while word < len(words) and visits < most[0]:
        if words[word]:
            count, lowest = _visit(arcs, word, False, lengths, waits)
            visits += count
            word = min(word, lowest // _WORD)
        else:
            word += 1
    backwards, before = True, -1
    while before < visits < most[1]:
        before = visits
        for number in range(len(words)):
            word = len(words) - 1 - number if backwards else number
            if words[word]:
                visits += _visit(arcs, word, backwards, lengths, waits)[0]
        backwards = not backwards
    words[:] = 0


@njit(cache=True, nogil=True)
def _visit(arcs: Any, word: int, backwards: bool, lengths: Array, waits: Array) -> tuple[int, int]:
    """Visit the rows of a word that wait; return their number, and the lowest place whose length became smaller."""
    offsets, heads, weights = arcs
    count, lowest = 0, len(waits)
    for step in range(_WORD):
        place = word * _WORD + (_WORD - 1 - step if backwards else step)
        if waits[place]:
            waits[place] = False
            count += 1
            for arc in range(offsets[place], offsets[place + 1]):
                head = np.int64(heads[arc])
                smaller = lower(lengths, place * LANES, head * LANES, weights[arc])
                waits[head] |= smaller
                lowest = min(lowest, int(head) if smaller else lowest)
    return count, lowest


@njit(cache=True, nogil=True)
def _to_rows(places: Array, lengths: Array, by_row: Array) -> None:
    for row in range(len(places)):
        copy(by_row, row * LANES, lengths, places[row] * LANES)
