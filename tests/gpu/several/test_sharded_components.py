"""Weak and strong components over shards on a GPU: the same labels as on a single CPU rank, to the byte, for any bounds."""
# ruff: noqa: E402  (the imports below need CuPy)

import functools
import random
from itertools import pairwise

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.graphs import graph_of_arcs, grid, random_digraph, rmat
from kernels.answers import Components
from kernels.distributed.shard import ShardAnswer
from kernels.gpu.loader import launch
from kernels.graph import Array, Graph
from kernels.scc import scc as single_rank_scc
from kernels.scc.sharded import scc
from kernels.wcc import wcc as single_rank_wcc
from kernels.wcc.sharded import cuda as cuda_wcc
from kernels.wcc.sharded import shared_trees, wcc
from tests.answers import uncleaned
from tests.gpu.shards import on_gpu_shards
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import SIZES, bounds_of, dealing_of, dealt, whole
from tests.sharded.shards import even_bounds

GATHER_NONE = 0  # every tree is joined by rounds
KERNELS = {"wcc": (wcc, single_rank_wcc), "scc": (scc, single_rank_scc)}
both_kernels = pytest.mark.parametrize("kernel", KERNELS)


def check(kernel: str, graph: Graph, bounds, *arguments) -> list[ShardAnswer[Components]]:
    over_shards, single_rank = KERNELS[kernel]
    expected = single_rank(graph).labels
    parts = on_gpu_shards(over_shards, graph, bounds, *arguments)
    labels = whole(parts, "labels")
    np.testing.assert_array_equal(labels, expected)
    assert labels.dtype == expected.dtype
    assert len({part.supersteps for part in parts}) == 1
    return parts


@both_kernels
@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(kernel: str, edges: EdgeList) -> None:
    few = len(edges.ids) < 200  # a long path in random order would cross a border at every row
    order = random.Random(3).sample(edges.ids, len(edges.ids)) if few else edges.ids
    graph = graph_of(edges, order)
    for size in SIZES:
        check(kernel, graph, even_bounds(graph, size))
    for cuts in ([0, 0, 1], [len(edges.ids)] * 2, [3, 3, 5]):
        check(kernel, uncleaned(edges, order), bounds_of(cuts, graph.num_vertices))


def random_case(seed: int) -> tuple[Graph, Array]:
    """A small graph, and bounds that may leave ranks without rows."""
    chance = random.Random(seed)
    vertices = chance.choice((2, 9, 21, 60))
    ends = [
        (chance.randrange(vertices) * 8 % 61, chance.randrange(vertices) * 8 % 61) for _ in range(chance.randrange(4 * vertices))
    ]
    edges = EdgeList("random", tuple(ends), chance.random() < 0.5, tuple(chance.sample(range(61), 3)))
    graph = uncleaned(edges, chance.sample(edges.ids, len(edges.ids)))
    return graph, bounds_of([chance.randrange(len(edges.ids) + 1) for _ in range(chance.randrange(8))], graph.num_vertices)


@both_kernels
@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_with_any_bounds(kernel: str, seed: int) -> None:
    check(kernel, *random_case(seed))
    if kernel == "wcc":
        check(kernel, *random_case(seed), GATHER_NONE)


@pytest.mark.parametrize("arcs_a_row", [1, 3])
def test_shards_of_few_arcs_that_sample(arcs_a_row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All shards sample, or some of them: arcs that one rank leaves unread are read by the owner of the other end."""
    monkeypatch.setattr(cuda_wcc, "MANY_ARCS", arcs_a_row)
    for seed in range(16):
        check("wcc", *random_case(seed))


def sparse(degree: float, symmetric: bool) -> Graph:
    """Random graph with a giant weak component, from degree 1 a giant strong one, and small components."""
    numbers = np.random.default_rng(int(10 * degree))
    src, dst = numbers.integers(30_000, size=(2, int(30_000 * degree)))
    if symmetric:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    return graph_of_arcs(src, dst, None, 30_000, symmetric)


def hubs(symmetric: bool) -> Graph:
    """Stars of many sizes with leaves on all ranks; some hubs are connected."""
    numbers = np.random.default_rng(4)
    hub = np.repeat(np.arange(8), [3, 31, 32, 33, 1000, 1025, 5000, 20_000])
    leaves = 8 + numbers.permutation(len(hub))
    src, dst = np.append(hub, [0, 1, 6]), np.append(leaves, [1, 2, 7])
    flipped = numbers.random(len(src)) < 0.5
    src, dst = np.where(flipped, dst, src), np.where(flipped, src, dst)
    if symmetric:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    return graph_of_arcs(src, dst, None, len(hub) + 500, symmetric)


def islands(directed: bool) -> Graph:
    """Disconnected dense graphs of 1000 rows each: every rank has its own giant tree."""
    numbers = np.random.default_rng(6)
    src, dst = numbers.integers(1000, size=(2, 8 * 12_000)) + 1000 * np.repeat(np.arange(8), 12_000)
    if not directed:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
    return graph_of_arcs(src, dst, None, 8000, not directed)


DIRECTED = (
    *(functools.partial(sparse, degree, symmetric=False) for degree in (0.5, 1.1, 1.5, 9)),
    functools.partial(hubs, symmetric=False),
    functools.partial(islands, directed=True),
    functools.partial(random_digraph, 1 << 13),
)
SYMMETRIC = (
    *(functools.partial(sparse, degree, symmetric=True) for degree in (0.5, 3)),
    functools.partial(hubs, symmetric=True),
    functools.partial(islands, directed=False),
    functools.partial(grid, 300),
    functools.partial(rmat, 14),
)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("kernel", "load"), [("scc", load) for load in DIRECTED] + [("wcc", load) for load in DIRECTED + SYMMETRIC]
)
def test_larger_graphs_equal_a_single_rank(kernel: str, load, size: int) -> None:
    graph = load()
    check(kernel, graph, even_bounds(graph, size))
    cuts = np.random.default_rng(size).integers(graph.num_vertices + 1, size=size - 1).tolist()
    check(kernel, graph, bounds_of(cuts, graph.num_vertices))


@pytest.mark.parametrize("cuts", [[1000, 2000], [500, 1500, 2500], [4000]])
def test_dense_islands_whose_giant_trees_do_not_meet(cuts) -> None:
    for directed in (False, True):
        graph = islands(directed)
        check("wcc", graph, bounds_of(cuts, graph.num_vertices))


def test_a_chain_that_alternates_between_two_ranks_is_one_component() -> None:
    places = np.arange(3_000)
    rows = np.where(places % 2, 1_500 + places // 2, places // 2)
    order = np.random.default_rng(5).permutation(1_500)
    rows = np.where(rows < 1_500, order[rows % 1_500], 1_500 + order[rows % 1_500])
    graph = graph_of_arcs(rows[:-1], rows[1:], None, 3_000, symmetric=False)
    for gathered in (GATHER_NONE, 100):
        check("wcc", graph, bounds_of([1_500], 3_000), gathered)


def test_trees_of_a_chain_that_alternates_between_two_ranks_stay_low() -> None:
    low, high = np.arange(1 << 13), np.arange(1 << 13, 1 << 14)
    near, far = (np.concatenate(ends) for ends in ((low, low[1:]), (high, high[:-1])))
    trees, edges = cupy.asarray([0, 1 << 14]), cupy.asarray([0, len(near)])
    message = cupy.asarray(np.concatenate([np.arange(2 << 14), near, far]))
    given = trees, edges, np.int32(1), np.int32(0), cupy.arange(1 << 14, dtype=np.int32)
    parent, least, held = cupy.empty((3, 1 << 14), np.int64)
    holders = cupy.empty(1 << 14, np.int32)
    arguments = (message, *given, parent, least, held, holders, cupy.zeros(3, np.int64))
    launch("wcc/sharded/shared_trees.cu", "name_all", 512, len(near), *arguments, ROW=holders.dtype)
    assert (holders == 1 << 14).all()  # the row of rank 0
    above, place, most = cupy.asnumpy(parent), np.arange(1 << 14), 0
    while (above[place] != place).any():
        place, most = above[place], most + 1
    assert (place == 0).all()
    assert most < 30  # the expected height of random links without path compression is e ln V, 26


def test_duplicate_edges_are_dropped_if_edges_are_many_or_few_may_be_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(shared_trees, "_MANY", 1)
        for seed in range(16):
            check("wcc", *random_case(seed))
    ladders = np.cumsum([0, 300, 100])  # each rank has one side of both ladders; the larger ladder is the giant component
    left = np.concatenate([np.arange(begin, end) for begin, end in pairwise(ladders)])
    rails = np.setdiff1d(left, ladders[1:] - 1)
    src = np.concatenate([rails, 400 + rails, left])
    dst = np.concatenate([rails + 1, 401 + rails, 400 + left])
    parts = check("wcc", graph_of_arcs(src, dst, None, 800, symmetric=False), bounds_of([400], 800), 16)
    assert parts[0].supersteps == 5


def test_only_small_components_are_joined_one_by_one() -> None:
    graph = rmat(15)
    for size in (2, 8):
        dealing = dealing_of(graph, size)
        parts = check("wcc", dealt(graph, dealing), dealing.bounds, 64)
        assert parts[0].supersteps == 5


def test_a_road_network_takes_few_supersteps() -> None:
    graph = grid(300)
    parts = check("wcc", graph, even_bounds(graph, 8))
    assert parts[0].supersteps == 5


@both_kernels
def test_twenty_repeats_give_one_answer(kernel: str) -> None:
    graph = sparse(1.5, symmetric=False)
    for _ in range(20):
        check(kernel, graph, even_bounds(graph, 4))
