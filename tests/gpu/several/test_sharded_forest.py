"""The minimum spanning forest over shards on a GPU: the edges and labels of a single CPU rank, to the byte, for any bounds."""
# ruff: noqa: E402  (the imports below need CuPy)

import functools
import random
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.graphs import facebook, graph_of_arcs, graph_of_edges, grid, random_digraph, rmat
from kernels.answers import Forest
from kernels.distributed.assembly import to_device
from kernels.distributed.shard import ShardAnswer
from kernels.distributed.threads import run_ranks
from kernels.forest import minimum_spanning_forest as single_rank
from kernels.forest.sharded import minimum_spanning_forest
from kernels.forest.sharded.cuda import span
from kernels.forest.sharded.filter import without_heavy
from kernels.gpu.transfer import on_host
from kernels.graph import Csr, Graph
from tests.answers import uncleaned
from tests.gpu.shards import on_gpu_shards
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, SIZES, assert_forest, bounds_of
from tests.sharded.shards import even_bounds, split

DTYPES = (np.int32, np.int64, np.float32, np.float64)


def on_device(shard, communicator, gathered: int) -> ShardAnswer[Forest]:
    """The hosts join no edges, but every rank may gather `gathered`."""
    return span(shard, communicator, gathered, 0)


def of_light_arcs(shard, communicator) -> ShardAnswer[Forest]:
    """Heavy arcs are dropped from any graph, however few arcs it has."""
    return span(shard, communicator, 20, dense=0)


def check(graph: Graph, bounds) -> list[ShardAnswer[Forest]]:
    expected = single_rank(graph)
    parts = on_gpu_shards(minimum_spanning_forest, graph, bounds)
    others = [on_gpu_shards(on_device, graph, bounds, gathered) for gathered in (0, 20)]
    for some in (parts, *others, on_gpu_shards(of_light_arcs, graph, bounds)):
        assert_forest(graph, some, expected)
    return parts


@pytest.mark.parametrize(
    ("edges", "dtype"),
    [
        pytest.param(edges, dtype, id=f"{edges.name}-{dtype.__name__}")
        for edges in NAMED_GRAPHS
        for dtype in (DTYPES if edges.weighted else DTYPES[:1])
        if all(np.array(weight).astype(dtype) == weight for weight in edges.arcs().values())
    ],
)
def test_named_graphs(edges: EdgeList, dtype: type) -> None:
    few = len(edges.ids) < 200  # a long path in random order would cross a border at every row
    graph = graph_of(edges, random.Random(4).sample(edges.ids, len(edges.ids)) if few else edges.ids, dtype)
    for size in SIZES if dtype is np.int32 else (3,):
        check(graph, even_bounds(graph, size))
    check(graph, bounds_of([0, 2, 2, len(edges.ids)], graph.num_vertices))


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_with_many_equal_weights_with_any_bounds(seed: int) -> None:
    chance = random.Random(seed)
    vertices, weighted, most = chance.choice((2, 9, 17, 60)), chance.random() < 0.7, chance.choice((0, 4, 1000))
    ends = [chance.randrange(vertices) * 8 % 61 for _ in range(2 * chance.randrange(4 * vertices))]
    pairs = [(*pair, chance.randint(0, most)) if weighted else pair for pair in zip(ends[::2], ends[1::2], strict=True)]
    edges = EdgeList("random", tuple(pairs), chance.random() < 0.5, tuple(chance.sample(range(61), 3)))
    bounds = bounds_of([chance.randrange(len(edges.ids) + 1) for _ in range(chance.randrange(8))], len(edges.ids))
    order = chance.sample(edges.ids, len(edges.ids))
    for graph in (graph_of(edges, order, chance.choice(DTYPES)), uncleaned(edges, order)):
        check(graph, bounds)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_dense_graphs(dtype: type, symmetric: bool) -> None:
    numbers = np.random.default_rng(11)
    src, dst = numbers.integers(1 << 11, size=(2, 1 << 15))
    for largest in (1, 5, 10_000):
        weights = numbers.integers(0, largest, 1 << 15).astype(dtype)
        graph = graph_of_edges(src, dst, weights, 2_100) if symmetric else graph_of_arcs(src, dst, weights, 2_100, False)
        for size in (2, 7):
            check(graph, even_bounds(graph, size))


@pytest.mark.parametrize("weighted", [True, False])
def test_a_dense_graph_loses_most_arcs_before_they_are_copied(weighted: bool) -> None:
    """What stays has its weights, and both arcs of each edge."""
    graph = rmat(11)
    if not weighted:
        out = Csr(graph.out.offsets, graph.out.indices, None)
        graph = replace(graph, out=out, into=out)
    shards = split(graph, even_bounds(graph, 2))

    def kept(ranks):
        found, _ = without_heavy(to_device(shards[ranks.rank]), ranks)
        out, rows = on_host(found.local_out), cupy.asnumpy(found.local_rows)
        tails = np.repeat(rows[: len(found.ids)], np.diff(out.offsets[: len(found.ids) + 1]))
        return list(zip(tails.tolist(), rows[out.indices].tolist(), out.weights.tolist() if weighted else tails * 0, strict=True))

    arcs = [arc for of_rank in run_ranks(2, kept, DEADLINE) for arc in of_rank]
    weights = graph.out.weights if weighted else np.zeros(graph.num_arcs, np.int64)
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    assert set(arcs) <= set(zip(tails.tolist(), graph.out.indices.tolist(), weights.tolist(), strict=True))
    assert {(head, tail, weight) for tail, head, weight in arcs} == set(arcs)
    assert 0 < len(arcs) < graph.num_arcs / 2


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "load", [functools.partial(grid, 300), facebook, functools.partial(rmat, 14), functools.partial(random_digraph, 1 << 13)]
)
def test_larger_graphs_equal_a_single_rank(load, size: int) -> None:
    graph = load()
    check(graph, even_bounds(graph, size))


@pytest.mark.parametrize("weight", [lambda places: places, lambda places: places[::-1].copy(), np.ones_like])
def test_a_long_path(weight) -> None:
    places = np.arange(99_999)
    check(graph_of_edges(places, places + 1, weight(places), 100_000), bounds_of([10, 30_000, 70_000], 100_000))


def test_a_road_network_takes_few_supersteps() -> None:
    graph = grid(300)
    parts = on_gpu_shards(minimum_spanning_forest, graph, even_bounds(graph, 8))
    assert_forest(graph, parts, single_rank(graph))
    assert parts[0].supersteps == 4


def test_twenty_repeats_give_one_answer() -> None:
    graph = random_digraph(1 << 12, 4)
    for _ in range(20):
        check(graph, even_bounds(graph, 4))
