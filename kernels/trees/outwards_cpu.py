"""Float sums of `LANES` trees at a time on CPUs, rounded once per arc from the sources outwards, as `sssp` defines them.

A sweep over the hierarchy adds in another order, so its lengths may differ from these in their last digits. With slightly raised
weights they are upper bounds, which only arcs of shortest paths lower, or arcs that are as good but for rounding. Addition is
monotone, so any order of visits ends with the smallest sums.

Rows are sorted by their mean distance from the sources. A row whose length became smaller in any tree waits for a visit, in which
its arcs lower what they lead to: first once from the farthest row to the nearest one, then always the nearest row that waits. If
the sources are near each other, all trees together visit a row once or twice. Where that takes too many visits, rows are visited
in their order and back again, until none waits.
"""

from typing import Any

import numpy as np

from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.graph import Array
from kernels.trees.constants import LANES
from kernels.trees.vectors import lower

# Visits of a row, on average, until the order of visits changes, and until trees are left to searches, which take as long.
_FEW, _MOST = 6, 128
_WORD = 8  # rows whose flags are read at a time
_TINY = 2.0**-900  # means below it are taken for equal
_SAMPLE = 5  # of every so many trees one counts for the mean


class ThreadArrays:
    """Arrays of a thread.

    Attributes:
        place: For which the order was made; -1: for none.
        order (unsigned, index width [2, V]): Rows in the order of visits, and their places in it.
        keys (float64 [V]): Mean distances.
        waiting (uint64): Flags of 8 rows each that are to be visited; all are zero between calls.
    """

    def __init__(self, num_rows: int, row: np.dtype[Any]) -> None:
        self.place, self.order, self.keys = -1, np.empty((2, num_rows), f"u{row.itemsize}"), np.empty(num_rows)
        self.waiting = np.zeros(-(-num_rows // _WORD), np.uint64)


def add_outwards(out: Any, sources: Array, place: int, work: ThreadArrays, lengths: Array) -> None:
    """Lower upper bounds to the smallest sums along the graph's arcs.

    Args:
        out: Offsets, heads and weights of the graph's out-arcs.
        sources (int64 [LANES]): Rows of the sources.
        place: Where the sources are; calls with the same one share the order of visits.
        lengths (float64 [V * LANES]): In the order of rows. Where a limit of visits is exceeded, they stay upper bounds, which no
            proof accepts.
    """
    if place != work.place:
        work.place = place
        _sort(lengths, *work.order, work.keys)
    most = _FEW * len(work.keys), _MOST * len(work.keys)
    _lower_all(out, work.order, sources, lengths, work.waiting.view(np.bool_), work.waiting, most)


@njit(cache=True, nogil=True)
def _sort(lengths: Array, order: Array, places: Array, keys: Array) -> None:
    """Sort rows by their mean length over some trees that reach them, in units of which the largest one has as many as V."""
    largest = 0.0
    for row in range(len(order)):
        total, count = 0.0, 0
        for lane in range(0, LANES, _SAMPLE):
            length = lengths[row * LANES + lane]
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


@njit(cache=True, **UNCOUNTED)
def _lower_all(
    out: Any, orders: Array, sources: Array, lengths: Array, waits: Array, words: Array, most: tuple[int, int]
) -> None:  # fmt: skip
    """Lower all lengths as far as the arcs do; `waits` are the flags of which `words` consists, `most` the limits of visits."""
    for lane in range(LANES):
        lengths[sources[lane] * LANES + lane] = 0.0
        waits[orders[1, sources[lane]]] = True
    visits, word = 0, 0
    for number in range(len(words) - 1, -1, -1):
        if words[number]:
            visits += _visit(out, orders, number, True, lengths, waits)[0]
    while word < len(words) and visits < most[0]:
        if words[word]:
            count, lowest = _visit(out, orders, word, False, lengths, waits)
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
                visits += _visit(out, orders, word, backwards, lengths, waits)[0]
        backwards = not backwards
    words[:] = 0


@njit(cache=True, **UNCOUNTED)
def _visit(out: Any, orders: Array, word: int, backwards: bool, lengths: Array, waits: Array) -> tuple[int, int]:
    """Visit the rows of a word that wait; return their number, and the lowest place whose length became smaller."""
    (offsets, heads, weights), order, places = out, orders[0], orders[1]
    count, lowest = 0, len(waits)
    for step in range(_WORD):
        place = word * _WORD + (_WORD - 1 - step if backwards else step)
        if waits[place]:
            waits[place] = False
            count += 1
            row = np.int64(order[place])
            for arc in range(offsets[row], offsets[row + 1]):
                head = np.int64(heads[arc])
                smaller = lower(lengths, row * LANES, head * LANES, weights[arc])
                other = np.int64(places[head])
                waits[other] |= smaller
                lowest = min(lowest, int(other) if smaller else lowest)
    return count, lowest
