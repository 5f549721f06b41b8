"""The reachability index over shards on a GPU: components and sweeps run there, and the index has a single rank's bytes."""

# ruff: noqa: E402  (the imports below need CuPy)
import random
import threading
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.graphs import wiki_vote
from kernels.answers import IndexPart
from kernels.distributed import Communicator, Shard, ShardAnswer
from kernels.distributed.assembly import to_device
from kernels.gpu import loader as cuda
from kernels.graph import Graph
from kernels.reachability import reachability as reachability_on_one_rank
from kernels.reachability.sharded import reachability, sweeps, sweeps_cuda, trees
from tests.gpu.inputs import poison, random_edges, shuffled, with_wide_rows
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.reachability import digraph
from tests.sharded.indexes import assert_index, layered, sparse_digraph
from tests.sharded.ranks import evenly, on_shards
from tests.sharded.shards import even_bounds

SIZES = (1, 2, 3, 4)
CPU_SWEEPS = (
    (sweeps, "_peel"),
    *((trees, name) for name in ("_draw_parents", "gather_bits", "_add_sizes", "_place", "widen")),
)


@pytest.fixture
def no_cpu_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps on the CPU raise an error."""
    for module, name in CPU_SWEEPS:
        monkeypatch.setattr(module, name, _refuse)


@pytest.fixture
def no_gpu_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps on the GPU raise an error."""
    monkeypatch.setattr(sweeps_cuda, "Peeler", _refuse)


def _refuse(*_: Any) -> None:
    raise AssertionError("a sweep on the wrong device")


def on_gpu(shard: Shard, communicator: Communicator, *arguments: Any) -> ShardAnswer[IndexPart]:
    on_device = to_device(shard)
    poison(1 << 20)
    return reachability(on_device, communicator, *arguments)


def assert_equals_one_rank(graph: Graph, size: int, dimensions: int = 3, seed: int = 0) -> None:
    assert_index(evenly(on_gpu, graph, size, dimensions, seed), reachability_on_one_rank(graph, dimensions, seed))


@pytest.mark.usefixtures("no_cpu_sweeps")
@pytest.mark.parametrize("size", SIZES)
def test_named_graphs(size) -> None:
    for number, edges in enumerate(NAMED_GRAPHS):
        graph = graph_of(edges, random.Random(number).sample(edges.ids, len(edges.ids)))
        assert_equals_one_rank(graph, size, 1 + number % 6, 2)


@pytest.mark.usefixtures("no_cpu_sweeps")
@pytest.mark.parametrize("size", SIZES)
def test_random_graphs(size) -> None:
    for seed, arcs in enumerate((40, 80, 200)):
        edges = random_edges(seed, 60, arcs, True, 1 + seed)
        assert_equals_one_rank(shuffled(edges), size, 3, seed)
        acyclic = EdgeList("acyclic", tuple((min(arc), max(arc)) for arc in edges.edges), True, edges.vertices)
        assert_equals_one_rank(shuffled(acyclic), size, 5, seed)


@pytest.mark.usefixtures("no_cpu_sweeps")
@pytest.mark.parametrize("size", [1, 2, 4])
def test_larger_graphs(size) -> None:
    for graph in (layered(12, 300, 3), sparse_digraph(1.3), wiki_vote()):
        assert_equals_one_rank(graph, size)


@pytest.mark.usefixtures("no_cpu_sweeps")
@pytest.mark.parametrize("size", [1, 3])
def test_rows_of_64_bits(size) -> None:
    assert_equals_one_rank(with_wide_rows(layered(12, 60, 3)), size, 5)


@pytest.mark.usefixtures("no_cpu_sweeps")
def test_hubs() -> None:
    rest = np.arange(1500)
    hub, first = np.full_like(rest, 1500), rest < 700  # a row of the last rank, whose local rows differ from its rows
    for src, dst in ((hub, rest), (rest, hub), (np.where(first, rest, hub), np.where(first, hub, rest))):
        assert_equals_one_rank(digraph(src, dst, 1501), 3, 5, 4)


@pytest.mark.usefixtures("no_cpu_sweeps")
def test_every_arc_of_a_row_that_a_warp_reads_may_be_drawn() -> None:
    """Rows of 33 arcs, one more than a lane reads; with 100 such rows each arc is drawn in some dimension."""
    few, many = np.repeat(np.arange(33), 100), np.tile(np.arange(33, 133), 33)
    for src, dst in ((few, many), (many, few)):
        assert_equals_one_rank(digraph(src, dst, 133), 2, 6)


@pytest.mark.usefixtures("no_cpu_sweeps")
@pytest.mark.parametrize("size", SIZES)
def test_a_long_path_within_ranks_and_one_that_alternates_between_them(size) -> None:
    along = np.arange(800)
    path = digraph(along[:-1], along[1:], 800)
    parts = evenly(on_gpu, path, size)
    assert_index(parts, reachability_on_one_rank(path))
    assert parts[0].supersteps < 100
    ids = np.random.default_rng(0).permutation(40)
    assert_equals_one_rank(digraph(ids[:-1], ids[1:], 40), size)


@pytest.mark.usefixtures("no_cpu_sweeps")
def test_ranks_without_nodes() -> None:
    graph = layered(4, 5, 2)
    for cuts in ([0, 0, 20, 20], [0, 7, 7, 20], [0, 20, 20, 20]):
        assert_index(on_shards(on_gpu, graph, np.array(cuts), 2), reachability_on_one_rank(graph, 2))


@pytest.mark.usefixtures("no_gpu_sweeps")
def test_sweeps_run_on_the_cpu_if_the_arcs_of_one_rank_are_in_host_memory() -> None:
    graph = layered(6, 40, 2)

    def answer(shard: Shard, communicator: Communicator) -> ShardAnswer[IndexPart]:
        return reachability(to_device(shard, "host" if communicator.rank else "device"), communicator)

    assert_index(on_shards(answer, graph, even_bounds(graph, 2)), reachability_on_one_rank(graph))


@pytest.mark.usefixtures("no_gpu_sweeps")
@pytest.mark.parametrize("crowded", [0, 1])
def test_sweeps_run_on_the_cpu_if_one_gpu_has_too_little_free_memory(crowded, monkeypatch) -> None:
    graph, here = layered(6, 40, 2), threading.local()

    def answer(shard: Shard, communicator: Communicator) -> ShardAnswer[IndexPart]:
        here.rank = communicator.rank
        return on_gpu(shard, communicator)

    monkeypatch.setattr(cuda, "free_bytes", lambda: 1000 if here.rank == crowded else 2**40)
    assert_index(on_shards(answer, graph, even_bounds(graph, 2)), reachability_on_one_rank(graph))
