"""Graphs with rows of every group of degrees, and what operators compute on them: on any backend, and by plain Python."""

import itertools
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from kernels.graph import Csr, Graph, index_dtype
from kernels.library.operators import (
    Frontier,
    Rules,
    UserFunctionError,
    advance,
    atomic_add,
    atomic_max,
    atomic_min,
    compute,
    filter,
    reduce,
    repeat_advance,
)

LIMITS = (0, 1, 2, 31, 32, 33, 1023, 1024, 1025)
ALL_SPARSE, ALL_DENSE = Rules(sparse_rows=1.0), Rules(sparse_rows=0.0)
RULES = (Rules(), ALL_SPARSE, ALL_DENSE)


def graph_of_arcs(arcs: list[tuple[int, int]], num_vertices: int, dtype: Any = None) -> Graph:
    """A graph of the given arcs, self-loops and parallel arcs included; its rows are its ids, its weights 1, 2, ..., 7, 1, ..."""
    pairs = np.array(sorted(arcs), np.int64).reshape(-1, 2)
    weights = None if dtype is None else (np.arange(len(pairs)) % 7 + 1).astype(dtype)

    def csr(near: np.ndarray, far: np.ndarray, order: np.ndarray) -> Csr:
        offsets = np.zeros(num_vertices + 1, np.int64)
        offsets[1:] = np.bincount(near, minlength=num_vertices).cumsum()
        return Csr(offsets, far[order].astype(index_dtype(num_vertices)), None if weights is None else weights[order])

    ids = np.arange(num_vertices, dtype=np.int64)
    out = csr(pairs[:, 0], pairs[:, 1], np.arange(len(pairs)))
    into = csr(pairs[:, 1], pairs[:, 0], np.lexsort((pairs[:, 0], pairs[:, 1])))
    return Graph(ids, ids.astype(index_dtype(num_vertices)), out, into, directed=True)


def with_limits(dtype: Any = None) -> Graph:
    """Rows of the degrees at which groups begin, self-loops, parallel arcs, and rows without arcs."""
    random, arcs, num_vertices = np.random.default_rng(3), list[tuple[int, int]](), 1500
    for row, degree in enumerate(LIMITS * 2):
        arcs += [(row, int(other)) for other in random.integers(0, num_vertices, degree)]
    arcs += [(40, 40), (40, 40), (41, 41), (41, 42), (41, 42)]
    arcs += [(int(a), int(b)) for a, b in random.integers(50, num_vertices, (600, 2))]
    return graph_of_arcs(arcs, num_vertices, dtype)


GRAPHS: dict[str, Callable[[], Graph]] = {
    "empty": lambda: graph_of_arcs([], 0, np.float32),
    "one_row": lambda: graph_of_arcs([], 1, np.float32),
    "loops": lambda: graph_of_arcs([(0, 0), (0, 0), (1, 1)], 3, np.float32),
    "path": lambda: graph_of_arcs([(i, i + 1) for i in range(60)], 61, np.float32),
    "star": lambda: graph_of_arcs([(0, i) for i in range(1, 1100)] + [(i, 0) for i in range(1, 50)], 1100, np.float32),
    "limits": lambda: with_limits(np.float32),
}


def require_lanes(csr: Csr, lanes: tuple[Any, ...]) -> None:
    """Entry 32 k + i of a segment is arc k of row i, or the row itself and weight 0; rows of 32 arcs or more have no entries."""
    segments, indices, weights, first = (host(array) for array in lanes)
    degrees = np.diff(csr.offsets)
    assert (degrees[:first] >= 32).all() and (degrees[first : first + 1] < 32).all()
    assert len(segments) == 1 + -(-(len(degrees) - first) // 32) and len(indices) == segments[-1]
    for number, (begin, end) in enumerate(itertools.pairwise(segments)):
        rows = first + 32 * number + np.arange(32)
        short = [int(degrees[row]) if row < len(degrees) and degrees[row] < 32 else 0 for row in rows]
        assert end - begin == 32 * max(short)
        for lane, (row, degree) in enumerate(zip(rows, short, strict=True)):
            begun = csr.offsets[row] if degree else 0
            rest = max(short) - degree
            expected = [*csr.indices[begun : begun + degree], *[min(row, len(degrees) - 1)] * rest]
            assert indices[begin + lane : end : 32].tolist() == expected
            if csr.weights is not None:
                expected = [*csr.weights[begun : begun + degree], *[0] * rest]
                assert weights[begin + lane : end : 32].tolist() == expected


def like(graph: Graph, values: Any) -> Any:
    """An array where the graph is."""
    return np.asarray(values, like=graph.ids) if type(graph.ids) is np.ndarray else _cupy().asarray(values)


def _cupy() -> Any:
    import cupy

    return cupy


def host(value: Any) -> Any:
    return value.get() if hasattr(value, "get") else np.asarray(value)


def thirds(graph: Graph, rules: Rules) -> Frontier:
    """Every third row."""
    return Frontier.of_rows(graph, np.arange(0, graph.num_vertices, 3), rules)


def frontiers(graph: Graph) -> list[Frontier]:
    """All rows, every third in each form, and none."""
    chosen = [Frontier.everything(graph)] + [thirds(graph, rules) for rules in RULES]
    return [*chosen, Frontier.of_rows(graph, [], ALL_SPARSE)]


def on_vertices(graph: Graph) -> list[Any]:
    """What compute, filter and reduce give for every frontier."""
    size = graph.num_vertices
    values, marks = like(graph, np.sin(np.arange(size)) * 1e3), like(graph, np.zeros(size, np.int32))

    def mark(row, degree):
        marks[row] += degree + 1

    def odd(row):
        return row % 2 == 1 and values[row] > -500

    def value(row, degree):
        return values[row] * (degree + 1) + 0.1

    def degree_of(degree):
        return degree

    found: list[Any] = []
    for frontier in frontiers(graph):
        marks[:] = 0
        compute(frontier, mark)
        odds = filter(frontier, odd)
        found += [marks.copy(), odds.rows(), odds.size, frontier.rows()]
        found += [reduce(frontier, value, how) for how in ("sum", "product", "min", "max")]
        found += [reduce(each, degree_of) for each in (frontier, odds)]
    return [host(each) for each in found]


def on_arcs(graph: Graph, direction: Any, frontier: Frontier) -> list[Any]:
    """What advance gives: arcs are counted, sums, minima and first arcs collected, rows found by arcs and by rows."""
    size = graph.num_vertices
    reached, count = like(graph, np.zeros(size + 1, np.int64)), like(graph, np.zeros(2, np.int64))
    sums, least, first = (like(graph, np.full(size, -1, kind)) for kind in (np.float64, np.float32, np.int64))
    near = like(graph, np.full(size, 1 << 40, np.int64))
    values = like(graph, np.cos(np.arange(size)))

    def count_arcs(row, neighbour, place, arc):
        atomic_add(count, 0, 1)
        atomic_add(reached, neighbour, row * 7 + place + arc % 5)

    def count_row(degree):
        atomic_add(count, 1, degree)

    advance(frontier, count_arcs, direction=direction, after=count_row)

    def own(row):
        return values[row] * 0.5

    def give(neighbour, weight, own):
        return values[neighbour] / 3 + weight * own

    def keep(row, total, own, degree):
        sums[row] = total + own
        return degree > 1

    summed = advance(frontier, give, direction=direction, before=own, after=keep, collect="sum")

    def to_reach(row, neighbour, weight):
        return atomic_min(near, neighbour, row + int(weight))

    found = advance(frontier, to_reach, direction=direction)

    def small(neighbour):
        return -values[neighbour]

    def keep_least(row, total):
        least[row] = total

    advance(frontier, small, direction=direction, after=keep_least, collect="min")

    def is_far(row, neighbour):
        return neighbour > row

    def keep_first(row, total):
        first[row] = total
        return total >= 0

    ahead = advance(frontier, is_far, direction=direction, after=keep_first, collect="first")
    results = [reached, count, sums, least, first, near]
    return [host(each) for each in (*results, summed.rows(), summed.size, found.rows(), found.size, ahead.rows(), ahead.size)]


def everything_on_arcs(graph: Graph) -> list[Any]:
    """Both directions, every frontier."""
    return [each for direction in ("out", "in") for frontier in frontiers(graph) for each in on_arcs(graph, direction, frontier)]


def in_segments(graph: Graph, segments: int) -> list[Any]:
    """Sweeps over all rows with the neighbours in some ranges, one after another."""
    size = graph.num_vertices
    frontier = Frontier.everything(graph, Rules(segments=segments))
    sums, least = like(graph, np.zeros(size, np.int64)), like(graph, np.zeros(size, np.float64))
    values = like(graph, np.cos(np.arange(size)))

    def own(row):
        return row * 2

    def give(neighbour, weight, own):
        return neighbour * own + int(weight)

    def keep(row, total, own, degree):
        sums[row] = total + own + degree
        return total % 2 == 0

    def small(neighbour):
        return values[neighbour]

    def keep_least(row, total):
        least[row] = total

    found = []
    for direction in ("out", "in"):
        even = advance(frontier, give, direction=direction, before=own, after=keep, collect="sum")
        advance(frontier, small, direction=direction, after=keep_least, collect="max")
        found += [sums.copy(), least.copy(), even.rows(), even.size]
    return [host(each) for each in found]


def repeated(graph: Graph, direction: Any = "out") -> list[Any]:
    """Rounds: levels from every third row, in two parts, sums that rows pass on in their first four rounds, and rows that stay
    until an arc leads to the round before."""
    size, before = graph.num_vertices, 0
    levels, totals = like(graph, np.full(size, -1, np.int64)), like(graph, np.zeros(size))
    marks = like(graph, np.zeros(size, np.int64))

    def visit(neighbour, round):
        if levels[neighbour] >= 0:
            return False
        levels[neighbour] = before + round
        return True

    def own(row, round):
        return row * 0.5 + round

    def give(neighbour, own, weight):
        return own + weight * neighbour

    def keep(row, total, round, own, degree):
        totals[row] = total * round + own
        return round < 4 and degree > 1

    def is_before(neighbour, round):
        return marks[neighbour] == round - 1

    def stays(row, total, round, degree):
        if total >= 0 and marks[row] < 0:
            marks[row] = round
        return total < 0 and degree > 0 and round < 6

    found = []
    for frontier in (thirds(graph, ALL_SPARSE), thirds(graph, ALL_DENSE), Frontier.of_rows(graph, range(min(1, size)))):
        levels[:], before = -1, 0
        before, left = repeat_advance(frontier.under(most_work=size), visit, direction=direction)
        found += [before, left.rows(), levels.copy()]
        found.append(repeat_advance(left.under(most_work=1 << 40), visit, direction=direction)[0])
        found.append(repeat_advance(frontier, give, before=own, after=keep, collect="sum", direction=direction)[0])
        found += [levels.copy(), totals.copy()]
        marks[:], marks[::5] = -1, 0
        found += [*repeat_advance(frontier, is_before, after=stays, collect="first", direction=direction)[:1], marks.copy()]
    return [host(each) for each in found]


def updated(graph: Graph) -> list[Any]:
    """Least and greatest floats of either sign, and zero, over many rows."""
    size = graph.num_vertices
    least, most = (like(graph, np.full(9, start)) for start in (np.inf, -np.inf))
    low, high = (like(graph, np.full(9, start, np.float32)) for start in (np.inf, -np.inf))
    values = like(graph, np.sin(np.arange(size)) * 9.0 ** (np.arange(size) % 7 - 3) * (np.arange(size) % 5 > 0))

    def update(row):
        value = abs(values[row]) if row % 9 < 3 else -abs(values[row]) if row % 9 < 6 else values[row]
        atomic_min(least, row % 9, value)
        atomic_max(most, row % 9, value)
        atomic_min(low, row % 9, value)
        atomic_max(high, row % 9, value)

    compute(Frontier.everything(graph), update)
    return [host(each) + 0.0 for each in (least, most, low, high)]


def of_one_number(graph: Graph) -> list[Any]:
    """Functions of `math` and NumPy, of integers and floats; but exp and log, which depend on the backend."""
    given = np.array([0.0, -0.0, 0.5, 2.5, -2.5, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan, 3.0])
    values, made = like(graph, np.resize(given, graph.num_vertices)), like(graph, np.zeros(9 * graph.num_vertices))

    def apply(row: int) -> None:
        x = values[row]
        made[9 * row] = np.sqrt(x) + math.sqrt(row)
        made[9 * row + 1] = np.floor(x) + math.floor(row / 2)
        made[9 * row + 2] = np.ceil(x) + math.ceil(row / 2)
        made[9 * row + 3] = np.isnan(x) + 2 * math.isnan(row)
        made[9 * row + 4] = np.isinf(x) + 2 * math.isinf(-x)
        made[9 * row + 5] = np.abs(x) + abs(-row)
        made[9 * row + 6] = np.fabs(x) + math.fabs(-row)
        made[9 * row + 7] = x + row + row + row + row + row + row + row + row + row + row + row + row + row + row + row + row
        made[9 * row + 8] = 0 <= row <= row <= row <= row <= row <= row <= row <= row <= row <= row <= row <= 7

    compute(Frontier.everything(graph), apply)
    found = host(made)
    return [np.isnan(found), np.where(np.isnan(found), 0, found)]  # a NaN has other bits on a GPU


def require_same(found: list[Any], expected: list[Any]) -> None:
    """Equal types and bytes."""
    assert len(found) == len(expected)
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert np.asarray(one).dtype == np.asarray(other).dtype, number
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), f"result {number}: {one} is not {other}"


def require_threads(graph, numbers):
    """Require right results of threads that use one graph at the same time; `numbers` are those of its 1,500 rows."""
    everything = Frontier.everything(graph)

    def asked(limit):
        fails = limit % 5 == 4

        def is_less(row):
            return numbers[row] < limit

        def is_lesser(neighbour):
            return numbers[neighbour] < limit

        def may_fail(row):
            return numbers[row + 1500 * fails]

        found = [filter(everything, is_less).rows().tolist(), advance(everything, is_lesser).rows().tolist()]
        try:
            return *found, reduce(everything, may_fail)
        except UserFunctionError as error:
            return *found, str(error)

    one_by_one = [asked(limit) for limit in range(60)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            together = [*threads.map(asked, range(60))]
    finally:
        sys.setswitchinterval(before)
    assert together == one_by_one
    assert [found for found, _, _ in together] == [[*range(limit)] for limit in range(60)]
    assert all(("index" in str(total)) == (limit % 5 == 4) for limit, (_, _, total) in enumerate(together))
