"""Operators and the algorithms made of them on the GPU give the CPU's answers, to the byte."""
# ruff: noqa: E402  (the imports below need CuPy)

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from examples.paths.top_down import top_down
from kernels.gpu import loader
from kernels.gpu.transfer import to_device
from kernels.library.operators import Frontier, UserFunctionError, advance, filter, reduce, repeat_advance
from kernels.library.operators.gpu import arcs, constants, groups
from tests.operators import cases
from tests.operators.test_algorithms import GRAPHS, ROWS, answers


@pytest.fixture(scope="module", params=cases.GRAPHS)
def graph(request):
    return cases.GRAPHS[request.param]()


def test_vertices(graph):
    cases.require_same(cases.on_vertices(to_device(graph)), cases.on_vertices(graph))


def test_updates(graph):
    cases.require_same(cases.updated(to_device(graph)), cases.updated(graph))
    cases.require_same(cases.of_one_number(to_device(graph)), cases.of_one_number(graph))


def test_arcs(graph):
    cases.require_same(cases.everything_on_arcs(to_device(graph)), cases.everything_on_arcs(graph))


def test_segments(graph):
    expected = cases.in_segments(graph, 1)
    for segments in (1, 2, 7):
        cases.require_same(cases.in_segments(to_device(graph), segments), expected)
        cases.require_same(cases.in_segments(graph, segments), expected)


def test_lanes_of_short_rows(graph):
    there = to_device(graph)
    for csr, here in ((there.out, graph.out), (there.into, graph.into)):
        cases.require_lanes(here, groups.lanes_of(there, csr, id(csr)))


@pytest.mark.parametrize("direction", ["out", "in"])
def test_rounds(graph, direction):
    cases.require_same(cases.repeated(to_device(graph), direction), cases.repeated(graph, direction))


@pytest.fixture
def with_constants(monkeypatch):
    """Sets constants of the kernels, which are then compiled anew."""
    caches = loader.constants_of, loader.load, loader.kernel_of

    def change(**values):
        monkeypatch.setattr("kernels.library.operators.plan._PLANS", {})
        for name, value in values.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setattr(arcs, "MARKED_ROWS", constants.MARKED_ROWS)
        for cache in caches:
            cache.cache_clear()

    yield change
    for cache in caches:
        cache.cache_clear()


def test_rounds_of_many_rows_are_not_divided_into_pieces(with_constants):
    with_constants(MANY_ROWS=0)
    graph = cases.with_limits()
    np.testing.assert_array_equal(top_down(to_device(graph), 0).get(), top_down(graph, 0))


def test_many_rows_are_listed_after_they_are_found(with_constants):
    with_constants(MARKED_ROWS=0, MARKED_ARCS=0, MARKED_SHARE=1 << 40)
    graph = cases.with_limits(np.float32)
    there = to_device(graph)
    cases.require_same(cases.repeated(there), cases.repeated(graph))
    cases.require_same(*(cases.on_arcs(each, "in", Frontier.everything(each)) for each in (there, graph)))


def test_lanes_and_warps_look_for_the_first_arc(with_constants):
    """A lane passes long rows to its warp."""
    with_constants(LANE_ARCS=4)
    graph = cases.with_limits(np.float32)
    for frontier in (Frontier.everything, lambda each: cases.thirds(each, cases.ALL_SPARSE)):
        cases.require_same(*(cases.on_arcs(each, "out", frontier(each)) for each in (to_device(graph), graph)))


@pytest.mark.parametrize("holds", [1, 40, 1000])
def test_arcs_behind_the_first_one_do_not_fail(holds):
    """They may be tried with it."""
    graph = cases.GRAPHS["star"]()

    def first(graph, length):
        values = cases.like(graph, np.arange(length))

        def is_there(place):
            return values[place] == holds

        def keep(row, total):
            return total == holds

        return advance(Frontier.of_rows(graph, [0], cases.ALL_SPARSE), is_there, after=keep, collect="first").rows()

    for each in (graph, to_device(graph)):
        assert cases.host(first(each, holds + 1)).tolist() == [0]
        with pytest.raises(UserFunctionError, match=f"index {holds} is not in"):
            first(each, holds)


def test_hubs_are_shared_by_all_blocks():
    """A row of more than 65,536 arcs; sums of floats in the same order."""
    size = 70_000
    graph = cases.graph_of_arcs([(0, i) for i in range(size)] + [(i, 0) for i in range(0, size, 1000)], size)
    values = np.random.default_rng(1).random(size)

    def sums(graph, frontier):
        found, numbers = cases.like(graph, np.zeros(size)), cases.like(graph, values)

        def own(row):
            return 2.0 + row

        def give(neighbour, own):
            return numbers[neighbour] * own

        def keep(row, total, own):
            enters = own == 2 and found[row] != total - own
            found[row] = total - own
            return enters

        rows = advance(frontier, give, before=own, after=keep, collect="sum").rows()
        once = [found.copy(), rows]
        found[:] = 0
        rounds, _ = repeat_advance(frontier, give, before=own, after=keep, collect="sum")
        return [cases.host(each) for each in (*once, found, rounds)]

    for make in (Frontier.everything, lambda graph: cases.thirds(graph, cases.ALL_SPARSE)):
        there = to_device(graph)
        cases.require_same(sums(there, make(there)), sums(graph, make(graph)))


@pytest.mark.parametrize("name", ROWS)
def test_algorithms(name):
    """Each in one test, because each process that runs a part of it compiles its functions."""
    for graph in GRAPHS[:3]:
        parts = []
        for each in (to_device(graph), graph):
            (found,) = answers(each, [name]).values()
            parts.append([np.asarray(cases.host(part)) for part in (found if isinstance(found, tuple) else (found,))])
        cases.require_same(*parts)


@pytest.mark.parametrize("hub", [1, 1 << 12])
def test_delta_stepping_with_and_without_hubs(hub, monkeypatch):
    monkeypatch.setattr("examples.paths.delta_stepping._HUB", hub)
    (there,), (here,) = (answers(each, ["paths.delta_stepping"]).values() for each in (to_device(GRAPHS[1]), GRAPHS[1]))
    np.testing.assert_array_equal(there.get(), here)


@pytest.mark.parametrize("size", [1025, 40_001])
def test_reductions_over_several_blocks(size):
    """Of every type, over every kind of frontier; twice, because parts of the first call are still in memory."""
    graph = cases.graph_of_arcs([], size)
    given = np.random.default_rng(size).random(size) - 0.5

    def reduced(graph):
        doubles, singles = cases.like(graph, given), cases.like(graph, given.astype(np.float32))
        numbers = cases.like(graph, (given * 2**40).astype(np.int64))

        def double(row):
            return doubles[row]

        def single(row):
            return singles[row]

        def number(row):
            return numbers[row]

        def near_one(row):
            return 1 + doubles[row] / 1000

        def is_chosen(row):
            return row % 3 == 1

        everything = Frontier.everything(graph)
        frontiers = [everything, *(filter(everything.under(sparse_rows=share), is_chosen) for share in (0.0, 1.0))]
        of_values = [(value, how) for value in (double, single, number) for how in ("sum", "min", "max")]
        return [reduce(each, *given) for each in frontiers for given in (*of_values, (near_one, "product"))]

    expected = reduced(graph)
    for _ in range(2):
        assert reduced(to_device(graph)) == expected


def test_results_are_zero_before_each_of_many_calls():
    """They are set to zero together, from time to time."""
    graph = to_device(cases.graph_of_arcs([], 40))

    def is_small(row):
        return row < 3

    assert {filter(Frontier.everything(graph), is_small).size for _ in range(600)} == {3}
