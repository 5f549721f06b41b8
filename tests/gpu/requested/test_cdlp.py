"""CDLP on the GPU, also over shards: the CPU's labels, and its verdicts."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.answers import Components
from kernels.cdlp import cdlp
from kernels.cdlp.certificate import certify_cdlp
from kernels.cdlp.certificate.sharded import certify_cdlp as certify_over_ranks
from kernels.cdlp.sharded import cdlp as cdlp_over_ranks
from kernels.distributed.assembly import to_device as shard_to_device
from kernels.distributed.threads import run_ranks
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from tests.answers import uncleaned
from tests.gpu.inputs import SKEWED, poison
from tests.gpu.requested.test_communities import ring_of_cliques
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, bounds_of
from tests.sharded.shards import split


def check(graph: Graph, iterations: int = 10) -> None:
    """One GPU finds the CPU's labels, proves them, and refuses what a CPU refuses."""
    expected = cdlp(graph, iterations).labels
    poison()
    on_device = to_device(graph)
    found = cdlp(on_device, iterations)
    assert found.labels.dtype == expected.dtype
    assert cupy.asnumpy(found.labels).tolist() == expected.tolist()
    assert certify_cdlp(on_device, found, iterations) == certify_cdlp(graph, Components(expected), iterations)
    for wrong in wrong_of(expected):
        verdict = certify_cdlp(on_device, Components(cupy.asarray(wrong)), iterations)
        assert verdict == certify_cdlp(graph, Components(wrong), iterations)


def wrong_of(labels):
    return labels * 0, labels[::-1].copy(), labels - 1, labels[1:]


def check_over_shards(graph: Graph, cuts: list[int], iterations: int = 10) -> None:
    """Ranks on a GPU find the same, and all give the verdict of one."""
    expected = cdlp(graph, iterations).labels
    shards = split(graph, bounds_of(cuts, graph.num_vertices))
    answers = [expected, *wrong_of(expected)[:-1]]

    def run(ranks):
        shard = shard_to_device(shards[ranks.rank])
        own = slice(shard.rows.start, shard.rows.stop)
        found = cdlp_over_ranks(shard, ranks, iterations)
        parts = [Components(cupy.asarray(answer[own])) for answer in answers]
        verdicts = [certify_over_ranks(shard, ranks, part, iterations) for part in parts]
        return cupy.asnumpy(found.answer.labels), found.supersteps, verdicts

    parts = run_ranks(len(shards), run, DEADLINE)
    assert np.concatenate([part[0] for part in parts]).tolist() == expected.tolist()
    assert len({part[1] for part in parts}) == 1
    for part in parts:
        assert part[2] == [certify_cdlp(graph, Components(answer), iterations) for answer in answers]


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500], ids=lambda edges: edges.name)
def test_named_graphs(edges):
    check(graph_of(edges, edges.ids[::-1]), 3)
    check(uncleaned(edges))
    check_over_shards(uncleaned(edges, edges.ids[::-1]), [len(edges.ids) // 2, 3], 2)


@pytest.mark.parametrize("edges", SKEWED, ids=lambda edges: edges.name)
def test_random_graphs(edges, monkeypatch):
    monkeypatch.setattr("kernels.cdlp.certificate.cuda._ARCS", 500)
    for graph in (graph_of(edges), uncleaned(edges)):
        check(graph)
        check_over_shards(graph, [100, 200])


def test_parallel_arcs_in_the_first_round():
    edges = [(5, 1), (5, 9), (5, 9), (9, 9), (1, 3), *((20, 30 + i // 2) for i in range(1, 80))]
    for rounds in (1, 2, 5):
        check(uncleaned(EdgeList("parallel", tuple(edges), directed=False)), rounds)


def test_rows_that_blocks_count():
    """Hubs, whose neighbours have many labels, more than a table in shared memory has slots."""
    random = np.random.default_rng(0)
    edges = [(hub, 2 + i) for i in range(4200) for hub in (0, 1)[: 1 + i % 2]]
    edges += [tuple(pair) for pair in random.integers(2, 4202, (300, 2)).tolist()]
    graph = graph_of(EdgeList("hubs", tuple(edges), directed=False))
    check(graph, 4)
    check_over_shards(graph, [1, 2], 2)


def test_majorities():
    """Rows of 40 and of 299 neighbours, which soon have one label; few labels change in late rounds."""
    check(ring_of_cliques(9, 40))
    check(ring_of_cliques(2, 300), 4)
