"""A forest is rooted over ranks as by one process, and the check of its rows finds every wrong one."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import graph_of_edges, grid
from kernels.answers import Forest
from kernels.distributed.shard import Shard
from kernels.distributed.threads import run_ranks
from kernels.forest import minimum_spanning_forest
from kernels.forest.rooted import root_forest as by_one
from kernels.forest.sharded.rooting import RootedRows, root_forest, wrong_row
from kernels.graph import NO_ROW, Array, Graph
from tests.counts import examples
from tests.sharded.answers import part_of
from tests.sharded.ranks import DEADLINE, bounds_of
from tests.sharded.shards import even_bounds, split


def rooted(shards: list[Shard], forest: Forest) -> list[RootedRows]:
    return run_ranks(
        len(shards), lambda ranks: root_forest(shards[ranks.rank], ranks, part_of(forest, shards[ranks.rank].rows)), DEADLINE
    )


def found(shards: list[Shard], rows: list[RootedRows], forest: Forest) -> int:
    """The position of the first wrong row."""
    positions = run_ranks(
        len(shards),
        lambda ranks: wrong_row(shards[ranks.rank], ranks, rows[ranks.rank], part_of(forest, shards[ranks.rank].rows)),
        DEADLINE,
    )
    assert len(set(positions)) == 1
    return positions[0]


def require_rooted(graph: Graph, bounds: Array) -> None:
    forest, positions, shards = minimum_spanning_forest(graph), graph.positions, split(graph, bounds)
    labels = forest.labels[forest.src]
    expected = by_one(positions[forest.src], positions[forest.dst], positions[labels], graph.num_vertices)
    parts = rooted(shards, forest)
    whole = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])[graph.rows_by_id] for field in fields(parts[0])
    }
    is_root = expected.parent == NO_ROW
    np.testing.assert_array_equal(whole["parent"], np.where(is_root, NO_ROW, graph.rows_by_id[expected.parent]))
    np.testing.assert_array_equal(whole["depth"], expected.depth)
    weights = np.append(forest.weights, forest.weights.dtype.type(-1))  # NO_ROW is the last one
    np.testing.assert_array_equal(whole["weight"], weights[expected.edge])
    np.testing.assert_array_equal(whole["root"], graph.rows_by_id[expected.root])
    assert found(shards, parts, forest) == -1


@settings(max_examples=examples(60))
@given(st.integers(1, 30), st.lists(st.integers(0, 10**6), max_size=80), st.lists(st.integers(0, 30), max_size=6))
def test_random_forests_with_any_bounds(count, numbers, cuts) -> None:
    ends = np.array(numbers[: len(numbers) // 2 * 2], np.int64).reshape(2, -1) % count
    graph = graph_of_edges(*ends, np.array(numbers[: ends.shape[1]]) % 3, count)
    require_rooted(graph, bounds_of(cuts, count))


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_long_path_takes_few_exchanges(shuffled, monkeypatch) -> None:
    places = np.random.default_rng(1).permutation(20_000) if shuffled else np.arange(20_000)
    graph = graph_of_edges(places[:-1], places[1:], np.arange(19_999) % 7, 20_000)
    exchanges = []
    for ranks in (1, 3):
        bounds = even_bounds(graph, ranks)
        require_rooted(graph, bounds)
        shards, forest = split(graph, bounds), minimum_spanning_forest(graph)

        def counted(communicator, shards=shards, forest=forest):
            calls, exchange = [], communicator.exchange
            communicator.exchange = lambda *given: calls.append(1) or exchange(*given)
            root_forest(shards[communicator.rank], communicator, part_of(forest, shards[communicator.rank].rows))
            return len(calls)

        exchanges += run_ranks(ranks, counted, DEADLINE)
    assert max(exchanges) < 8 * np.log2(20_000)


def test_a_grid() -> None:
    graph = grid(60)
    require_rooted(graph, even_bounds(graph, 4))


@pytest.mark.parametrize("column", ["parent", "weight", "depth", "root"])
def test_a_wrong_row_is_found_on_any_rank(column) -> None:
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 40, (2, 50))
    graph = graph_of_edges(src, dst, rng.integers(1, 5, 50), 44)
    forest, shards = minimum_spanning_forest(graph), split(graph, bounds_of([9, 20], 44))
    right = rooted(shards, forest)
    for rank, rows in enumerate(right):
        values = getattr(rows, column)
        for row in range(len(values)):
            for wrong in {-1, int(values[row]) + 1, 0} - {int(values[row])}:
                changed = values.copy()
                changed[row] = wrong % 45 if column in ("parent", "root") and wrong > 43 else wrong
                mutant = [*right[:rank], replace(rows, **{column: changed}), *right[rank + 1 :]]
                assert found(shards, mutant, forest) >= 0


def test_a_cycle_of_edges_ends_and_is_refused() -> None:
    ends = np.array([[0, 1, 2, 0], [1, 2, 3, 3]], np.int32)
    graph = graph_of_edges(*ends, np.ones(4, np.int64), 4)
    cycle = Forest(ends[0], ends[1], np.ones(4, np.int64), np.zeros(4, np.int32))
    shards = split(graph, bounds_of([1, 2, 3], 4))
    assert found(shards, rooted(shards, cycle), cycle) >= 0
