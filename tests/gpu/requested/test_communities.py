"""Communities on the GPU, also over shards: the CPU's labels, and its verdicts."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.answers import Components
from kernels.communities import communities
from kernels.communities.certificate import certify_communities
from kernels.communities.certificate.sharded import certify_communities as certify_over_ranks
from kernels.communities.sharded import communities as communities_over_ranks
from kernels.distributed.assembly import to_device as shard_to_device
from kernels.distributed.threads import run_ranks
from kernels.gpu import loader
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from tests.answers import uncleaned
from tests.gpu.inputs import poison
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, bounds_of
from tests.sharded.shards import split


def check(graph: Graph) -> None:
    expected = communities(graph)
    poison()
    on_device = to_device(graph)
    found = communities(on_device)
    assert cupy.asnumpy(found.labels).tolist() == expected.labels.tolist()
    assert certify_communities(on_device, found) == certify_communities(graph, expected)
    for wrong in wrong_of(expected.labels):
        verdict = certify_communities(on_device, Components(cupy.asarray(wrong)))
        assert verdict == certify_communities(graph, Components(wrong))


def wrong_of(labels):
    return labels * 0, labels[::-1].copy(), labels - 1, labels[1:]


def check_over_shards(graph: Graph, cuts: list[int]) -> None:
    """Ranks on a GPU find the same, and all give the verdict of one."""
    expected = communities(graph).labels
    shards = split(graph, bounds_of(cuts, graph.num_vertices))
    answers = [expected, *wrong_of(expected)[:-1]]

    def run(ranks):
        shard = shard_to_device(shards[ranks.rank])
        own = slice(shard.rows.start, shard.rows.stop)
        found = communities_over_ranks(shard, ranks)
        verdicts = [certify_over_ranks(shard, ranks, Components(cupy.asarray(answer[own]))) for answer in answers]
        return cupy.asnumpy(found.answer.labels), found.supersteps, verdicts

    parts = run_ranks(len(shards), run, DEADLINE)
    assert np.concatenate([part[0] for part in parts]).tolist() == expected.tolist()
    assert len({part[1] for part in parts}) == 1
    for part in parts:
        assert part[2] == [certify_communities(graph, Components(answer)) for answer in answers]


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500], ids=lambda edges: edges.name)
def test_named_graphs(edges):
    check(graph_of(edges, edges.ids[::-1]))
    check(uncleaned(edges))
    check_over_shards(uncleaned(edges, edges.ids[::-1]), [len(edges.ids) // 2, 3])


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("skew", [1, 3])
def test_random_graphs(directed, skew):
    ends = (300 * np.random.default_rng(skew).random((900, 2)) ** skew).astype(int).tolist()
    graph = graph_of(EdgeList("random", tuple(map(tuple, ends)), directed))
    check(graph)
    check_over_shards(graph, [100, 200])


def test_a_row_that_a_block_counts():
    random = np.random.default_rng(0)
    edges = [(hub, 2 + i) for i in range(2100) for hub in (0, 1)[: 1 + i % 2]]
    edges += [tuple(pair) for pair in random.integers(2, 2102, (600, 2)).tolist()]
    graph = graph_of(EdgeList("hubs", tuple(edges), directed=False))
    check(graph)
    check_over_shards(graph, [1, 2])


def test_more_labels_than_a_table_in_shared_memory_has_slots():
    """Pairs keep a label each, unless the row beside all of them moves. It counts in round 2, when not all labels differ."""
    edges = [pair for i in range(0, 9002, 2) for pair in ((i, i + 1), (9002, i), (9002, i + 1))]
    graph = graph_of(EdgeList("pairs", tuple(edges), directed=False))
    check(graph)
    check_over_shards(graph, [graph.num_vertices // 2])


def ring_of_cliques(cliques: int, size: int) -> Graph:
    """Cliques that arcs join to a ring: most neighbours of a row soon have one label, and few rows move in most rounds."""
    edges = [(i * size + a, i * size + b) for i in range(cliques) for a in range(size) for b in range(a)]
    edges += [(i * size, (i * size + size + 1) % (cliques * size)) for i in range(cliques)]
    return graph_of(EdgeList("ring", tuple(edges), directed=False))


@pytest.mark.parametrize("many", [1, 1 << 30], ids=["moves are passed on", "all rows are counted again"])
def test_rows_that_may_have_lost_their_lead(monkeypatch, many):
    """Both ways to find the rows that a round has to count."""
    monkeypatch.setattr("kernels.communities.constants.MANY", many)
    caches = loader.constants_of, loader.load, loader.kernel_of, loader.cooperative
    for cache in caches:
        cache.cache_clear()
    ends = (300 * np.random.default_rng(7).random((1500, 2)) ** 2).astype(int).tolist()
    check(graph_of(EdgeList("random", tuple(map(tuple, ends)), directed=False)))
    check(ring_of_cliques(9, 40))
    for cache in caches:
        cache.cache_clear()


def test_a_majority_of_a_row_that_a_block_counts():
    """Rows of 299 neighbours, which soon have one label."""
    check(ring_of_cliques(2, 300))
