"""PageRank over shards on a GPU: within 1e-6 of the CPU's scores in sum, and the same bits in every run.

One shard gives the bits of the kernel for one rank.
"""

# ruff: noqa: E402  (the imports below need CuPy)
import random
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.graphs import facebook, new_york, wiki_vote
from kernels import pagerank as single_rank
from kernels.distributed.assembly import to_device
from kernels.distributed.shard import ShardAnswer
from kernels.distributed.threads import run_ranks
from kernels.gpu.transfer import to_device as graph_to_device
from kernels.graph import Array, Graph
from kernels.pagerank import tiles
from kernels.pagerank.sharded import pagerank
from tests.gpu.inputs import poison, random_edges, with_wide_rows
from tests.gpu.shards import on_gpu_shards
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, SIZES, bounds_of, whole
from tests.sharded.shards import even_bounds, split


def check(graph: Graph, *all_bounds: Array) -> None:
    expected = single_rank.pagerank(graph)
    for bounds in all_bounds:
        parts = on_gpu_shards(pagerank, graph, bounds)
        scores = whole(parts, "scores")
        assert scores.dtype == np.float64
        assert float(np.abs(scores - expected.scores).sum()) <= 1e-6
        assert len({(part.answer.iterations, part.answer.change, part.supersteps) for part in parts}) == 1
        assert abs(parts[0].answer.iterations - expected.iterations) <= 1


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    graph = graph_of(edges, random.Random(2).sample(edges.ids, len(edges.ids)))
    check(graph, *(even_bounds(graph, size) for size in (1, 2, 7)))


@pytest.mark.parametrize("make", [new_york, facebook, wiki_vote])
def test_real_graphs(make: Any) -> None:
    graph = make()
    check(graph, even_bounds(graph, 2), even_bounds(graph, 7), bounds_of([5, 5, 999], graph.num_vertices))


def test_rows_without_arcs() -> None:
    arcs = tuple((7 * i, 7 * (i % 50) + 3) for i in range(900))
    graph = graph_of(EdgeList("idle", arcs, True, tuple(range(40_000))))
    check(graph, even_bounds(graph, 3))


@pytest.mark.parametrize("directed", [False, True])
def test_rows_of_many_tiles_and_bands(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernels.gpu.tiles.bands._BAND", 5000)
    graph = graph_of(random_edges(11, 5 << tiles.TILE_BITS, 150_000, directed, 3))
    check(graph, even_bounds(graph, 3), bounds_of([40_000, 40_000], graph.num_vertices))


def test_any_number_of_shards_and_wide_rows() -> None:
    graph = graph_of(random_edges(5, 2000, 9000, True, 2))
    check(graph, *(even_bounds(graph, size) for size in SIZES))
    check(with_wide_rows(graph), even_bounds(graph, 3))


def test_one_shard_has_the_bits_of_the_kernel_for_one_rank() -> None:
    """Of that with tiles, which the graph has arcs enough for: shards always have tiles."""
    graph = graph_of(random_edges(7, 70_000, 700_000, True, 2))
    expected = single_rank.pagerank(graph_to_device(graph))
    (part,) = on_gpu_shards(pagerank, graph, even_bounds(graph, 1))
    assert part.answer.scores.tobytes() == expected.scores.get().tobytes()
    assert (part.answer.iterations, part.answer.change) == (expected.iterations, expected.change)


def test_the_same_bits_in_every_run_and_with_arcs_in_host_memory() -> None:
    graph = graph_of(random_edges(7, 20_000, 90_000, True, 2))
    shards = split(graph, even_bounds(graph, 3))
    kept = [to_device(shard) for shard in shards]

    def scores_of(of_shards: list[Any]) -> bytes:
        poison()

        def run(communicator: Any) -> ShardAnswer[Any]:
            return pagerank(of_shards[communicator.rank], communicator)

        return b"".join(part.answer.scores.get().tobytes() for part in run_ranks(3, run, DEADLINE))

    first = scores_of(kept)
    for _ in range(10):
        assert scores_of(kept) == first
    assert scores_of([to_device(shard, "host") for shard in shards]) == first


def test_groups_of_bands_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernels.gpu.tiles.bands._BAND", 4000)
    graph = graph_of(random_edges(23, 40_000, 30_000, True, 2))
    bounds = even_bounds(graph, 2)
    expected = whole(on_gpu_shards(pagerank, graph, bounds), "scores")
    monkeypatch.setattr(tiles, "_PARTIALS", 5000)
    made: list[int] = []
    monkeypatch.setattr(tiles, "_in_groups", lambda *given, real=tiles._in_groups: made.append(len(given[0])) or real(*given))
    assert whole(on_gpu_shards(pagerank, graph, bounds), "scores").tobytes() == expected.tobytes()
    assert min(made) >= 2


def test_iteration_stops_at_its_limits() -> None:
    graph = graph_of(NAMED_GRAPHS[-1])
    bounds = even_bounds(graph, 3)
    assert on_gpu_shards(pagerank, graph, bounds, 0.85, 1e-6, 3)[0].answer.iterations == 3
    np.testing.assert_array_equal(whole(on_gpu_shards(pagerank, graph, bounds, 0.85, 1e-6, 0), "scores"), np.full(7, 1 / 7))
