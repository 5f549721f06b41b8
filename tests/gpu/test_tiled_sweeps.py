"""Sweeps in the order of tiles, of few heads each, give the CPU's answers, to the byte."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

cupy = pytest.importorskip("cupy")

from kernels.gpu.transfer import to_device
from kernels.library.operators import Frontier, Rules, advance, atomic_min
from kernels.library.operators.gpu import arcs
from kernels.library.operators.gpu.tiles import sweeps as tiled
from tests.counts import examples
from tests.gpu.inputs import with_wide_rows
from tests.operators import cases, tile_cases


@pytest.fixture(autouse=True)
def swept(monkeypatch):
    """Tiles of eight heads, for any graph; the sweeps in this order so far."""
    monkeypatch.setattr(tiled, "_MOST_BITS", 3)
    monkeypatch.setattr(tiled, "_LEAST_BITS", 3)
    monkeypatch.setattr(tiled, "_LEAST_ARCS", 0)
    monkeypatch.setattr(tiled, "_LEAST_LENGTH", 0.01)
    monkeypatch.setattr(tiled, "_SAMPLE", 1)
    monkeypatch.setattr(tiled, "_LEAST_SHARE", 0)
    monkeypatch.setattr(tiled, "few_arcs", lambda graph: False)
    made, sweep = list[str](), arcs._visit_tiles

    def counted(frontier, *more):
        made.append(frontier.kind)
        sweep(frontier, *more)

    monkeypatch.setattr(arcs, "_visit_tiles", counted)
    return made


@pytest.mark.parametrize("name", cases.GRAPHS)
def test_every_sweep(name, swept):
    graph = cases.GRAPHS[name]()
    cases.require_same(tile_cases.everything_on_tiles(to_device(graph)), tile_cases.everything_on_tiles(graph))
    if name == "limits":
        assert (swept.count("all"), swept.count("dense")) == (30, 8)


def test_tiles_of_the_largest_size_and_many_bands(monkeypatch):
    monkeypatch.setattr(tiled, "_MOST_BITS", 15)
    monkeypatch.setattr("kernels.gpu.tiles.bands._BAND", 700)
    graph = cases.with_limits(np.int64)
    frontier = tile_cases.frontiers(graph)[1]
    there = tile_cases.frontiers(to_device(graph))[1]
    cases.require_same(tile_cases.on_tiles(there.graph, "in", there), tile_cases.on_tiles(graph, "in", frontier))


def test_rows_of_64_bits():
    graph = with_wide_rows(cases.with_limits())
    there = to_device(graph)
    cases.require_same(*(tile_cases.on_tiles(each, "out", tile_cases.frontiers(each)[0]) for each in (there, graph)))


def test_failures(swept):
    graph = cases.with_limits(np.int32)
    found = list(tile_cases.failures(to_device(graph)))
    assert found == list(tile_cases.failures(graph))
    assert sum(map(bool, found)) > len(found) // 2
    assert set(swept) == {"all"}  # functions that can fail are not called in this order over flags


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=300), st.lists(st.integers(0, 40)))
def test_any_graph(arcs, rows):
    graph = cases.graph_of_arcs(arcs, 41, np.int32)

    def answers(graph):
        least, values = cases.like(graph, np.full(41, 99, np.int32)), cases.like(graph, np.arange(41) * 5 % 17)

        def lower(row, neighbour, weight):
            return values[neighbour] > 2 and cases.atomic_min(least, neighbour, row + weight)

        def value(neighbour, row):
            return values[neighbour] * (row + 1)

        def keep(row, total):
            values[row] = total

        frontier = Frontier.of_rows(graph, rows, Rules(sparse_rows=0.0, tiled_after=0))
        found = advance(frontier, lower).rows()
        advance(frontier, value, direction="in", after=keep, collect="max") if frontier.size else None
        return [cases.host(each) for each in (found, least)]

    cases.require_same(answers(to_device(graph)), answers(graph))


def give_to(numbers):
    """A sweep that can be in the order of tiles."""

    def give(neighbour):
        cases.atomic_max(numbers, neighbour, 1)

    return give


def test_the_order_is_chosen_by_rules(swept, monkeypatch):
    """After so many sweeps of a direction, over all rows or flags of many, if segments are long and memory is free."""
    graph = to_device(cases.with_limits())
    numbers = cupy.zeros(graph.num_vertices, np.int32)
    give = give_to(numbers)
    everything = Frontier.everything(graph, Rules(tiled_after=2))
    for _ in range(4):
        advance(everything, give)
        advance(everything.under(tiled_after=None), give)
        advance(everything.under(segments=2), give)
    assert len(swept) == 2
    advance(everything, give, direction="in")
    advance(Frontier.of_rows(graph, range(300), cases.ALL_SPARSE), give)
    assert len(swept) == 2

    def flags(rows):
        return Frontier.of_rows(to_device(cases.with_limits()), rows, Rules(sparse_rows=0.0, tiled_after=0))

    def once(edge, frontier=None):
        advance(frontier or Frontier.everything(to_device(cases.with_limits()), Rules(tiled_after=0)), edge)
        return len(swept)

    for name, value in (("_LEAST_ARCS", 1 << 30), ("fits_in_memory", lambda *_: False), ("_LEAST_BITS", 16), ("few_arcs", bool)):
        with monkeypatch.context() as changed:
            changed.setattr(tiled, name, value)
            assert once(give) == 2

    def give_row(row, neighbour):
        cases.atomic_max(numbers, neighbour, row)

    monkeypatch.setattr(tiled, "_LEAST_SHARE", 0.25)
    many, few = range(50), range(50, 1500)  # arcs
    assert [once(give, flags(many)), once(give, flags(few)), once(give_row, flags(many))] == [3, 3, 3]
    monkeypatch.setattr(tiled, "_LEAST_LENGTH", 1e9)
    assert [once(give), once(give_row), once(give, flags(many))] == [4, 4, 4]


def test_arrays_that_share_memory_are_not_held(swept):
    """A call sees its own changes under every name."""
    graph = cases.with_limits()

    def answers(graph):
        numbers = cases.like(graph, np.full(graph.num_vertices, 50))
        same, found = numbers[:], cases.like(graph, np.zeros(graph.num_vertices, np.int64))

        def lower(neighbour, row):
            atomic_min(numbers, neighbour, row % 40)
            return same[neighbour] <= row % 40

        def keep(row, total):
            found[row] = total

        advance(Frontier.everything(graph, tile_cases.AT_ONCE), lower, after=keep, collect="sum")
        return [cases.host(each) for each in (numbers, found)]

    cases.require_same(answers(to_device(graph)), answers(graph))
    assert not swept


def test_one_form_of_a_direction_serves_all_functions(monkeypatch):
    """The one of smaller tiles, or with weights, takes the place of another."""
    graph = to_device(cases.with_limits(np.int32))
    numbers, wide = cupy.zeros(graph.num_vertices, np.int32), cupy.zeros(graph.num_vertices, np.int64)
    monkeypatch.setattr(tiled, "spare_bytes", lambda device: 47_000)

    def weigh(neighbour, weight):
        cases.atomic_max(wide, neighbour, weight)

    def forms():
        return [each for each in graph.derived._values.values() if isinstance(each, tiled.TiledArcs)]

    monkeypatch.setattr(tiled, "_MOST_BITS", 15)
    everything = Frontier.everything(graph, Rules(tiled_after=0))
    advance(everything, give_to(numbers))
    (first,) = forms()
    assert (first.bits, first.weights) == (13, None)
    advance(everything, weigh)
    (second,) = forms()
    assert second.bits == 12
    assert second.weights is not None
    advance(everything, give_to(numbers))
    assert forms() == [second]


def test_length_of_segments():
    graph = to_device(cases.graph_of_arcs([(0, 0), (0, 1), (0, 9), (1, 3), (2, 2), (2, 16), (2, 17)], 20))
    assert tiled.length_of_segments(graph.out, 3) == 7 / 5
    assert tiled.length_of_segments(to_device(cases.graph_of_arcs([], 5)).out, 3) == 0
