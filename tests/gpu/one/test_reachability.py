"""The reachability index on the GPU: the bytes of the CPU's condensation, labels, answers and decisions."""

# ruff: noqa: E402  (the imports below need CuPy)
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.one_gpu.graphs import graph_of_arcs
from kernels.answers import Condensation, ReachabilityIndex
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Array, Csr, Graph
from kernels.reachability import SEARCH, condense, label, reach, reach_by_search, reachability
from kernels.reachability.certificate import certify_reachability
from kernels.reachability.certificate.answers import WrongAnswer, reach_with_proof
from kernels.reachability.queries import cuda as cuda_queries
from tests.gpu.inputs import poison, random_edges, shuffled, with_wide_rows
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.reachability import paths_of

METHODS = ("tree", "dfs")


def require_same(found: Any, expected: Any) -> None:
    for field in (field for field in fields(expected) if field.compare):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(other, Csr):
            require_same(one, other)
        elif isinstance(other, np.ndarray):
            assert one.dtype == other.dtype, field.name
            np.testing.assert_array_equal(cupy.asnumpy(one), other, field.name)
        else:
            assert one == other, field.name


def pairs(num_rows: int, seed: int = 0, count: int = 20_000) -> tuple[Array, Array]:
    """All pairs of rows, or `count` random ones."""
    if num_rows * num_rows <= count:
        src, dst = np.meshgrid(np.arange(num_rows), np.arange(num_rows))
        return src.ravel(), dst.ravel()
    src, dst = np.random.default_rng(seed).integers(0, num_rows, (2, count))
    return src, dst


def check(graph: Graph, dimensions: int = 3, seed: int = 0, method: str = "tree") -> ReachabilityIndex:
    """Build on both backends and compare everything; answer queries by every search."""
    expected = reachability(graph, dimensions, seed, method)
    on_device = to_device(graph)
    poison()
    index = reachability(on_device, dimensions, seed, method)
    require_same(index.condensation, expected.condensation)
    require_same(index.labels, expected.labels)
    if graph.num_vertices:
        src, dst = pairs(graph.num_vertices)
        answers = reach(expected, src, dst)
        asked = cupy.asarray(src), cupy.asarray(dst)
        poison()
        require_same(reach(index, *asked), answers)
        poison()
        proved, expected_proof = reach_with_proof(index, *asked), reach_with_proof(expected, src, dst)
        require_same(proved.answers, answers)
        assert replace(proved, answers=answers) == replace(expected_proof, answers=answers)
        few = slice(None, None, 1 + len(src) // 1_000)
        poison()
        assert paths_of(on_device, asked[0][few], asked[1][few], 5_000) == paths_of(graph, src[few], dst[few])
        for width in (32, 64, 256):
            poison()
            require_same(cuda_queries.answer(index, *asked, width, by_warps=False), answers)
    return index


def device_graph(num_vertices: int, src: Array, dst: Array) -> Graph:
    return on_host(graph_of_arcs(cupy.asarray(src, np.int64), cupy.asarray(dst, np.int64), None, num_vertices, False, "source"))


def diamonds(count: int) -> Graph:
    tops = 3 * np.arange(count)
    src = np.concatenate([tops, tops, tops + 1, tops + 2])
    return device_graph(3 * count + 1, src, np.concatenate([tops + 1, tops + 2, tops + 3, tops + 3]))


def complete(num_vertices: int) -> Graph:
    return device_graph(num_vertices, *np.triu_indices(num_vertices, 1))


def layered(layers: int, width: int, degree: int, seed: int) -> Graph:
    """Layers of `width` vertices with `degree` arcs each to random vertices of the next layer; ids are shuffled."""
    random = np.random.default_rng(seed)
    src = np.repeat(np.arange((layers - 1) * width), degree)
    dst = (src // width + 1) * width + random.integers(0, width, len(src))
    ids = random.permutation(layers * width)
    return device_graph(layers * width, ids[src], ids[dst])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList, method: str) -> None:
    check(graph_of(edges), method=method)
    check(graph_of(edges, edges.ids[::-1]), 2, 5, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("num_edges", [60, 150, 220, 400])
def test_random_graphs(num_edges: int, method: str) -> None:
    for seed in range(8):
        check(shuffled(random_edges(seed, 140, num_edges, True, 1 + seed % 3)), 1 + seed % 5, seed, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("layers", "width", "degree"), [(60, 50, 2), (500, 6, 3), (6, 900, 3), (40, 400, 4)])
def test_layers(layers: int, width: int, degree: int, method: str) -> None:
    check(layered(layers, width, degree, layers), method=method)


@pytest.mark.parametrize("method", METHODS)
def test_path_counts_that_do_not_fit_int64(method: str) -> None:
    for count in (61, 62, 200):
        index = check(diamonds(count), method=method)
        assert index.labels.compared_paths == (method == "dfs" and count > 60,) * 3
    check(complete(200), method=method)


@pytest.mark.parametrize("method", METHODS)
def test_long_rows(method: str) -> None:
    size = 20_001
    hub, rest = np.zeros(size - 1, np.int64), np.arange(1, size)
    check(device_graph(size, hub, rest), method=method)
    check(device_graph(size, rest, hub), method=method)
    half = size // 2
    check(device_graph(size, np.where(rest < half, rest, 0), np.where(rest < half, 0, rest)), method=method)


@pytest.mark.real_gpu(reason="every poll of a neighbour is a step of an emulated thread: a long path takes minutes")
def test_a_long_path() -> None:
    size = 100_000
    ids = np.random.default_rng(0).permutation(size)
    check(device_graph(size, ids[:-1], ids[1:]))
    check(device_graph(size, np.arange(size - 1), np.arange(1, size)))


def test_wide_rows() -> None:
    for method in METHODS:
        check(with_wide_rows(shuffled(random_edges(5, 200, 260, True))), 5, 1, method)


@pytest.mark.parametrize("wide", [False, True])
def test_paths_of_searches(wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By warps and by masks; a path with a wrong node and a no in the place of a yes are refused."""
    if wide:
        monkeypatch.setattr(cuda_queries, "_BY_WARPS", {})
    graph = layered(8, 40, 3, 5)
    index, rows = reachability(to_device(graph), 1), [cupy.asarray(side) for side in pairs(320)]
    proved = reach_with_proof(index, *rows)
    require_same(proved.answers, reach(reachability(graph, 1), *pairs(320)))
    assert proved.witnessed > 100 < proved.sampled
    trace = cuda_queries.trace
    for wrong, reason in ((7, "path is not one of the graph"), (None, "no path, but there is one")):

        def forged(*asked: Any, wrong: int | None = wrong) -> Any:
            paths = trace(*asked)
            if wrong is None:
                paths.lengths[...] = 0
            else:
                paths.nodes[paths.begins[:-1] + paths.lengths // 2] = wrong
            return paths

        monkeypatch.setattr(cuda_queries, "trace", forged)
        with pytest.raises(WrongAnswer, match=reason):
            reach_with_proof(index, *rows)


def test_few_vertices() -> None:
    for count in (1, 2, 5):
        check(graph_of(EdgeList("isolated", (), vertices=tuple(range(count)))))
    empty = to_device(graph_of(EdgeList("empty", ())))
    index = reachability(empty)
    assert index.condensation.num_nodes == 0
    assert len(reach(index, cupy.empty(0, np.int64), cupy.empty(0, np.int64)).reachable) == 0


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 100_000])
def test_any_number_of_queries(count: int) -> None:
    graph = layered(8, 200, 3, 1)
    expected, index = reachability(graph), reachability(to_device(graph))
    src, dst = np.random.default_rng(count).integers(0, graph.num_vertices, (2, count))
    answers = reach(expected, src, dst)
    assert count < 64 or (answers.decided == SEARCH).any()
    for dtype in (np.int32, np.int64, np.uint64):
        require_same(reach(index, cupy.asarray(src.astype(dtype)), cupy.asarray(dst.astype(dtype))), answers)


def test_one_source_many_times() -> None:
    graph = layered(8, 200, 3, 2)
    expected, index = reachability(graph), reachability(to_device(graph))
    src = np.full(graph.num_vertices, int(expected.condensation.names[expected.labels.level.argmin()]))
    dst = np.arange(graph.num_vertices)
    answers = reach(expected, src, dst)
    for width in (32, 64, 256):
        require_same(cuda_queries.answer(index, cupy.asarray(src), cupy.asarray(dst), width, by_warps=False), answers)
    require_same(reach(index, cupy.asarray(dst), cupy.asarray(dst)), reach(expected, dst, dst))


def without_supports(index: ReachabilityIndex) -> ReachabilityIndex:
    """The same index with labels that decide less: intervals start at 0, and there are no supports."""
    labels = index.labels
    nothing = {name: np.zeros_like(getattr(labels, name)) for name in ("low", "reaches", "reached")}
    return replace(index, labels=replace(labels, **nothing))


def test_searches_too_large_for_a_warp() -> None:
    """Two dense layers after each source and two before each destination have more arcs than a warp reads; no path joins them."""
    width = 200
    size = 4 * width + 2
    sources = np.arange(16)[:, None] * size
    destinations = sources + 1
    above, below, over, under = (sources + 2 + layer * width + np.arange(width) for layer in range(4))
    lift, drop = 16 * size + np.arange(12).reshape(2, 6)[:, :, None]  # chains, so that levels and heights decide nothing
    dense = ((sources, above), (above, below), (over, under), (under, destinations))
    chains = ((lift[:-1], lift[1:]), (drop[:-1], drop[1:]), (lift[-1:], over.reshape(1, -1)), (below.reshape(-1, 1), drop[:1]))
    joined = [np.broadcast_arrays(near[:, :, None], far[:, None, :]) for near, far in dense + chains]
    src, dst = (np.concatenate([end.ravel() for end in ends]) for ends in zip(*joined, strict=True))
    ids = np.random.default_rng(3).permutation(16 * size + 12)
    graph = device_graph(len(ids), ids[src], ids[dst])
    expected, index = (without_supports(reachability(on, 1)) for on in (graph, to_device(graph)))
    rows = np.argsort(graph.ids)
    asked = rows[ids[sources.ravel()]], rows[ids[destinations.ravel()]]
    on_device = cupy.asarray(asked[0], np.int32), cupy.asarray(asked[1], np.int32)
    answers = reach(index, *on_device)
    left, count = cuda_queries.cut(index, *on_device, answers)
    assert int(count[0]) > 0
    _, too_large = cuda_queries.search(index, *on_device, left, count, answers)
    assert int(too_large[0]) == int(count[0])
    require_same(reach(index, *on_device), reach(expected, *asked))


def test_entries_that_are_not_rows() -> None:
    index = reachability(to_device(graph_of(EdgeList("arc", ((0, 1),)))))
    for wrong in (-1, 2, 2**40, -(2**40)):
        with pytest.raises(IndexError, match=rf"row {wrong} is not in 0\.\.1"):
            reach(index, cupy.asarray([0, 1]), cupy.asarray([1, wrong]))
    with pytest.raises(ValueError, match="1 sources, 2 destinations"):
        reach(index, cupy.asarray([0]), cupy.asarray([1, 0]))
    with pytest.raises(TypeError, match="reach_by_search: arrays of type"):
        reach_by_search(index, cupy.asarray([0]), cupy.asarray([1]))


def test_a_cycle_is_an_error() -> None:
    rows = Csr(cupy.asarray([0, 1, 2, 3], np.int64), cupy.asarray([1, 2, 1], np.int32), None)
    into = Csr(cupy.asarray([0, 0, 2, 3], np.int64), cupy.asarray([0, 2, 1], np.int32), None)
    nodes = cupy.arange(3, dtype=np.int32)
    for method in METHODS:
        with pytest.raises(ValueError, match="cycle"):
            label(Condensation(nodes, nodes, rows, into), method=method)


def test_twenty_runs_are_equal() -> None:
    graph = shuffled(random_edges(7, 50_000, 75_000, True, 1.5))
    expected = label(condense(graph))
    on_device = to_device(graph)
    for _ in range(20):
        poison()
        require_same(label(condense(on_device)), expected)


@pytest.mark.parametrize("method", METHODS)
def test_the_certificate_holds_and_rejects_mutants(method: str) -> None:
    for graph in (shuffled(random_edges(3, 140, 220, True)), layered(40, 60, 3, 4), diamonds(70)):
        on_device = to_device(graph)
        index = reachability(on_device, 3, 7, method)
        assert certify_reachability(on_device, index).holds
        random = np.random.default_rng(0)
        for name in ("level", "height", "low", "post", "first", "last", "reaches", "reached", "supports"):
            wrong = getattr(index.labels, name).copy()
            place = tuple(int(random.integers(length)) for length in wrong.shape)
            wrong[place] += wrong.dtype.type(1)
            mutant = replace(index, labels=replace(index.labels, **{name: wrong}))
            verdict = certify_reachability(on_device, mutant)
            assert not verdict.holds, name
            assert "CPU does not find" not in verdict.reason
        children = index.condensation.children
        wrong = Csr(children.offsets, cupy.roll(children.indices, 1), None)
        mutant = replace(index, condensation=replace(index.condensation, children=wrong))
        assert not certify_reachability(on_device, mutant).holds
