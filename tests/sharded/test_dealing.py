"""Dealing rows to ranks: each row once, evenly if rows are ordered by degree, and with the answers of a single rank."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import DATA, graph_of_arcs, graph_of_edges, grid, rmat
from kernels.answers import Components, Forest, Paths, ReachabilityIndex, Scores
from kernels.bfs.sharded import bfs
from kernels.distributed.dealing import BLOCKS_PER_RANK, Dealing, deal
from kernels.forest.sharded import minimum_spanning_forest
from kernels.graph import NO_ROW, OFFSET, Array, Graph
from kernels.layout.laid_out import take_rows
from kernels.layout.orders import by_degree_in_windows
from kernels.pagerank.sharded import pagerank
from kernels.reachability import reachability
from kernels.reachability.sharded import reachability as reachability_over_shards
from kernels.scc.sharded import scc
from kernels.sssp.sharded import sssp
from kernels.wcc.sharded import wcc
from tests.counts import examples
from tests.sharded.answers import changed, single_rank_answers, verdicts
from tests.sharded.indexes import assert_index
from tests.sharded.ranks import SIZES, SOME_SIZES, assert_forest, dealing_of, dealt, evenly, on_shards, whole
from tests.sharded.shards import cut_of, even_bounds

pytestmark = pytest.mark.sampled


def in_order(graph: Graph, window: int | None) -> Graph:
    """The same graph with its rows ordered by degree, globally or within windows."""
    degrees = np.diff(graph.out.offsets)
    order = by_degree_in_windows(degrees, 2**62 if window is None else window)
    rows = np.empty_like(graph.rows_by_id)
    rows[order] = np.arange(len(rows), dtype=rows.dtype)
    out = take_rows(graph.out, order, rows)
    into = out if graph.symmetric else take_rows(graph.into, order, rows)
    return Graph(graph.ids[order], rows[graph.rows_by_id], out, into, graph.directed)


def all_stay(_: Array) -> Array:
    return np.zeros(2, OFFSET)


def shares(dealing: Dealing, degrees: Array) -> tuple[Array, Array]:
    """Rows and arcs of each rank, relative to an even share."""
    size = len(dealing.bounds) - 1
    arcs = [sum(int(degrees[rows.start : rows.stop].sum()) for rows in dealing.blocks(rank)) for rank in range(size)]
    return size * np.diff(dealing.bounds) / len(degrees), size * np.array(arcs) / degrees.sum()


@settings(max_examples=examples(200))
@given(
    degrees=st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 7, 50, 1000]), max_size=60),
    size=st.sampled_from((*SIZES, 30)),
    descend=st.booleans(),
    dtype=st.sampled_from([np.int32, np.int64]),
)
def test_every_row_is_dealt_once_and_each_rank_keeps_their_order(degrees, size, descend, dtype) -> None:
    degrees = np.array(sorted(degrees, reverse=True) if descend else degrees, OFFSET)
    dealing = deal(cut_of(degrees), all_stay, size)
    rows = np.arange(len(degrees), dtype=dtype)
    numbers = dealing.dealt(rows)
    assert numbers.dtype == dtype
    assert sorted(numbers.tolist()) == rows.tolist()
    np.testing.assert_array_equal(dealing.stored(numbers), rows)
    assert len(dealing.bounds) == size + 1
    for rank in range(size):
        stored = [row for piece in dealing.blocks(rank) for row in piece]
        assert stored == sorted(stored)
        assert numbers[stored].tolist() == list(range(dealing.bounds[rank], dealing.bounds[rank + 1]))
    assert dealing.keeps == (numbers == rows).all()
    assert len(dealing.owners) <= BLOCKS_PER_RANK * size
    in_place = rows.copy()
    assert dealing.dealt(in_place, in_place) is in_place
    np.testing.assert_array_equal(in_place, numbers)


@pytest.mark.parametrize("window", [None, 256, 4096])
def test_a_skewed_graph_is_dealt_evenly(window: int | None) -> None:
    degrees = np.diff(in_order(rmat(14), window).out.offsets)
    for size in (2, 4, 8):
        ranges = cut_of(degrees)(size, 0)[0]
        assert size * np.diff(ranges).max() / len(degrees) > 1.9
        for share in shares(deal(cut_of(degrees), all_stay, size), degrees):
            assert 0.95 < share.min() <= share.max() < 1.05


@pytest.mark.parametrize("size", [2, 4, 8])
def test_the_owner_of_a_hub_gets_fewer_other_rows(size: int) -> None:
    """In a star half of the arcs belong to one row."""
    degrees = np.array([100_000, *[1] * 100_000], OFFSET)
    rows, arcs = shares(deal(cut_of(degrees), all_stay, size), degrees)
    assert arcs.max() < size / 2 + 0.4  # the hub alone has size / 2 shares
    assert rows.max() < 1.25
    assert rows[arcs.argmin()] > 1


@pytest.mark.parametrize("size", [*SIZES, 32])
def test_grids_keep_contiguous_ranges(size: int) -> None:
    for graph in (grid(150), in_order(grid(150), 64)):
        dealing = dealing_of(graph, size)
        assert dealing.keeps
        np.testing.assert_array_equal(dealing.bounds, even_bounds(graph, size))
        assert [len(dealing.blocks(rank)) for rank in range(size)] == [1] * size


def anywhere() -> Graph:
    """Arcs between any two rows, in the order of their ids."""
    src, dst = np.random.default_rng(1).integers(0, 20_000, (2, 25_000))
    return in_order(graph_of_edges(src, dst, None, 20_000), 4096)


@pytest.mark.parametrize("size", [2, 4, 7])
def test_ranks_have_equally_many_edges_where_arcs_lead_anywhere(size: int) -> None:
    """An edge belongs to the owner of its smaller id, so of ranges in the order of ids the first would have most edges."""
    graph, edges = anywhere(), []
    dealing = dealing_of(graph, size)
    assert not dealing.keeps
    for bounds, of in ((even_bounds(graph, size), graph), (dealing.bounds, dealt(graph, dealing))):
        parts = on_shards(minimum_spanning_forest, of, bounds)
        counts = np.array([len(part.answer.src) for part in parts])
        edges.append(counts.max() / counts.mean())
    assert edges[0] > 1.4
    assert edges[1] < 1.15


def test_the_roads_of_rome_keep_contiguous_ranges() -> None:
    src, dst = np.loadtxt(DATA / "rome99.gr.gz", np.int64, comments=("c", "p"), usecols=(1, 2)).T - 1
    graph = in_order(graph_of_arcs(src, dst, None, 3_353, symmetric=False), 256)
    assert all(dealing_of(graph, size).keeps for size in SIZES)


def votes() -> Graph:
    """A skewed directed graph: a random fifth of the arcs of a symmetric one."""
    graph = rmat(9)
    some = np.random.default_rng(5).random(graph.num_arcs) < 0.2
    src = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))[some]
    return graph_of_arcs(src, graph.out.indices[some], graph.out.weights[some], graph.num_vertices, symmetric=False)


@pytest.fixture(scope="module", params=["symmetric", "directed"])
def skewed(request) -> Graph:  # type: ignore[no-untyped-def]
    return in_order(rmat(9), None) if request.param == "symmetric" else in_order(votes(), None)


def renumbered(answer: Any, dealing: Dealing) -> Any:
    """An answer in stored rows, converted to dealt rows."""
    stored = dealing.stored(np.arange(dealing.bounds[-1]))

    def named(rows: Array) -> Array:
        return np.where(rows == NO_ROW, NO_ROW, dealing.dealt(np.maximum(rows, 0))).astype(rows.dtype)

    if isinstance(answer, Paths):
        (source,) = dealing.dealt(np.array([answer.source])).tolist()
        return Paths(source, answer.distance[stored], named(answer.predecessor)[stored])
    if isinstance(answer, Components):
        return Components(named(answer.labels)[stored])
    if isinstance(answer, Forest):
        return Forest(named(answer.src), named(answer.dst), answer.weights, named(answer.labels)[stored])
    if isinstance(answer, ReachabilityIndex):
        nodes = answer.condensation
        return replace(answer, condensation=replace(nodes, node=nodes.node[stored], names=named(nodes.names)))
    return Scores(answer.scores[stored])


KERNELS = {"bfs": bfs, "sssp": sssp, "mst": minimum_spanning_forest, "wcc": wcc, "scc": scc, "pagerank": pagerank}


@pytest.mark.parametrize("size", SOME_SIZES)
def test_answers_and_verdicts_equal_those_of_a_single_rank(skewed: Graph, size: int) -> None:
    dealing = dealing_of(skewed, size)
    assert dealing.keeps == (size == 1)
    graph, bounds = dealt(skewed, dealing), dealing.bounds
    graph.validate()
    for name, answer in single_rank_answers(skewed).items():
        expected = renumbered(answer, dealing)
        parts = on_shards(KERNELS[name], graph, bounds, *([expected.source] if isinstance(expected, Paths) else []))
        if name == "mst":
            assert_forest(graph, parts, expected)
        elif name == "pagerank":
            (one,) = evenly(pagerank, skewed, 1)
            assert whole(parts, "scores").tobytes() == renumbered(one.answer, dealing).scores.tobytes()
        else:
            for column in vars(expected).keys() - {"source"}:
                found = whole(parts, column)
                assert found.dtype == getattr(expected, column).dtype
                np.testing.assert_array_equal(found, getattr(expected, column))
        wrong = next(changed(name, expected, np.random.default_rng(size)))
        assert [verdict.holds for verdict in verdicts(name, graph, bounds, [expected, wrong])] == [True, False]
    index = renumbered(reachability(skewed, 3, 2), dealing)
    assert_index(on_shards(reachability_over_shards, graph, bounds, 3, 2), index)
