"""Reductions of trees on all cores; `kernels.reductions` defines them. Threads write to their own trees or rows only."""

from collections.abc import Callable
from functools import partial

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import cores, over_items, ranges, worth_threads
from kernels.graph import Array, Csr
from kernels.reductions.constants import BITS


def measure(distances: Array) -> tuple[Array, Array, Array, Array]:
    """Number of distances, the largest one, and the sums of their upper and lower 32 bits; arrays [k]."""
    reached, high, low = np.zeros((3, len(distances)), np.int64)
    farthest = np.zeros(len(distances), distances.dtype)
    work = _measure_floats if distances.dtype.kind == "f" else _measure
    _over_trees(distances, partial(work, frozen(np.ascontiguousarray(distances)), reached, farthest, high, low))
    return reached, farthest, high, low


def sums_of_floats(distances: Array, scales: Array) -> tuple[Array, Array]:
    """Sums of the upper and lower integers of each tree's distances, times `scales`, float64 [k]."""
    high, low = np.zeros((2, len(distances)), np.int64)
    _over_trees(distances, partial(_sum_floats, frozen(np.ascontiguousarray(distances)), scales, high, low))
    return high, low


def within(distances: Array, thresholds: Array, columns: Array) -> Array:
    """See `kernels.reductions.within`."""
    counts = np.zeros((len(distances), len(thresholds), 1 + len(columns)), np.int64)
    arrays = map(frozen, (np.ascontiguousarray(distances), thresholds, columns))
    _over_trees(distances, partial(_within, *arrays, counts))
    return counts


def insert(distances: Array, facilities: Array, distance: Array, facility: Array) -> None:
    """See `kernels.reductions.Nearest.add`; `distance` and `facility` are its arrays."""
    arrays = frozen(np.ascontiguousarray(distances)), frozen(facilities)
    over_items(ranges(distances.shape[1], distances.size), lambda rows: _insert(*arrays, distance, facility, *rows))


def load(into: Csr, predecessors: Array, demand: Array | None, loads: Array) -> None:
    """See `kernels.reductions.ArcLoads.add`; `loads` is its array. Each thread has an array of loads of its own."""
    trees = np.ascontiguousarray(predecessors)
    demand = np.zeros(0, np.int64) if demand is None else demand
    arrays = frozen(into.offsets), frozen(into.indices), frozen(trees), frozen(demand)

    def of_thread(own: Array, begin: int, end: int) -> None:
        _load(*arrays, own, np.empty((2, trees.shape[1]), np.int64), begin, end)

    _by_threads(len(trees), worth_threads(trees.size), of_thread, loads)


def load_paths(into: Csr, predecessors: Array, trees: Array, heads: Array, amounts: Array, loads: Array) -> None:
    """See `kernels.reductions.ArcLoads.add_paths`; as `load`."""
    before = np.ascontiguousarray(predecessors)
    first = np.searchsorted(trees, np.arange(len(before) + 1))
    arrays = tuple(map(frozen, (into.offsets, into.indices, before, first, heads, amounts)))

    def of_thread(own: Array, begin: int, end: int) -> None:
        size = before.shape[1]
        scratch = np.zeros(size, np.bool_), np.zeros(size, np.int64), np.empty(size, heads.dtype), np.empty(size, heads.dtype)
        _load_paths(*arrays, own, *scratch, begin, end)

    _by_threads(len(before), worth_threads(before.size), of_thread, loads)


def _by_threads(trees: int, worth: bool, add: Callable[[Array, int, int], None], loads: Array) -> None:
    """Let `add(loads, begin, end)` add ranges of trees to `loads`, or to other arrays that are added to it."""
    threads = min(cores(), trees) if worth else 1

    def of_thread(number: int) -> Array:
        own = np.zeros_like(loads) if number else loads
        add(own, trees * number // threads, trees * (number + 1) // threads)
        return own

    for own in over_items(range(threads), of_thread)[1:]:
        loads += own


def _over_trees(distances: Array, work: partial[None]) -> None:
    over_items(ranges(len(distances), distances.size), lambda trees: work(*trees))


@njit(cache=True, nogil=True)
def _measure(distances: Array, reached: Array, farthest: Array, high: Array, low: Array, begin: int, end: int) -> None:
    for tree in range(begin, end):
        for distance in distances[tree]:
            if distance >= 0:
                reached[tree] += 1
                high[tree] += np.int64(distance) >> 32
                low[tree] += np.int64(distance) & 0xFFFFFFFF
                farthest[tree] = max(farthest[tree], distance)


@njit(cache=True, nogil=True)
def _measure_floats(distances: Array, reached: Array, farthest: Array, _: Array, __: Array, begin: int, end: int) -> None:
    """Local sums without branches become vector instructions; floats that are not negative order as their bits do."""
    for tree in range(begin, end):
        of_tree, bits, count, most = distances[tree], distances[tree].view(np.int64), 0, 0
        for row in range(len(bits)):
            count += int(of_tree[row] >= 0)
            most = max(most, int(bits[row]))
        reached[tree], farthest.view(np.int64)[tree] = count, most


@njit(cache=True, nogil=True)
def _sum_floats(distances: Array, scales: Array, high: Array, low: Array, begin: int, end: int) -> None:
    for tree in range(begin, end):
        scale, upper_sum, lower_sum = scales[tree], 0, 0
        for distance in distances[tree]:
            scaled = (distance if distance >= 0 else 0.0) * scale
            upper = np.floor(scaled)
            upper_sum += int(upper)
            lower_sum += int(np.floor((scaled - upper) * 2.0**BITS))
        high[tree], low[tree] = upper_sum, lower_sum


@njit(cache=True, nogil=True)
def _within(distances: Array, thresholds: Array, columns: Array, counts: Array, begin: int, end: int) -> None:
    for tree in range(begin, end):
        for row, distance in enumerate(distances[tree]):
            if distance >= 0:
                for place, threshold in enumerate(thresholds):
                    if distance <= threshold:
                        counts[tree, place, 0] += 1
                        for column in range(len(columns)):
                            counts[tree, place, 1 + column] += columns[column, row]


@njit(cache=True, nogil=True)
def _insert(distances: Array, facilities: Array, nearest: Array, facility: Array, begin: int, end: int) -> None:
    last = len(nearest) - 1
    for row in range(begin, end):
        for number in range(len(facilities)):
            distance = distances[number, row]
            if distance < 0 or 0 <= nearest[last, row] <= distance:
                continue
            place = last
            while place > 0 and not 0 <= nearest[place - 1, row] <= distance:
                nearest[place, row], facility[place, row] = nearest[place - 1, row], facility[place - 1, row]
                place -= 1
            nearest[place, row], facility[place, row] = distance, facilities[number]


@njit(cache=True, nogil=True)
def _load(
    offsets: Array, indices: Array, predecessors: Array, demand: Array, loads: Array, scratch: Array, begin: int, end: int
) -> None:
    """Add the loads of trees: from each leaf towards the source, a vertex as soon as all of its children were added."""
    children, paths = scratch
    for tree in range(begin, end):
        before = predecessors[tree]
        children[:] = 0
        for row in range(len(before)):
            paths[row] = demand[row] if len(demand) else 1
            if before[row] >= 0:
                children[before[row]] += 1
        for leaf in range(len(before)):
            row = leaf
            while children[row] == 0 and before[row] >= 0:
                children[row] = -1  # it was added
                paths[before[row]] += paths[row]
                row = before[row]
                children[row] -= 1
        for row in range(len(before)):  # in the order of the arcs, because their memory is what takes time
            if before[row] >= 0 and paths[row]:
                arc = offsets[row]
                while indices[arc] != before[row]:
                    arc += 1
                loads[arc] += paths[row]


@njit(cache=True, nogil=True)
def _load_paths(
    offsets: Array, indices: Array, predecessors: Array, first: Array, heads: Array, amounts: Array, loads: Array, seen: Array,
    paths: Array, queue: Array, starts: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """Walk from each head until a vertex that was seen, and add these parts of the tree, the last one first.

    A part ends at the source or in an earlier part. So nothing is added to a part behind its own turn.

    Args:
        seen (bool [V]), paths (int64 [V]): Zero, also afterwards.
        queue, starts ([V]): Of any content.
    """
    for tree in range(begin, end):
        before, count, parts = predecessors[tree], 0, 0
        for path in range(first[tree], first[tree + 1]):
            row = heads[path]
            paths[row] += amounts[path]
            if not seen[row]:
                starts[parts] = count
                parts += 1
            while row >= 0 and not seen[row]:
                seen[row] = True
                queue[count] = row
                count += 1
                row = before[row]
        last = count
        for part in range(parts - 1, -1, -1):
            for place in range(starts[part], last):
                row = queue[place]
                tail = before[row]
                if tail >= 0 and paths[row]:
                    paths[tail] += paths[row]
                    arc = offsets[row]
                    while indices[arc] != tail:
                        arc += 1
                    loads[arc] += paths[row]
                seen[row], paths[row] = False, 0
            last = starts[part]
