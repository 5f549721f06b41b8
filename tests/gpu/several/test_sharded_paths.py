"""Paths over shards on a GPU equal the CPU's for one rank, to the byte, for any bounds and by both methods."""

# ruff: noqa: E402  (the imports below need CuPy)
import random
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.graphs import facebook, grid, new_york, random_digraph, rmat, wiki_vote
from kernels import bfs as single_rank_bfs
from kernels import sssp as single_rank_sssp
from kernels.bfs.sharded import bfs
from kernels.bfs.sharded import cuda as cuda_bfs
from kernels.distributed.assembly import to_device
from kernels.distributed.threads import run_ranks
from kernels.gpu.transfer import on_host
from kernels.graph import Graph
from kernels.paths.sharded import long_paths_cuda as long_paths
from kernels.paths.sharded.totals import GraphTotals, totals_of
from kernels.sssp.sharded import cuda as cuda_sssp
from kernels.sssp.sharded import sssp
from tests.answers import uncleaned
from tests.gpu.inputs import with_wide_rows
from tests.gpu.shards import on_gpu_shards
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.algorithms.test_paths import require_same, zero_chain
from tests.sharded.ranks import DEADLINE, SIZES, bounds_of
from tests.sharded.shards import even_bounds, split

KERNELS = {"bfs": (bfs, single_rank_bfs.bfs), "sssp": (sssp, single_rank_sssp.sssp)}
WEIGHTS = (np.int32, np.int64, np.float32, np.float64)
NAMED = [edges for edges in NAMED_GRAPHS if edges.ids]


@pytest.fixture(params=["long paths", "short paths", "by degrees"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both methods, and the one that the graph's degrees decide; the latter never pushes, because so few arcs are all read."""
    if request.param != "by degrees":
        monkeypatch.setattr(GraphTotals, "long_paths", property(lambda totals: request.param == "long paths"))
        monkeypatch.setattr(cuda_bfs, "_FEW_ARCS", 0)


def check(graph: Graph, bounds, *sources: int, kernels: tuple[str, ...] = tuple(KERNELS)) -> list[int]:  # type: ignore[no-untyped-def]
    supersteps = []
    for name in kernels:
        over_shards, single_rank = KERNELS[name]
        for source in sources:
            parts = on_gpu_shards(over_shards, graph, bounds, source)
            require_same(parts, single_rank(graph, source))
            supersteps.append(parts[0].supersteps)
    return supersteps


@pytest.mark.usefixtures("method")
@pytest.mark.parametrize("edges", NAMED, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    few = len(edges.ids) < 200  # in random order, a long path crosses a shard border at every row
    order = random.Random(5).sample(edges.ids, len(edges.ids)) if few else edges.ids
    graph = graph_of(edges, order)
    for size in SIZES if few else (2, 7):
        check(graph, even_bounds(graph, size), graph.num_vertices // 2)
    graph = graph_of(edges, order, np.float64)
    check(graph, even_bounds(graph, 3), graph.num_vertices // 2)


@pytest.mark.usefixtures("method")
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_cut_anywhere(seed: int) -> None:
    """Few different weights, including zero, for many ties and arcs of length zero; parallel arcs and self-loops are kept."""
    chance = random.Random(seed)
    vertices, heaviest = chance.choice((3, 12, 40, 300)), chance.choice((0, 2, 900))
    edges = [
        (chance.randrange(vertices), chance.randrange(vertices), chance.randint(0, heaviest))
        for _ in range(chance.randint(1, 900))
    ]
    for directed, dtype in zip((True, False, True, False), WEIGHTS, strict=True):
        listed = EdgeList("random", edges, directed)
        graph = uncleaned(listed, chance.sample(listed.ids, len(listed.ids)), dtype)
        cuts = [chance.randrange(graph.num_vertices + 1) for _ in range(chance.choice((1, 2, 6)))]
        check(graph, bounds_of(cuts, graph.num_vertices), chance.randrange(graph.num_vertices))


@pytest.mark.usefixtures("method")
def test_rows_of_every_degree() -> None:
    """Rows for a lane, a warp, a block and the whole grid, whose neighbours are own rows and ghosts."""
    arcs = [(hub, 1000 + leaf, 1 + hub * leaf % 97) for hub in range(40) for leaf in range(hub)]
    arcs += [(hub, hub + 1, 50) for hub in range(45)] + [(41, leaf, 5 + leaf % 7) for leaf in range(2000, 12_000)]
    arcs += [(42, leaf, 3 + leaf % 11) for leaf in range(2000, 12_000, 3)]
    graph = graph_of(EdgeList("stars", tuple(arcs), directed=False))
    check(graph, even_bounds(graph, 3), 0, 41, graph.num_vertices - 1)
    check(graph, bounds_of([30, 30, 41], graph.num_vertices), 3)


@pytest.mark.usefixtures("method")
@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("make", [new_york, facebook, wiki_vote, lambda: random_digraph(1 << 13), lambda: rmat(13)])
def test_real_and_generated_graphs(make, size: int) -> None:  # type: ignore[no-untyped-def]
    graph = make()
    check(graph, even_bounds(graph, size), graph.num_vertices // 3)


@pytest.mark.usefixtures("method")
def test_wide_rows() -> None:
    graph = with_wide_rows(uncleaned(NAMED_GRAPHS[-1], list(NAMED_GRAPHS[-1].ids), np.int32))
    check(graph, bounds_of([2, 5], graph.num_vertices), 0, 4)
    graph = with_wide_rows(rmat(10))
    check(graph, even_bounds(graph, 3), 1)


@pytest.mark.usefixtures("method")
def test_empty_shards() -> None:
    graph = graph_of(EdgeList("two", ((4, 9, 3),)))
    check(graph, bounds_of([0, 0, 1, 1, 2, 2], 2), 0)


@pytest.mark.usefixtures("method")
@pytest.mark.parametrize("length", [30, 1000])
def test_arcs_of_length_zero(length: int) -> None:
    vertices = list(range(length + 2))
    for order in (vertices, vertices[::-1], random.Random(length).sample(vertices[:32], 32) + vertices[32:]):
        graph = zero_chain(length, order)
        check(graph, even_bounds(graph, 4), order.index(length + 1), kernels=("sssp",))


@pytest.mark.parametrize("width", [1.0, 7.0])
def test_windows_of_a_few_arcs(width: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows beyond a window are put aside, found again, and meanwhile lowered by others."""
    monkeypatch.setattr(long_paths, "_WINDOW", width)
    for graph in (grid(60), new_york(), zero_chain(300)):
        check(graph, even_bounds(graph, 3), graph.num_vertices // 2)


def test_roads_take_few_supersteps() -> None:
    roads = grid(120)
    hops, lengths = check(roads, even_bounds(roads, 4), 40)
    assert hops <= 8  # the grid has 199 levels from there
    assert lengths <= 20


@pytest.mark.usefixtures("method")
def test_sums_beyond_32_bits_are_summed_again() -> None:
    heavy = graph_of(EdgeList("heavy_path", tuple((i, i + 1, 2**31 - 1 - i) for i in range(20)), directed=False), dtype=np.int32)
    check(heavy, even_bounds(heavy, 3), 0, 10, kernels=("sssp",))
    just = graph_of(EdgeList("just", ((0, 1, 2**62), (1, 2, 2**62 - 1), (2, 3, 0))))
    check(just, even_bounds(just, 3), 0, kernels=("sssp",))


@pytest.mark.usefixtures("method")
@pytest.mark.parametrize(("dtype", "weight"), [(np.int64, 2**62), (np.float64, 1.5e308), (np.int64, 2**63 - 1)])
def test_a_distance_that_does_not_fit_is_refused_by_all_ranks(dtype: type, weight: float) -> None:
    graph = graph_of(EdgeList("too_far", tuple((i, i + 1, weight) for i in range(8)), directed=False), dtype=dtype)
    shards = split(graph, np.array([0, 2, 4, 6, 9]))

    def attempt(ranks):  # type: ignore[no-untyped-def]
        with pytest.raises(OverflowError, match="a distance exceeds the largest"):
            sssp(to_device(shards[ranks.rank]), ranks, 0)
        return True

    assert run_ranks(4, attempt, DEADLINE) == [True] * 4


def test_a_shard_is_searched_repeatedly() -> None:
    """Values that the first search derives are used by later ones, even if sums did not fit 32 bits."""
    for graph in (rmat(10), graph_of(EdgeList("heavy", tuple((i, i + 1, 2**31 - 2) for i in range(9)), False), dtype=np.int32)):
        shards = split(graph, even_bounds(graph, 3))
        asked = [(name, source) for source in (0, 7) for name in KERNELS] * 2

        def search(ranks, shards=shards, asked=asked):  # type: ignore[no-untyped-def]
            shard = to_device(shards[ranks.rank])
            parts = [KERNELS[name][0](shard, ranks, source) for name, source in asked]
            return [replace(part, answer=on_host(part.answer)) for part in parts]

        for (name, source), parts in zip(asked, zip(*run_ranks(3, search, DEADLINE), strict=True), strict=True):
            require_same(list(parts), KERNELS[name][1](graph, source))


@pytest.mark.parametrize("most", [0, 6])
@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_that_become_too_many_for_a_team(monkeypatch: pytest.MonkeyPatch, kernel: str, most: int) -> None:
    """All ranks begin again with the other method, and later searches begin with it."""
    for module in (cuda_bfs, cuda_sssp):
        monkeypatch.setattr(module, "MOST_ROWS", most)
    over_shards, single_rank = KERNELS[kernel]
    graph = grid(12)
    shards = split(graph, even_bounds(graph, 3))

    def search(ranks):  # type: ignore[no-untyped-def]
        shard = to_device(shards[ranks.rank])
        assert totals_of(shard, ranks).long_paths
        parts = [over_shards(shard, ranks, source) for source in (5, 60)]
        assert not totals_of(shard, ranks).long_paths
        return [replace(part, answer=on_host(part.answer)) for part in parts]

    for source, parts in zip((5, 60), zip(*run_ranks(3, search, DEADLINE), strict=True), strict=True):
        require_same(list(parts), single_rank(graph, source))


def test_sums_that_did_not_fit_32_bits_are_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[np.dtype] = []
    complete = cuda_sssp.paths_of_lengths
    monkeypatch.setattr(cuda_sssp, "paths_of_lengths", lambda *given: tried.append(given[-1]) or complete(*given))
    graph = graph_of(EdgeList("heavy", tuple((i, i + 1, 2**31 - 2) for i in range(9)), False), dtype=np.int32)
    shards = split(graph, even_bounds(graph, 2))

    def search(ranks):  # type: ignore[no-untyped-def]
        shard = to_device(shards[ranks.rank])
        for source in (0, 7, 3):
            sssp(shard, ranks, source)

    run_ranks(2, search, DEADLINE)
    assert sorted(map(str, tried)) == 2 * ["int32"] + 6 * ["int64"]


def test_arcs_in_host_memory() -> None:
    for graph in (rmat(10), grid(30)):
        shards = split(graph, even_bounds(graph, 2))
        for over_shards, single_rank in KERNELS.values():
            parts = run_ranks(2, lambda ranks: over_shards(to_device(shards[ranks.rank], "host"), ranks, 5), DEADLINE)  # noqa: B023
            require_same([replace(part, answer=on_host(part.answer)) for part in parts], single_rank(graph, 5))


@pytest.mark.parametrize("kernel", [bfs, sssp])
@pytest.mark.parametrize("row", [-1, 7])
def test_a_source_that_is_not_a_row_is_refused(kernel, row: int) -> None:  # type: ignore[no-untyped-def]
    graph = graph_of(NAMED_GRAPHS[-1])
    with pytest.raises(IndexError, match=f"row {row} is not in 0..6"):
        on_gpu_shards(kernel, graph, even_bounds(graph, 2), row)
