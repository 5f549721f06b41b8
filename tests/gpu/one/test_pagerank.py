"""PageRank on the GPU: within 1e-6 of the CPU's scores in sum, and the same bits in every run."""

# ruff: noqa: E402  (the imports below need CuPy)
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.generators import grid_edges
from kernels.arrays import ArcMemory
from kernels.distributed.gpu.memory import memory_of, put
from kernels.gpu.tiles import locality
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from kernels.pagerank import cuda, pagerank, pieces, tiles
from kernels.pagerank.parameters import DAMPING, TOLERANCE, checked
from tests.gpu.inputs import poison, with_wide_rows
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of


def random_edges(seed: int, num_vertices: int, num_edges: int, directed: bool, skew: float) -> EdgeList:
    ends = (num_vertices * np.random.default_rng(seed).random((num_edges, 2)) ** skew).astype(np.int64)
    return EdgeList("random", tuple(map(tuple, ends.tolist())), directed, tuple(range(num_vertices)))


WAYS = cuda.pulled, cuda.in_tiles


def check(graph: Graph) -> None:
    expected, on_device = pagerank(graph), to_device(graph)
    for iterated in WAYS if graph.num_vertices else ():
        poison()
        found = iterated(on_device, checked(DAMPING, TOLERANCE))
        assert found.scores.dtype == np.float64
        assert abs(found.iterations - expected.iterations) <= 1
        assert float(np.abs(cupy.asnumpy(found.scores) - expected.scores).sum()) <= 1e-6
    assert pagerank(on_device).scores.shape == expected.scores.shape


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    check(graph_of(edges))
    check(graph_of(edges, edges.ids[::-1]))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("num_edges", [300, 3000, 30000])
def test_random_graphs(num_edges: int, directed: bool) -> None:
    for seed in range(3):
        check(graph_of(random_edges(seed, 3000, num_edges, directed, 1 + seed)))


def test_segments_of_many_chunks() -> None:
    hubs = [(10 * hub + i, hub) for hub, degree in ((0, 40), (1000, 2040), (9000, 2049), (50000, 9000)) for i in range(1, degree)]
    check(graph_of(EdgeList("hubs", tuple(hubs))))
    check(graph_of(EdgeList("hubs", tuple(hubs), directed=False)))


@pytest.mark.parametrize("directed", [False, True])
def test_rows_of_many_tiles(directed: bool) -> None:
    check(graph_of(random_edges(11, 5 << tiles.TILE_BITS, 150_000, directed, 3)))


@pytest.mark.parametrize("arcs", [1, 100, 5000])
def test_many_bands(arcs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernels.gpu.tiles.bands._BAND", arcs)
    check(graph_of(random_edges(13, 2000, 9000, True, 2)))


@pytest.mark.parametrize("bands", [300, 1 << 25])
@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("memory", ["device", "host"])
def test_little_memory(memory: ArcMemory, fits: bool, bands: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that the GPU does not hold is where the graph's arcs are; the scores have the same bits."""
    monkeypatch.setattr("kernels.gpu.tiles.bands._BAND", bands)
    graph, parameters = to_device(graph_of(random_edges(17, 3000, 9000, False, 2))), checked(DAMPING, TOLERANCE)
    expected = cuda.in_tiles(graph, parameters)
    monkeypatch.setattr(tiles, "free_bytes", lambda: tiles._PLAN_BYTES * graph.num_arcs - (not fits))
    out = replace(graph.out, indices=put([graph.out.indices], memory))
    poison()
    moved = replace(graph, out=out, into=out)
    found, plan = cuda.in_tiles(moved, parameters), tiles.plan_of(moved)
    assert {memory_of(plan.arcs), memory_of(plan.items)} == {"device" if fits else memory}
    assert found.iterations == expected.iterations
    assert found.scores.tobytes() == expected.scores.tobytes()
    assert pagerank(moved).scores.tobytes() == pagerank(graph).scores.tobytes()


def test_runs_of_slices_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, parameters = graph_of(random_edges(19, 20_000, 30_000, False, 1)), checked(DAMPING, TOLERANCE)
    answers, runs = [], []
    for few in (0, 1 << 20):
        monkeypatch.setattr(tiles, "_FEW", few)
        on_device = to_device(graph)
        answers.append(cuda.in_tiles(on_device, parameters).scores.tobytes())
        runs.append(tiles.plan_of(on_device).run)
    assert runs[0] == 1 < runs[1]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("memory", ["device", "host"])
@pytest.mark.parametrize(("tolerance", "iterations"), [(TOLERANCE, None), (0, 5)])
def test_groups_of_bands_give_the_same_bits_with_fewer_partials(
    tolerance: float, iterations: int | None, memory: ArcMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernels.gpu.tiles.bands._BAND", 4000)
    graph, parameters = to_device(graph_of(random_edges(23, 40_000, 30_000, True, 2))), checked(DAMPING, tolerance, iterations)
    expected, whole = cuda.in_tiles(graph, parameters), tiles.plan_of(graph)
    monkeypatch.setattr(tiles, "_PARTIALS", 9000)
    into = replace(graph.into, indices=put([graph.into.indices], memory))
    divided = replace(graph, into=into)
    poison()
    found, plan = cuda.in_tiles(divided, parameters), tiles.plan_of(divided)
    assert len(whole.groups) == 2 < 4 <= len(plan.groups)
    assert plan.num_partials <= 9000 < whole.num_partials
    assert (found.iterations, found.change) == (expected.iterations, expected.change)
    assert found.scores.tobytes() == expected.scores.tobytes()


def test_uneven_work_ends_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_FEW", 1 << 20)
    monkeypatch.setattr(tiles, "_UNEVEN", 1)
    hub = tuple((0, i) for i in range(1, 20_000))
    assert tiles.plan_of(to_device(graph_of(EdgeList("hub", hub, False)))).run == 1


def test_where_arcs_lead_decides_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = np.stack(grid_edges(40), 1)
    moved, hubs = np.random.default_rng(2).permutation(1600)[ends], np.stack([np.arange(1600) % 16, np.arange(1600)], 1)
    monkeypatch.setattr(pieces, "_POPULAR", 16)
    for edges, cached, pulled in (
        (ends, 0, True),
        (moved, 0, False),
        (hubs, 0, True),
        (moved, 1600, True),
        (np.concatenate([moved, moved * 7 % 1600, moved * 11 % 1600]), 1600, False),
    ):
        monkeypatch.setattr(pieces, "_CACHED_ROWS", cached)
        graph = graph_of(EdgeList("edges", tuple(map(tuple, edges.tolist())), directed=False))
        assert pieces.is_pulled(to_device(graph)) == pulled
        check(graph)


def test_arcs_farther_than_a_tile_are_near_by_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those between the planes of a cubic grid."""
    monkeypatch.setattr(pieces, "_CACHED_ROWS", 0)
    monkeypatch.setattr(pieces, "_POPULAR", 0)
    monkeypatch.setattr(locality, "_NEAR", 30)
    grid = to_device(graph_of(EdgeList("grid", tuple(map(tuple, np.stack(grid_edges(40), 1).tolist())), directed=False)))
    assert not locality.is_local(grid)
    assert pieces.is_pulled(grid)
    monkeypatch.setattr(pieces, "_NEAR", 30)
    assert not pieces.is_pulled(grid)


def test_partials_take_memory_before_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a second call's are where the first one's were, also while its scores are kept."""
    graph = to_device(graph_of(random_edges(17, 3000, 90_000, False, 2)))
    parameters = checked(DAMPING, TOLERANCE)
    first = cuda.in_tiles(graph, parameters)
    sizes: list[int] = []

    def noting(shape: Any, dtype: Any = float) -> Any:
        sizes.append(int(np.prod(shape)) * np.dtype(dtype).itemsize)
        return cupy.zeros(shape, dtype)

    monkeypatch.setattr("kernels.pagerank.cuda.cupy.empty", noting)
    assert cuda.in_tiles(graph, parameters).scores.tobytes() == first.scores.tobytes()
    assert sizes == [4 * tiles.plan_of(graph).num_partials, 4 * graph.num_vertices, 8 * graph.num_vertices]


def test_rows_without_arcs() -> None:
    """Some rows have only out-arcs, some only in-arcs, some neither."""
    arcs = tuple((7 * i, 7 * (i % 50) + 3) for i in range(900))
    check(graph_of(EdgeList("idle", arcs, True, tuple(range(40_000)))))
    check(graph_of(EdgeList("no arcs", (), True, tuple(range(100)))))


def test_wide_rows() -> None:
    check(with_wide_rows(graph_of(random_edges(5, 2000, 9000, True, 2))))


def test_twenty_runs_give_the_same_bits() -> None:
    on_device, parameters = to_device(graph_of(random_edges(7, 20_000, 90_000, True, 2))), checked(DAMPING, TOLERANCE)
    for iterated in WAYS:
        first = iterated(on_device, parameters).scores
        for _ in range(20):
            poison()
            assert bool((iterated(on_device, parameters).scores.view(np.int64) == first.view(np.int64)).all())


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_fixed_numbers_of_iterations(iterations: int) -> None:
    """Only the last of them states a change; rows without arcs have a score, too."""
    graph = graph_of(random_edges(17, 600, 1500, True, 3))
    expected = pagerank(graph, iterations=iterations)
    for iterated in WAYS:
        poison()
        found = iterated(to_device(graph), checked(DAMPING, TOLERANCE, iterations))
        assert found.iterations == iterations
        assert found.change == pytest.approx(expected.change, rel=1e-4)
        assert cupy.asnumpy(found.scores) == pytest.approx(expected.scores, rel=1e-5)


def test_iteration_stops_at_its_limits() -> None:
    on_device = to_device(graph_of(NAMED_GRAPHS[-1]))
    assert pagerank(on_device, iterations=3).iterations == 3
    assert pagerank(on_device, tolerance=1e-3).iterations < pagerank(on_device, tolerance=1e-9).iterations
    assert pagerank(on_device, iterations=0).iterations == 0
