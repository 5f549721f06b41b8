"""Core numbers on all cores, as the fixpoint of h-indices.

Every row has a bound of its core number, at first its number of neighbours. A row whose bound is c is lowered to the largest h
such that h neighbours have bounds of h or more, unless c of them have c or more. In any order this ends at the core numbers, if
each row is looked at again after a neighbour was lowered beneath its bound.

Source: Lü, Zhou, Zhang, Stanley, The H-index of a Network Node and its Relation to Degree and Coreness, Nature Communications 7,
2016. Rows at any time: Sariyüce, Seshadhri, Pinar, Local Algorithms for Hierarchical Dense Subgraph Discovery, VLDB 2018.
"""

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import WORTH_A_THREAD, differences, elementwise, over_items, ranges_of_rows, running_sums, worth_threads
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.neighbours import neighbours


def solve(graph: Graph) -> Array:
    """Answer `kernels.cores.cores` on NumPy arrays: int64 [V]."""
    around = neighbours(graph)
    bounds = elementwise(lambda degrees: degrees, differences(around.offsets), dtype=graph.rows_by_id.dtype)
    # the last rows first, which have the fewest arcs
    settle(around, bounds, np.arange(graph.num_vertices)[::-1].copy(), graph.num_vertices)
    return elementwise(lambda bounds: bounds, bounds, dtype=OFFSET)


def settle(around: Csr, bounds: Array, rows: Array, num_own: int) -> None:
    """Lower the bounds of rows to their fixpoint, from `rows` on, integers that are distinct.

    Args:
        around: Neighbours.
        bounds (index width [V]): Lowered in place; not those of the rows from `num_own` on.
    """
    arcs = frozen(around.offsets), frozen(around.indices)
    waiting = np.zeros(num_own, np.bool_)
    while len(rows):
        degrees = around.offsets[rows + 1] - around.offsets[rows]
        if not worth_threads(int(degrees.sum())):
            most = WORTH_A_THREAD if worth_threads(WORTH_A_THREAD) else np.iinfo(OFFSET).max
            rows = _follow(arcs, bounds, rows, waiting, most)
            continue
        before = bounds[rows]
        parts = ranges_of_rows(running_sums(degrees))
        of_parts = [(rows[slice(*part)], before[slice(*part)]) for part in parts]
        over_items(of_parts, lambda part: _lower(arcs, bounds, part[0]))
        over_items(of_parts, lambda part: _tell(arcs, bounds, *part, waiting))
        rows = np.flatnonzero(waiting)
        waiting[rows] = False


@njit(cache=True, nogil=True)
def _lowered(arcs: tuple[Array, Array], bounds: Array, row: int, counts: Array) -> int:
    """The bound of a row by those of its neighbours; `counts` has an entry for each number up to the old one."""
    offsets, indices = arcs
    old: int = bounds[row]
    enough = 0
    for arc in range(offsets[row], offsets[row + 1]):
        enough += bounds[indices[arc]] >= old
        if enough == old:
            return old
    counts[: old + 1] = 0
    for arc in range(offsets[row], offsets[row + 1]):
        counts[min(bounds[indices[arc]], old)] += 1
    lowered = old
    enough = counts[old]
    while enough < lowered:
        lowered -= 1
        enough += counts[lowered]
    return lowered


@njit(cache=True, nogil=True)
def _lower(arcs: tuple[Array, Array], bounds: Array, rows: Array) -> None:
    """Lower the bounds of rows, while other threads lower those of other rows."""
    most = 0
    for row in rows:
        most = max(most, bounds[row])
    counts = np.empty(most + 1, np.int64)
    for row in rows:
        bounds[row] = _lowered(arcs, bounds, row, counts)


@njit(cache=True, nogil=True)
def _tell(arcs: tuple[Array, Array], bounds: Array, rows: Array, before: Array, waiting: Array) -> None:
    """Let the neighbours wait whose bounds are above the new one of a row, and were not above the one before; no bound changes.

    Such a neighbour, even if it was lowered at the same time, may have counted the row.
    """
    offsets, indices = arcs
    for i, row in enumerate(rows):
        if bounds[row] < before[i]:
            for arc in range(offsets[row], offsets[row + 1]):
                other = indices[arc]
                if other < len(waiting) and bounds[row] < bounds[other] <= before[i]:
                    waiting[other] = True


@njit(cache=True, nogil=True)
def _follow(arcs: tuple[Array, Array], bounds: Array, rows: Array, waiting: Array, most: int) -> Array:
    """Lower bounds on one core, first come, first served, until no row waits, or those that do have more than `most` neighbours.

    Returns:
        The rows that wait. `waiting` is false for all rows before and after.
    """
    offsets, indices = arcs
    queue, counts = np.empty(max(len(waiting), 1), np.int64), np.empty(bounds[rows].max() + 1, np.int64)
    length, first, left = len(rows), 0, 0
    for i, row in enumerate(rows):
        queue[i], waiting[row] = row, True
        left += offsets[row + 1] - offsets[row]
    while length and left <= most:
        row = queue[first]
        first, length = (first + 1) % len(queue), length - 1
        waiting[row] = False
        left -= offsets[row + 1] - offsets[row]
        old = bounds[row]
        if old >= len(counts):
            counts = np.empty(old + 1, np.int64)
        lowered = _lowered(arcs, bounds, row, counts)
        bounds[row] = lowered
        if lowered == old:
            continue
        for arc in range(offsets[row], offsets[row + 1]):
            other = indices[arc]
            if other < len(waiting) and lowered < bounds[other] <= old and not waiting[other]:
                waiting[other] = True
                queue[(first + length) % len(queue)] = other
                length += 1
                left += offsets[other + 1] - offsets[other]
    rest = np.empty(length, np.int64)
    for i in range(length):
        rest[i] = queue[(first + i) % len(queue)]
        waiting[rest[i]] = False
    return rest
