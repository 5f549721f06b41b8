"""Operators on the CPU against plain Python; `tests/emulator/test_operators.py` compares the GPU with the CPU."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.cpu.compiled import Compiled
from kernels.library.operators import Frontier, Rules, UserFunctionError, advance, compute, filter, reduce, repeat_advance
from kernels.library.operators.cpu.orders import COMBINE, folding
from kernels.library.operators.plan import _PLANS as plans
from tests.counts import examples
from tests.operators import cases


def arcs_of(graph, direction, rows):
    """(row, neighbour, weight, arc, place) of the rows' arcs."""
    csr = graph.out if direction == "out" else graph.into
    for row in map(int, rows):
        begin = int(csr.offsets[row])
        for arc in range(begin, int(csr.offsets[row + 1])):
            yield row, int(csr.indices[arc]), 1 if csr.weights is None else csr.weights[arc], arc, arc - begin


def folded(values, combine, start):
    """The order of docs/abstractions.md, written a second time: 32 lanes over chunks of 1024, then halves of the lanes."""
    if len(values) <= 1:
        return values[0] if len(values) else start
    made = []
    for begin in range(0, len(values), 1024):
        lanes = [start] * 32
        for place, value in enumerate(values[begin : begin + 1024]):
            lanes[place % 32] = combine(lanes[place % 32], value)
        while len(lanes) > 1:
            lanes = [combine(one, other) for one, other in zip(lanes[: len(lanes) // 2], lanes[len(lanes) // 2 :], strict=True)]
        made += lanes
    return made[0] if len(made) == 1 else folded(made, combine, start)


@pytest.fixture(scope="module", params=cases.GRAPHS)
def graph(request):
    return cases.GRAPHS[request.param]()


def test_rows(graph):
    found = iter(cases.on_vertices(graph))
    size = graph.num_vertices
    values, degrees = np.sin(np.arange(size)) * 1e3, np.diff(graph.out.offsets)
    everything = np.arange(size)
    for rows in (everything, *[everything[::3]] * 3, everything[:0]):
        marks = np.zeros(size, np.int32)
        marks[rows] = degrees[rows] + 1
        odds = [row for row in rows if row % 2 and values[row] > -500]
        given = [float(values[row] * (degrees[row] + 1) + 0.1) for row in rows]
        np.testing.assert_array_equal(next(found), marks)
        np.testing.assert_array_equal(next(found), odds)
        assert next(found) == len(odds)
        np.testing.assert_array_equal(next(found), rows)
        assert next(found) == (folded(given, lambda a, b: a + b, 0.0) if len(given) != 1 else given[0])
        product = folded(given, lambda a, b: a * b, 1.0)
        assert next(found) == product or np.isinf(product)
        assert (next(found), next(found)) == (min(given, default=np.inf), max(given, default=-np.inf))
        assert (next(found), next(found)) == (degrees[rows].sum(), degrees[odds].sum() if odds else 0)


@pytest.mark.parametrize("direction", ["out", "in"])
def test_arcs(graph, direction):
    size = graph.num_vertices
    values = np.cos(np.arange(size))
    for frontier in cases.frontiers(graph):
        rows = frontier.rows()
        reached, count, sums, least, first, near, *frontiers = cases.on_arcs(graph, direction, frontier)
        arcs = list(arcs_of(graph, direction, rows))
        assert count.tolist() == [len(arcs), np.diff(graph.out.offsets if direction == "out" else graph.into.offsets)[rows].sum()]
        expected, nearest = np.zeros(size + 1, np.int64), np.full(size, 1 << 40)
        of_row = {int(row): [] for row in rows}
        for row, neighbour, weight, arc, place in arcs:
            expected[neighbour] += row * 7 + place + arc % 5
            nearest[neighbour] = min(nearest[neighbour], row + int(weight))
            of_row[row].append((neighbour, weight, arc))
        np.testing.assert_array_equal(reached, expected)
        np.testing.assert_array_equal(near, nearest)
        for row, its in of_row.items():
            own = values[row] * 0.5
            assert sums[row] == pytest.approx(sum(values[n] / 3 + w * own for n, w, _ in its) + own, abs=1e-9)
            assert least[row] == min((np.float32(-values[n]) for n, _, _ in its), default=np.float32(np.inf))
            assert first[row] == next((arc for n, _, arc in its if n > row), -1)
        wide = [row for row, its in of_row.items() if len(its) > 1]
        found = sorted({n for _, n, _, _, _ in arcs})
        ahead = [row for row, its in of_row.items() if any(n > row for n, _, _ in its)]
        for listed, size_of, rows_of in zip(frontiers[::2], frontiers[1::2], (wide, found, ahead), strict=True):
            np.testing.assert_array_equal(listed, rows_of)
            assert size_of == len(rows_of)


def test_segments(graph):
    for segments in (0, 1, 2, 7, 10**9):  # no more than rows
        cases.require_same(cases.in_segments(graph, segments), cases.in_segments(graph, 1))


@pytest.mark.parametrize("direction", ["out", "in"])
def test_rounds(graph, direction, monkeypatch):
    found = cases.repeated(graph, direction)
    monkeypatch.setattr("kernels.library.operators.cpu.running_arcs.WORTH_A_THREAD", 3)  # most rounds are then calls of `advance`
    cases.require_same(cases.repeated(graph, direction), found)
    size, degrees = graph.num_vertices, np.diff((graph.out if direction == "out" else graph.into).offsets)
    for rows, (rounds, left, levels, more, _, all_levels, _, tried, marks) in zip(
        (range(0, size, 3), [0][:size]), (found[:9], found[18:]), strict=True
    ):
        expected, frontier, level, small = np.full(size, -1), list(rows), 0, True
        while frontier:
            if small and len(frontier) + degrees[frontier].sum() > size:
                small = False
                assert rounds == level
                np.testing.assert_array_equal(left, frontier)
                np.testing.assert_array_equal(levels, expected)
            level += 1
            frontier = sorted({n for _, n, _, _, _ in arcs_of(graph, direction, frontier) if expected[n] < 0})
            expected[frontier] = level
        assert rounds + more == level
        assert len(left) == 0 or not small
        np.testing.assert_array_equal(all_levels, expected)
        marked, staying, round = np.where(np.arange(size) % 5, -1, 0), [*rows], 0
        while staying:
            round += 1
            near = {row for row, n, _, _, _ in arcs_of(graph, direction, staying) if marked[n] == round - 1}
            marked[[row for row in near if marked[row] < 0]] = round
            staying = [row for row in staying if row not in near and degrees[row] and round < 6]
        assert tried == round
        np.testing.assert_array_equal(marks, marked)


def texts_of(loop):
    """The machine code of what is compiled, which code that was kept does not have."""
    fresh = numba.njit(**loop.options | {"cache": False})(loop.py_func)
    for signature in loop.dispatcher.signatures:
        fresh.compile(signature)
    return fresh.inspect_asm().values()


def test_loops_count_no_references():
    """Counts of references to arrays took two thirds of the time of a search."""
    graph = cases.GRAPHS["path"]()
    plans.clear()  # those of other tests, whose loops would be compiled again, too
    cases.updated(graph)
    cases.on_vertices(graph)
    loops = [plan.program for (operator, *_), plan in plans.items() if operator[0] == "compute"]
    texts = [text for loop in loops if isinstance(loop, Compiled) for text in texts_of(loop)]
    assert texts
    assert not any("NRT_incref" in text or "NRT_decref" in text for text in texts)


def test_what_was_compiled_for_a_function_is_kept(monkeypatch, tmp_path):
    """For its text: each plan has a loop of its own, whose code is loaded if a function like this one was compiled before."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    graph = cases.GRAPHS["path"]()
    marks = np.zeros(graph.num_vertices, np.int64)

    def mark(row):
        marks[row] = row + 1

    def mark_otherwise(row):
        marks[row] = row + 2

    def found(function):
        plans.clear()
        compute(Frontier.everything(graph), function)
        (plan,) = plans.values()
        return marks[0], sum(plan.program.dispatcher.stats.cache_misses.values())

    assert [found(function) for function in (mark, mark, mark_otherwise, mark)] == [(1, 1), (1, 0), (2, 1), (1, 0)]


def test_what_was_compiled_to_combine_chunks_is_kept(monkeypatch, tmp_path):
    """Every process compiled it again, for 2 s."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))

    def misses():
        folding.cache_clear()
        loop = folding(COMBINE["sum"])
        assert loop(np.ones(3), 0.0) == 3
        return sum(loop.dispatcher.stats.cache_misses.values())

    assert [misses(), misses()] == [1, 0]


def test_rounds_end(monkeypatch):
    """After too many, and where a function fails."""
    graph = cases.with_limits()
    everything, values = Frontier.everything(graph), np.zeros(graph.num_vertices)

    def always(neighbour):
        return True

    def fails(row, neighbour, round):
        return values[neighbour + (graph_size if round == 3 else 0)] == 0

    def nothing(row):
        pass

    graph_size = graph.num_vertices
    with pytest.raises(UserFunctionError, match=r"test_operators.py, line \d+: index"):
        repeat_advance(Frontier.of_rows(graph, [5]), fails)
    with pytest.raises(UserFunctionError, match="whether a row is found"):
        repeat_advance(everything, nothing)
    monkeypatch.setattr("kernels.library.operators.arcs.MOST_STEPS", 3 - graph_size)
    for start in (everything, Frontier.of_rows(graph, [5])):
        with pytest.raises(UserFunctionError, match="rows are still found after 3 rounds"):
            repeat_advance(start, always)


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=300), st.lists(st.integers(0, 40)), st.floats(0, 1))
def test_any_frontier_of_any_graph(arcs, rows, share):
    graph = cases.graph_of_arcs(arcs, 41)
    frontier = Frontier.of_rows(graph, rows, Rules(share, 0.5))
    assert frontier.size == len(set(rows))
    assert frontier.kind == "all" or (frontier.kind == "sparse") <= (frontier.size <= share * 41 or not rows)

    def visit(neighbour):
        return neighbour % 2 == 0

    found = advance(frontier, visit)
    np.testing.assert_array_equal(found.rows(), sorted({b for a, b in arcs if a in rows and b % 2 == 0}))


def test_sums_of_floats_do_not_depend_on_the_form_or_the_cores(monkeypatch):
    graph = cases.with_limits()
    values = np.random.default_rng(0).random(graph.num_vertices) * 10.0 ** (np.arange(graph.num_vertices) % 17)

    def value(row):
        return values[row]

    def run():
        chosen = [cases.thirds(graph, rules) for rules in cases.RULES]
        return {float(reduce(frontier, value)).hex() for frontier in chosen}, cases.everything_on_arcs(graph)

    (sums, answers) = run()
    monkeypatch.setattr("kernels.library.operators.cpu.running.WORTH_A_THREAD", 1)
    monkeypatch.setattr("kernels.library.operators.cpu.running.cores", lambda: 3)
    monkeypatch.setattr("kernels.cpu.parallel.cores", lambda: 3)
    more, same = run()
    assert len(sums | more) == 1
    cases.require_same(same, answers)


@pytest.mark.parametrize("worth_a_thread", [1, 1 << 30])
def test_threads_use_one_graph(monkeypatch, worth_a_thread):
    """Searches on one core took flags from the graph, and returned each other's rows."""
    monkeypatch.setattr("kernels.library.operators.cpu.running.WORTH_A_THREAD", worth_a_thread)
    cases.require_threads(cases.with_limits(), np.arange(1500))


def test_wrong_calls_are_refused():
    graph = cases.with_limits()
    frontier = Frontier.everything(graph)

    def value(row):
        return row

    with pytest.raises(ValueError, match="median"):
        reduce(frontier, value, "median")
    with pytest.raises(ValueError, match="sideways"):
        advance(frontier, value, direction="sideways")
    with pytest.raises(ValueError, match="median"):
        advance(frontier, value, collect="median")
    with pytest.raises(UserFunctionError, match="True or False"):
        filter(frontier, value)
    with pytest.raises(IndexError, match="1500"):
        Frontier.of_rows(graph, [1500])
    with pytest.raises(TypeError, match=r"rows are bool, not integers; np\.flatnonzero"):
        Frontier.of_rows(graph, np.arange(graph.num_vertices) > 5)  # they were rows 0 and 1
    with pytest.raises(TypeError, match="rows are float64, not integers"):
        Frontier.of_rows(graph, [1.5])

    def nothing(row):
        pass

    for call in (lambda: reduce(frontier, nothing), lambda: advance(frontier, nothing, collect="sum")):
        with pytest.raises(UserFunctionError, match="return"):
            call()

    def owning(own):
        return own

    with pytest.raises(UserFunctionError, match="nothing provides the parameter own"):
        advance(frontier, owning)
    with pytest.raises(UserFunctionError, match="no parameter own: it may take row, degree"):
        compute(frontier, owning)
