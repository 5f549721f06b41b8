"""Compiled loops of the sweeps on CPUs, for `LANES` trees at a time: position p has the lengths `p * LANES` and following."""

from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.trees.constants import LANES
from kernels.trees.vectors import any_unusual, copy, examine, fill, relax, transpose


@njit(cache=True, nogil=True)
def search_up(up: Any, starts: Array, far: Any, lengths: Array, touched: Array, queue: Array) -> int:
    """Set the lengths of all positions that `starts` [LANES] reach upwards, and list these, ascending, in `queue`.

    Positions are visited in descending order, so a length is final when it is used.

    Args:
        up: Offsets, heads and weights of the arcs upwards.
        lengths ([V * LANES]): Lengths of positions that are not listed stay as they are.
        touched (bool [V]): False; true afterwards for what is listed.

    Returns the number of listed positions.
    """
    offsets, heads, weights = up
    count = 0
    for start in starts:
        if not touched[start]:
            touched[start] = True
            queue[count] = start
            count += 1
    done = 0
    while done < count:
        near = queue[done]
        done += 1
        for arc in range(offsets[near], offsets[near + 1]):
            if not touched[heads[arc]]:
                touched[heads[arc]] = True
                queue[count] = heads[arc]
                count += 1
    queue[:count] = np.sort(queue[:count])
    for near in queue[:count]:
        fill(lengths, near * LANES, far)
    for lane in range(LANES):
        lengths[starts[lane] * LANES + lane] = 0
    for place in range(count - 1, -1, -1):
        near = queue[place]
        for arc in range(offsets[near], offsets[near + 1]):
            relax(lengths, near * LANES, heads[arc] * LANES, weights[arc])
    return count


@njit(cache=True, nogil=True)
def sweep_down(down: Any, chosen: Array | None, far: Any, lengths: Array, touched: Array) -> None:
    """Set the lengths of all positions; or of those that are `chosen` [n], ascending, with all that have arcs to them.

    Args:
        down: Offsets, tails and weights of the arcs from above.
        lengths ([V * LANES]), touched ([V]): As `search_up` leaves them.
    """
    offsets, tails, weights = down
    for place in range(len(offsets) - 1 if chosen is None else len(chosen)):
        row = place if chosen is None else chosen[place]
        if not touched[row]:
            fill(lengths, row * LANES, far)
        for arc in range(offsets[row], offsets[row + 1]):
            relax(lengths, tails[arc] * LANES, row * LANES, weights[arc])


@njit(cache=True, nogil=True)
def to_rows(positions: Array, lengths: Array, by_row: Array) -> None:
    """Lengths in the order of rows, in which neighbours are near each other in memory."""
    for row in range(len(positions)):
        copy(by_row, row * LANES, lengths, positions[row] * LANES)


@njit(cache=True, nogil=True)
def prove(
    into: Any, sources: Array, far: Any, lengths: Array, distances: Array, predecessors: Array | None
) -> tuple[Array, Array]:
    """Prove lengths by the rules of `kernels.paths.certificate`, and write the trees.

    Args:
        into: Offsets, tails and weights of the graph's in-arcs, which ascend by the tails' external ids.
        sources ([k]): Rows of the sources of the first k lanes.
        lengths ([V * LANES]): In the order of rows.
        distances, predecessors ([k, V]): Of these lanes; what is not reached gets UNREACHED and NO_ROW.

    Returns whether each lane has a loose arc, and its number of reached rows, the source included, that have no tight arc from a
    nearer row (int64), which is 1 if the lane is proved; both [LANES].
    """
    offsets, tails, weights = into
    found = np.empty(2 * LANES * LANES, lengths.dtype)
    loose, first = np.zeros(LANES, np.bool_), np.zeros(LANES, np.int64)
    num_rows = len(offsets) - 1
    for begin in range(0, num_rows, LANES):
        end = min(begin + LANES, num_rows)
        for row in range(begin, end):
            place = (row - begin) * 2 * LANES
            fill(found, place, far)
            fill(found, place + LANES, far)
            for arc in range(offsets[row + 1], offsets[row], -1):  # backwards: the last tight arc has the smallest id
                tail = tails[arc - 1]
                examine(lengths, (tail * LANES, row * LANES, place), weights[arc - 1], tail, found)
            if any_unusual(lengths, row * LANES, found, place, far):
                _examine_lanes(into, far, lengths, row, found[place : place + 2 * LANES], loose, first)
        _write(lengths, (begin * LANES, LANES), far, distances, (begin, end))
        if predecessors is not None:
            _write(found, (0, 2 * LANES), far, predecessors, (begin, end))
    for lane in range(len(sources)):
        loose[lane] |= lengths[sources[lane] * LANES + lane] != 0
    return loose, first


@njit(cache=True, nogil=True)
def _write(origin: Array, vectors: tuple[int, int], far: Any, target: Array, rows: tuple[int, int]) -> None:
    """Write the vectors of some rows, which begin and follow each other as `vectors` says, to `target` [k, V]."""
    (begin, end), (first, apart) = rows, vectors
    if len(target) == LANES and end - begin == LANES:
        transpose(origin, (first, apart), far, target.reshape(-1), (begin, target.shape[1]))
        return
    for lane in range(len(target)):
        for row in range(begin, end):
            value = origin[first + (row - begin) * apart + lane]
            target[lane, row] = target.dtype.type(value) if value < far else target.dtype.type(-1)


@njit(cache=True, nogil=True)
def _examine_lanes(into: Any, far: Any, lengths: Array, row: int, found: Array, loose: Array, first: Array) -> None:
    """Judge the lanes of a row one by one."""
    offsets, tails, _ = into
    for lane in range(LANES):
        length = lengths[row * LANES + lane]
        loose[lane] |= found[LANES + lane] < length
        first[lane] += (length < far) & (found[lane] == far)
        if length == far:
            found[lane] = far
            for arc in range(offsets[row], offsets[row + 1]):
                loose[lane] |= lengths[tails[arc] * LANES + lane] < far


@njit(cache=True, nogil=True)
def mark_above(offsets: Array, tails: Array, marked: Array) -> None:
    """Mark all positions from which arcs lead to marked ones."""
    for row in range(len(marked) - 1, -1, -1):
        if marked[row]:
            for arc in range(offsets[row], offsets[row + 1]):
                marked[tails[arc]] = True


@njit(cache=True, nogil=True)
def sum_again(into: Any, source: int, tentative: Array, lengths: Array) -> None:
    """Set lengths (inf [V]) to sums from the source outwards, along the tentatively shortest arcs from nearer rows."""
    offsets, tails, weights = into
    seen, chain, chosen = np.zeros(len(lengths), np.bool_), np.empty(len(lengths), np.int64), np.empty(len(lengths), np.int64)
    seen[source], lengths[source] = True, 0.0
    for row in range(len(lengths)):
        size, here = 0, np.int64(row)
        while not seen[here]:
            seen[here] = True
            best, least = np.int64(-1), np.inf
            for arc in range(offsets[here], offsets[here + 1]):
                total = tentative[tails[arc]] + weights[arc]
                if tentative[tails[arc]] < tentative[here] and total < least:
                    best, least = np.int64(arc), total
            if best < 0:
                break
            chain[size], chosen[size] = here, best
            size += 1
            here = np.int64(tails[best])
        for place in range(size - 1, -1, -1):
            lengths[chain[place]] = lengths[tails[chosen[place]]] + weights[chosen[place]]


@njit(cache=True, nogil=True)
def loose_tails(into: Any, lengths: Array) -> Array:
    """Tails of the arcs that shorten a path; a tail may be there twice."""
    offsets, tails, weights = into
    found, count = np.empty(len(tails), np.int64), 0
    for row in range(len(lengths)):
        for arc in range(offsets[row], offsets[row + 1]):
            if lengths[tails[arc]] + weights[arc] < lengths[row]:
                found[count] = tails[arc]
                count += 1
    return found[:count]
