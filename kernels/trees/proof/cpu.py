"""The proof of `LANES` swept trees at a time on CPUs, which also finds their predecessors."""

import math
from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.trees.constants import LANES
from kernels.trees.vectors import copy, examine_row, transpose

_ROUNDS = 64  # arcs of length zero in a row: longer paths of them are left to a search


@njit(cache=True, nogil=True)
def prove(
    into: Any, sources: Array, far: Any, lengths: Array, numbers: Array, distances: Array | None, predecessors: Array | None,
    joins: Array | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Prove lengths by the rules of `kernels.paths.certificate`, and write the trees.

    Args:
        into: Offsets, tails and weights of the graph's in-arcs, which ascend by the tails' external ids.
        sources ([k]): Rows of the sources of the first k lanes.
        lengths ([V * LANES]): In the order of rows.
        numbers (int64 [k]): Of the lanes' trees in `distances` and `predecessors`.
        distances, predecessors ([n, V]), if they are wanted: What is not reached gets UNREACHED and NO_ROW.
        joins (bool [V]): As `kernels.trees.swept.joins`, if there are some.

    Returns whether each lane has a loose arc or a value that is no length, and its number of reached rows (int64) whose path to
    the source the proof has not found, which is 0 if the lane is proved; both [LANES].
    """
    offsets, tails, weights = into
    beyond = 2 * LANES * LANES  # where a vector of `far` stays
    tight = np.full(beyond + LANES, far, lengths.dtype)
    loose, open_rows = np.zeros(LANES, np.bool_), np.zeros(LANES, np.int64)
    num_rows, waits = len(offsets) - 1, 0
    waiting = np.empty(num_rows * LANES, np.int64)  # pages that are not used cost nothing
    for begin in range(0, num_rows, LANES):
        end = min(begin + LANES, num_rows)
        for row in range(begin, end):
            place = (row - begin) * 2 * LANES
            first, last, join = np.intp(offsets[row]), np.intp(offsets[row + 1]), np.intp(joins is not None and joins[row])
            unusual = examine_row(lengths, (row * LANES, place, first, last, join, beyond), tails, weights, tight)
            if unusual and (first < last or _any_reached(lengths, row, far)):
                waits = _examine_lanes(into, far, lengths, row, tight[place : place + 2 * LANES], loose, waiting, waits)
        if distances is not None:
            _write(lengths, (begin * LANES, LANES), far, numbers, distances, (begin, end))
        if predecessors is not None:
            _write(tight, (0, 2 * LANES), far, numbers, predecessors, (begin, end))
    for lane in range(len(sources)):
        loose[lane] |= lengths[sources[lane] * LANES + lane] != 0
    marked = np.zeros(num_rows if waits > len(sources) else 0, np.bool_)
    for lane in range(len(sources)):
        if len(marked):
            rows = waiting[:waits][waiting[:waits] % LANES == lane] // LANES
            rows = rows[rows != sources[lane]]
            stated = None if predecessors is None else predecessors[numbers[lane]]
            open_rows[lane] = _follow_zero_steps(into, lane, rows, lengths, marked, stated)
    return loose, open_rows


@njit(cache=True, nogil=True)
def _any_reached(lengths: Array, row: int, far: Any) -> bool:
    reached = False
    for lane in range(LANES):
        reached |= lengths[row * LANES + lane] != far
    return reached


@njit(cache=True, nogil=True)
def _examine_lanes(into: Any, far: Any, lengths: Array, row: int, tight: Array, loose: Array, waiting: Array, waits: int) -> int:
    """Judge the lanes of a row one by one; list the lengths without a tight arc from a nearer row, and return their number.

    NaN, a negative number and -0.0 are no lengths: like a loose arc they break the proof.
    """
    offsets, tails, _ = into
    for lane in range(LANES):
        length = lengths[row * LANES + lane]
        loose[lane] |= tight[LANES + lane] < length or not length <= far or math.copysign(1.0, length) < 0
        if (length < far) & (tight[lane] == far):
            waiting[waits] = row * LANES + lane
            waits += 1
        if length == far:
            tight[lane] = far
            for arc in range(offsets[row], offsets[row + 1]):
                loose[lane] |= lengths[tails[arc] * LANES + lane] < far
    return waits


@njit(cache=True, nogil=True)
def _follow_zero_steps(into: Any, lane: int, rows: Array, lengths: Array, marked: Array, predecessors: Array | None) -> int:
    """Find the predecessors of `rows` [n], along arcs of length zero from all other rows; return how many have none.

    In a round, a row takes the first tail that did not wait when the round began, which is one step nearer to such rows.
    """
    offsets, tails, weights = into
    marked[rows] = True
    nearest, left, before = np.empty(len(rows), np.int64), len(rows), len(rows) + 1
    rounds = 0
    while left < before and rounds < _ROUNDS:
        before, rounds = left, rounds + 1
        for place in range(before):
            row = rows[place]
            nearest[place] = -1
            for arc in range(offsets[row], offsets[row + 1]):
                near, far = lengths[tails[arc] * LANES + lane], lengths[row * LANES + lane]
                if near == far and not marked[tails[arc]] and lengths.dtype.type(near + weights[arc]) == far:
                    nearest[place] = tails[arc]
                    break
        left = 0
        for place in range(before):
            row = rows[place]
            if nearest[place] < 0:
                rows[left] = row
                left += 1
            else:
                marked[row] = False
                if predecessors is not None:
                    predecessors[row] = nearest[place]
    marked[rows[:left]] = False
    return left


@njit(cache=True, nogil=True)
def write_some(lengths: Array, rows: Array, far: Any, numbers: Array, distances: Array) -> None:
    """Write the lengths of `rows` [T] as `prove` writes all, to `distances` [n, T]."""
    some = np.empty(LANES * LANES, lengths.dtype)
    for begin in range(0, len(rows), LANES):
        end = min(begin + LANES, len(rows))
        for place in range(begin, end):
            copy(some, (place - begin) * LANES, lengths, rows[place] * LANES)
        _write(some, (0, LANES), far, numbers, distances, (begin, end))


@njit(cache=True, nogil=True)
def _write(
    origin: Array, vectors: tuple[int, int], far: Any, numbers: Array, target: Array, rows: tuple[int, int]
) -> None:  # fmt: skip
    """Write the vectors of some rows, which begin and follow each other as `vectors` says, to trees of `target` [n, V]."""
    (begin, end), (first, apart) = rows, vectors
    if len(numbers) == LANES and end - begin == LANES:
        transpose(origin, (first, apart), far, target.reshape(-1), (begin, target.shape[1], numbers))
        return
    for lane, number in enumerate(numbers):
        for row in range(begin, end):
            value = origin[first + (row - begin) * apart + lane]
            target[number, row] = target.dtype.type(value) if value < far else target.dtype.type(-1)
