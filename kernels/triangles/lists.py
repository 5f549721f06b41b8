"""Lists of neighbours of more arcs, on the CPU: every edge of the graph stands in the list of one of its ends.

Rows get labels in descending order of their arcs, those of equally many in the order of the graph. A row's list has the
neighbours of smaller labels. On a rank, local rows get labels in the same order, and only own rows have lists.
"""

from typing import NamedTuple

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges_of_rows, running_sums
from kernels.graph import Array, Csr, Graph

Arcs = tuple[Array, Array]
_BEHIND = 1 << 62  # all positions, which on a rank are those of the whole graph


class NeighbourLists(NamedTuple):
    """The lists of all labels, n of them with E entries; labels and entries have index width."""

    begins: Array  # int64 [n]: the list of label l is `heads[begins[l]:ends[l]]`
    ends: Array  # int64 [n]
    heads: Array  # [E]: labels, ascending within a list and smaller than its own
    mutual: Array  # uint8 [E]: whether arcs lead both ways; empty if none is counted twice


class ArcsOfRows(NamedTuple):
    """Arcs of n rows, by these rows; on a rank by local rows, of which ghosts have none."""

    out: Csr
    into: Csr | None  # None if in-arcs are out-arcs
    positions: Array  # [n]: ascending with the external ids, as the arcs of a row do
    degrees: Array  # int64 [n]: numbers of arcs of both directions; of a ghost those that it has at its owner


def arcs_of(graph: Graph) -> ArcsOfRows:
    """The arcs of a graph."""
    sides = (graph.out,) if graph.symmetric else (graph.out, graph.into)
    degrees = sum(side.offsets[1:] - side.offsets[:-1] for side in sides)
    return ArcsOfRows(graph.out, None if graph.symmetric else graph.into, graph.positions, np.asarray(degrees, like=graph.ids))


def labelled(arcs: ArcsOfRows, sequence: Array) -> Array:
    """The rows in the order of their labels, index width [n]; `sequence` [n] has them in the order of the graph."""
    order = np.empty_like(sequence)
    _sort_by_degree(arcs.degrees, frozen(sequence), order)
    return order


@njit(cache=True, nogil=True)
def _sort_by_degree(degrees: Array, sequence: Array, order: Array) -> None:
    """Counting sort, descending."""
    places = np.zeros((degrees.max() if len(degrees) else 0) + 1, np.int64)
    for degree in degrees:
        places[degree] += 1
    before = 0
    for degree in range(len(places) - 1, -1, -1):
        before, places[degree] = before + places[degree], before
    for row in sequence:
        order[places[degrees[row]]] = row
        places[degrees[row]] += 1


def list_neighbours(arcs: ArcsOfRows, order: Array, directed: bool) -> tuple[NeighbourLists, Array]:
    """The lists, and of each label the number of its neighbours, int64 [n].

    Args:
        order: As `labelled` returns it.
        directed: Whether `mutual` is wanted where the graph is not symmetric; otherwise it is empty.
    """
    labels = np.empty_like(order)
    labels[order] = np.arange(len(order), dtype=order.dtype)
    out = frozen(arcs.out.offsets), frozen(arcs.out.indices)
    into = (frozen(arcs.into.offsets), frozen(arcs.into.indices)) if arcs.into else (frozen(np.zeros_like(out[0])), out[1][:0])
    rows = frozen(order), frozen(labels), frozen(arcs.positions)
    neighbours, longer = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    parts = ranges_of_rows(running_sums((np.diff(out[0]) + np.diff(into[0]))[order]))
    over_items(parts, lambda part: _count(out, into, rows, part, neighbours, longer))
    offsets = running_sums(longer)
    heads = np.empty(int(offsets[-1]), order.dtype)
    mutual = np.empty(len(heads) if directed and arcs.into else 0, np.uint8)
    over_items(parts, lambda part: _fill(out, into, rows, part, offsets, heads, mutual))
    return NeighbourLists(offsets[:-1], offsets[1:], heads, mutual), neighbours


@njit(cache=True, nogil=True)
def _neighbours(out: Arcs, into: Arcs, rows: tuple[Array, Array, Array], label: int, entries: Array) -> int:
    """Write the neighbours of a label, each once: 2 label + (whether arcs lead both ways). Returns their number.

    The arcs of both directions ascend by position, so they are merged.
    """
    order, labels, positions = rows
    row = order[label]
    one, one_end, other, other_end = out[0][row], out[0][row + 1], into[0][row], into[0][row + 1]
    count, last = 0, row
    if other == other_end:
        for head in out[1][one:one_end]:
            if head not in (row, last):
                entries[count] = 2 * np.int64(labels[head])
                last = head
                count += 1
        return count
    while one < one_end or other < other_end:
        first = positions[out[1][one]] if one < one_end else _BEHIND
        second = positions[into[1][other]] if other < other_end else _BEHIND
        head = out[1][one] if first <= second else into[1][other]
        one += first <= second
        other += second <= first
        if head not in (row, last):
            entries[count] = 2 * np.int64(labels[head]) + (first == second)
            last = head
            count += 1
    return count


@njit(cache=True, nogil=True)
def _longest(out: Arcs, into: Arcs, order: Array, part: tuple[int, int]) -> int:
    longest = 0
    for row in order[part[0] : part[1]]:
        longest = max(longest, out[0][row + 1] - out[0][row] + into[0][row + 1] - into[0][row])
    return longest


@njit(cache=True, nogil=True)
def _count(
    out: Arcs, into: Arcs, rows: tuple[Array, Array, Array], part: tuple[int, int], neighbours: Array, longer: Array
) -> None:  # fmt: skip
    """Set the number of neighbours of some labels, and of those in their lists."""
    entries = np.empty(_longest(out, into, rows[0], part), np.int64)
    for label in range(part[0], part[1]):
        neighbours[label] = _neighbours(out, into, rows, label, entries)
        longer[label] = 0
        for number in range(neighbours[label]):
            longer[label] += entries[number] < 2 * label


@njit(cache=True, nogil=True)
def _fill(
    out: Arcs, into: Arcs, rows: tuple[Array, Array, Array], part: tuple[int, int], offsets: Array, heads: Array, mutual: Array
) -> None:  # fmt: skip
    """Write the lists of some labels."""
    entries = np.empty(_longest(out, into, rows[0], part), np.int64)
    for label in range(part[0], part[1]):
        count, kept = _neighbours(out, into, rows, label, entries), 0
        for number in range(count):
            if entries[number] < 2 * label:
                entries[kept] = entries[number]
                kept += 1
        entries[:kept].sort()
        for number in range(kept):
            heads[offsets[label] + number] = entries[number] >> 1
            if len(mutual):
                mutual[offsets[label] + number] = entries[number] & 1
