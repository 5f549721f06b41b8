"""Sweeps on CPUs for `LANES` trees at a time: position p has the lengths `p * LANES` and following."""

from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.trees.constants import LANES
from kernels.trees.vectors import copy, fill, relax


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
def mark_above(offsets: Array, tails: Array, marked: Array) -> None:
    """Mark all positions from which arcs lead to marked ones."""
    for row in range(len(marked) - 1, -1, -1):
        if marked[row]:
            for arc in range(offsets[row], offsets[row + 1]):
                marked[tails[arc]] = True
