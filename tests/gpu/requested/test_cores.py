"""Core numbers on the GPU, also over shards: the CPU's, and its verdicts."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.cores import Cores, cores
from kernels.cores.certificate import certify_cores
from kernels.cores.certificate.sharded import certify_cores as certify_over_ranks
from kernels.cores.sharded import cores as cores_over_ranks
from kernels.distributed.assembly import to_device as shard_to_device
from kernels.distributed.threads import run_ranks
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from tests.answers import uncleaned
from tests.gpu.inputs import SKEWED, poison
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, bounds_of
from tests.sharded.shards import split


def check(graph: Graph) -> None:
    """One GPU finds the CPU's core numbers, proves them, and refuses what a CPU refuses."""
    expected = cores(graph).core
    poison()
    on_device = to_device(graph)
    found = cores(on_device)
    assert found.core.dtype == expected.dtype
    assert cupy.asnumpy(found.core).tolist() == expected.tolist()
    assert certify_cores(on_device, found).holds
    for wrong in wrong_of(expected):
        assert certify_cores(on_device, Cores(cupy.asarray(wrong))) == certify_cores(graph, Cores(wrong))


def wrong_of(core):
    most = core.max(initial=0)
    return core * 0, core[::-1].copy(), core - 1, core - (core == most), core + (core == most), core[1:], core.astype(np.int32)


def check_over_shards(graph: Graph, cuts: list[int]) -> None:
    """Ranks on a GPU find the same, and all give the verdict of one."""
    expected = cores(graph).core
    shards = split(graph, bounds_of(cuts, graph.num_vertices))
    answers = [expected, *wrong_of(expected)[:-2]]

    def run(ranks):
        shard = shard_to_device(shards[ranks.rank])
        own = slice(shard.rows.start, shard.rows.stop)
        found = cores_over_ranks(shard, ranks)
        verdicts = [certify_over_ranks(shard, ranks, Cores(cupy.asarray(answer[own]))) for answer in answers]
        return cupy.asnumpy(found.answer.core), found.supersteps, verdicts

    parts = run_ranks(len(shards), run, DEADLINE)
    assert np.concatenate([part[0] for part in parts]).tolist() == expected.tolist()
    assert len({part[1] for part in parts}) == 1
    for part in parts:
        assert part[2] == [certify_cores(graph, Cores(answer)) for answer in answers]


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500], ids=lambda edges: edges.name)
def test_named_graphs(edges):
    check(graph_of(edges, edges.ids[::-1]))
    check(uncleaned(edges))
    check_over_shards(uncleaned(edges, edges.ids[::-1]), [len(edges.ids) // 2, 3])


@pytest.mark.parametrize("edges", SKEWED, ids=lambda edges: edges.name)
def test_random_graphs(edges):
    for graph in (graph_of(edges), uncleaned(edges)):
        check(graph)
        check_over_shards(graph, [100, 200])


def test_a_long_chain_of_removals():
    """The ends of a path of squares are removed first, then the squares beside them."""
    edges = [pair for i in range(0, 400, 2) for pair in ((i, i + 2), (i + 1, i + 3), (i, i + 1))]
    graph = graph_of(EdgeList("ladder", (*edges, (402, 403)), directed=False))
    check(graph)
    check_over_shards(graph, [100, 101, 300])
