"""The certificate of a closure on NumPy arrays: the pairs of a vertex are searched by the positions of the reached vertices."""

import numpy as np

from kernels.answers import Closure, Components
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, arc_name, name_of, out_of_order, require_rows
from kernels.closure.certificate.ranks import labels_by_sums, together
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, over_rows, ranges_of_rows
from kernels.distributed import Communicator, Owners
from kernels.graph import OFFSET, Array, Graph
from kernels.scc.certificate import check_scc

Pairs = tuple[
    Array, Array
]  # where the pairs of each row begin and end, int64 [V + 1] by position; positions of what they reach [P]


def check(graph: Graph, closure: Closure, ranks: Communicator) -> None:
    """Raise Broken at the first rule that is broken, on all ranks. A collective."""
    columns = Owners.evenly(graph.num_vertices, ranks).own
    vertex, first, second = together(ranks, lambda: _pairs(graph, closure, columns))
    begins = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=graph.num_vertices))])
    pairs = frozen(begins), frozen(second)
    rows, positions = frozen(graph.rows_by_id), frozen(graph.positions)
    if ranks.size > 1:
        labels = labels_by_sums(graph, begins, first, second, ranks)
    else:
        labels = np.empty_like(graph.rows_by_id)
        over_items(ranges_of_rows(begins), lambda part: _label(part, pairs, rows, labels))
    try:
        check_scc(graph, Components(labels))
    except Broken as broken:
        raise Broken(f"for vertices that reach each other: {broken}") from None
    of_rows = labels, positions
    different = over_items(ranges_of_rows(begins), lambda part: _different(part, pairs, rows, of_rows))
    for (position,) in _first(ranks, [(place,) for place in different if place >= 0]):
        names = name_of(graph, rows[position]), name_of(graph, labels[rows[position]])
        raise Broken(f"vertices {names[0]} and {names[1]} reach each other, but not the same vertices")
    behind = np.zeros(len(vertex), np.bool_)
    arcs, bounds = (frozen(graph.out.offsets), frozen(graph.out.indices)), (columns.start, columns.stop)
    missing = over_rows(graph.out, lambda begin, end: _follow((begin, end), bounds, arcs, pairs, of_rows, behind))
    for arc, _, position in _first(ranks, [miss for miss in missing if miss[0] >= 0]):
        ends = arc_ends(graph, arc)
        raise Broken(f"{arc_name(graph, ends)}: {name_of(graph, ends[0])} does not reach {name_of(graph, rows[position])}")
    astray = np.flatnonzero(~behind & (labels[vertex] == vertex))[:1]
    for one, other in _first(ranks, [*zip(first[astray].tolist(), second[astray].tolist(), strict=True)]):
        raise Broken(f"pair {name_of(graph, rows[one])}, {name_of(graph, rows[other])} does not follow from an arc")


def _pairs(graph: Graph, closure: Closure, columns: range) -> tuple[Array, Array, Array]:
    """The first rows of pairs, and the positions of both ends; Broken unless these ascend, and the second are in `columns`."""
    row, num_vertices = graph.rows_by_id.dtype, graph.num_vertices
    length = len(closure.vertex) if isinstance(closure.vertex, np.ndarray) else 0
    vertex = require_rows("vertex", closure.vertex, length, num_vertices, row=row)
    reached = require_rows("reached", closure.reached, length, num_vertices, row=row)
    first, second = graph.positions[vertex], graph.positions[reached]
    falls = out_of_order(first, second)
    if falls.any():
        raise Broken(f"{_pair(graph, vertex, reached, int(falls.argmax()) + 1)} does not come after the previous pair")
    others = (second < columns.start) | (second >= columns.stop)
    if others.any():
        raise Broken(f"{_pair(graph, vertex, reached, int(others.argmax()))} is on a rank that has other vertices")
    return vertex, first, second


def _first(ranks: Communicator, faults: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The least of the faults of all ranks, each of which has its least first; none if there are none. A collective."""
    parts = ranks.gather(np.array(faults[:1], OFFSET).reshape(-1))
    return sorted(tuple(part.tolist()) for part in parts if len(part))[:1]


def _pair(graph: Graph, vertex: Array, reached: Array, place: int) -> str:
    return f"pair {name_of(graph, vertex[place])}, {name_of(graph, reached[place])}"


@njit(cache=True, nogil=True)
def _find(pairs: Pairs, position: int, wanted: int) -> int:
    """The place of pair (position, wanted), or -1."""
    begins, reached = pairs
    end = begins[position + 1]
    place: int = begins[position] + np.searchsorted(reached[begins[position] : end], wanted)
    return place if place < end and reached[place] == wanted else -1


@njit(cache=True, nogil=True)
def _label(part: tuple[int, int], pairs: Pairs, rows: Array, labels: Array) -> None:
    """Label rows with the first vertex that they reach and that reaches them, or with themselves."""
    begins, reached = pairs
    for position in range(part[0], part[1]):
        labels[rows[position]] = rows[position]
        if _find(pairs, position, position) >= 0:
            for place in range(begins[position], begins[position + 1]):
                if _find(pairs, reached[place], position) >= 0:
                    labels[rows[position]] = rows[reached[place]]
                    break


@njit(cache=True, nogil=True)
def _different(part: tuple[int, int], pairs: Pairs, rows: Array, of_rows: tuple[Array, Array]) -> int:
    """The first position whose vertex does not reach the same as its label, or -1."""
    begins, reached = pairs
    labels, positions = of_rows
    for position in range(part[0], part[1]):
        label = labels[rows[position]]
        if label != rows[position]:
            other = positions[label]
            length = begins[position + 1] - begins[position]
            if begins[other + 1] - begins[other] != length:
                return int(position)
            for step in range(length):
                if reached[begins[position] + step] != reached[begins[other] + step]:
                    return int(position)
    return -1


@njit(cache=True, nogil=True)
def _follow(
    part: tuple[int, int],
    columns: tuple[int, int],
    arcs: tuple[Array, Array],
    pairs: Pairs,
    of_rows: tuple[Array, Array],
    behind: Array,
) -> tuple[int, int, int]:
    """Mark the pairs of labels that an arc of their class explains.

    Returns:
        The first arc that misses a pair, or -1; 0 if it misses its head and otherwise 1; and the position that is missed.
    """
    offsets, indices = arcs
    begins, reached = pairs
    labels, positions = of_rows
    for row in range(part[0], part[1]):
        label = positions[labels[row]]
        for arc in range(offsets[row], offsets[row + 1]):
            head = positions[indices[arc]]
            if columns[0] <= head < columns[1]:
                place = _find(pairs, label, head)
                if place < 0:
                    return arc, 0, int(head)
                behind[place] = True
            if labels[indices[arc]] != labels[row]:
                place = begins[label]
                for further in range(begins[head], begins[head + 1]):
                    while place < begins[label + 1] and reached[place] < reached[further]:
                        place += 1
                    if place == begins[label + 1] or reached[place] != reached[further]:
                        return arc, 1, int(reached[further])
                    behind[place] = True
    return -1, 0, -1
