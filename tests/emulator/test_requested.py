"""Stages on request, also of users, on the emulated GPU: on graphs of the other kernels and in runs, the CPU's answers."""

# ruff: noqa: E402  (the imports below need the emulator)
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from benchmarks.one_gpu.contests import equal
from kernels.betweenness import betweenness, cuda, edge_betweenness
from kernels.betweenness.certificate import certify_betweenness, certify_edge_betweenness
from kernels.betweenness.certificate import cuda as certificate
from kernels.communities import communities
from kernels.communities.certificate import certify_communities
from kernels.gpu import loader
from kernels.gpu.loader import launch
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Graph
from pipeline.config.loading import run_config
from pipeline.run import run
from tests.cpu.requested.test_triangles import GRAPHS
from tests.emulator.test_kernels import crowd, roads
from tests.gpu.one import test_pagerank as of_ranks
from tests.gpu.requested import test_betweenness as of_betweenness
from tests.gpu.requested import test_cdlp, test_cores, test_generators
from tests.gpu.requested import test_communities as of_communities
from tests.gpu.requested import test_seeded_pagerank as of_seeds
from tests.gpu.requested import test_triangles as of_triangles
from tests.gpu.requested.test_custom import (  # noqa: F401
    test_a_program_that_differs_is_refused_unless_its_certificate_holds,
    test_an_error_of_an_operator_that_nobody_waited_for_names_its_line,
    test_the_program_of_the_page_is_proved,
    test_the_tables_are_those_of_the_cpu,
    test_what_a_program_writes_into_the_graph_stays_in_its_call,
)
from tests.gpu.several import test_shard_runs as of_runs
from tests.graphs import EdgeList, graph_of
from tests.pipeline.changes.histories import differing
from tests.pipeline.reach.inputs import write_pairs


@pytest.mark.parametrize("name", GRAPHS)
def test_triangles_and_coefficients(name):
    of_triangles.check(GRAPHS[name]())


@pytest.mark.parametrize("name", ["crowd", "arcs"])
def test_triangles_over_ranks(name, monkeypatch):
    of_triangles.check_over_ranks(GRAPHS[name](), 3, monkeypatch)


def test_proofs_of_triangles_with_few_hubs(monkeypatch):
    of_triangles.check_with_hubs(GRAPHS["arcs"](), 70, monkeypatch)


@pytest.mark.parametrize("name", test_generators.DRAWINGS)
def test_random_graphs(name):
    test_generators.check(test_generators.DRAWINGS[name]())


def test_triangles_by_lists_without_bits(monkeypatch):
    of_triangles.check_without_bits(GRAPHS["crowd"](), monkeypatch)


def tail() -> Graph:
    """A long path, equally short ways around each of its rows, and a row of several parts at its end."""
    path = [(i, i + 1) for i in range(70)] + [pair for i in range(0, 70, 2) for pair in ((i, 2000 + i), (2000 + i, i + 2))]
    return graph_of(EdgeList("tail", tuple((*pair, 1 + (2 in pair)) for pair in path + [(70, 100 + i) for i in range(1100)])))


def hubs() -> Graph:
    """Few levels, and rows of several parts."""
    return graph_of(EdgeList("hubs", tuple((hub, 2 + i) for i in range(1100) for hub in (0, 1)), directed=False))


def ring() -> Graph:
    """32 ways from each of 206 rows to the next one: 2^1030 paths around it, more than a double counts."""
    ways = [(33 * i, 33 * i + way) for i in range(206) for way in range(1, 33)]
    return graph_of(EdgeList("ring", tuple(ways + [(way, (row // 33 + 1) % 206 * 33) for row, way in ways])))


MAKERS = {"roads": lambda: roads(5), "crowd": crowd, "tail": tail, "hubs": hubs, "ring": ring}


@pytest.mark.parametrize(
    ("name", "weights"), [*product(("roads", "crowd", "tail"), (True, False)), ("hubs", False), ("ring", False)]
)
def test_betweenness(name, weights):
    graph, asked = MAKERS[name](), {"weights": weights, "exact_below": 0, "epsilon": 0.99 if name == "ring" else 0.5}
    on_device, expected = to_device(graph), betweenness(graph, **asked)
    found = betweenness(on_device, **asked)
    equal(found, expected)
    verdict = certify_betweenness(on_device, found, **asked)
    assert verdict.holds, verdict.reason


@pytest.mark.parametrize("weights", [True, False])
def test_ends_of_paths_and_edges(weights):
    of_betweenness.check_ends_and_edges(roads(5), weights=weights)


@pytest.mark.parametrize("weights", [True, False])
def test_edges_of_long_paths(weights):
    of_betweenness.check_one(tail(), edge_betweenness, certify_edge_betweenness, {"sources": [0, 1], "weights": weights})


@pytest.mark.parametrize("weights", [True, False])
def test_the_direction_of_a_symmetric_graph_is_the_stated_one(weights):
    """In-arcs that are stored once say nothing about it."""
    undirected = roads(4)
    once = replace(undirected, directed=True)
    twice = replace(once, into=replace(once.out))
    expected = betweenness(undirected, weights).betweenness
    for graph in map(to_device, (once, twice)):
        found = betweenness(graph, weights)
        np.testing.assert_array_equal(found.betweenness.get(), 2 * expected)
        assert certify_betweenness(graph, found, weights=weights).holds
        assert not certify_betweenness(graph, replace(found, betweenness=found.betweenness / 2), weights=weights).holds


@pytest.mark.parametrize("weights", [True, False])
def test_betweenness_without_memory_for_a_group(weights, monkeypatch):
    """The solver takes a block for each source, and the proof takes eight sources at a time."""
    graph, asked, widths = crowd(100), {"weights": weights, "exact_below": 0, "epsilon": 0.5}, set()
    on_device, expected = to_device(graph), betweenness(graph, **asked)

    def recorded(*arguments, **keywords):
        widths.add(keywords["WIDTH"])
        launch(*arguments, **keywords)

    monkeypatch.setattr(loader, "free_bytes", lambda: 300 * graph.num_vertices)
    monkeypatch.setattr(cuda, "_add", None)
    monkeypatch.setattr(certificate, "launch", recorded)
    found = betweenness(on_device, **asked)
    equal(found, expected)
    verdict = certify_betweenness(on_device, found, **asked)
    assert (verdict.holds, widths) == (True, {8}), verdict.reason


@pytest.mark.parametrize("name", ["crowd", "tail"])
def test_betweenness_without_memory_for_a_source(name, monkeypatch):
    graph, asked = MAKERS[name](), {"weights": False, "exact_below": 0, "epsilon": 0.5}
    on_device = to_device(graph)
    found = betweenness(on_device, **asked)
    monkeypatch.setattr(loader, "free_bytes", lambda: graph.num_vertices)
    refused = r"betweenness from one source takes \d+ MiB of GPU memory, and \d+ MiB are free"
    for refuse in (lambda: betweenness(on_device, **asked), lambda: certify_betweenness(on_device, found, **asked)):
        with pytest.raises(MemoryError, match=refused):
            refuse()


@pytest.mark.parametrize("make", [roads, crowd])
def test_communities(make):
    graph = make()
    on_device = to_device(graph)
    found, expected = communities(on_device), communities(graph)
    equal(found, expected)
    assert certify_communities(on_device, found) == certify_communities(graph, expected)
    of_communities.check_over_shards(graph, [graph.num_vertices // 3])


def test_communities_over_ranks_of_rows_that_blocks_count():
    of_communities.check_over_shards(hubs(), [1, 3])


@pytest.mark.parametrize("make", [roads, crowd])
def test_core_numbers(make):
    graph = make()
    test_cores.check(graph)
    test_cores.check_over_shards(graph, [graph.num_vertices // 3])


@pytest.mark.parametrize("make", [roads, crowd])
def test_labels_of_cdlp(make):
    graph = make()
    test_cdlp.check(graph)
    test_cdlp.check_over_shards(graph, [graph.num_vertices // 3], 3)


def test_labels_of_cdlp_with_parallel_arcs():
    test_cdlp.test_parallel_arcs_in_the_first_round()


def test_labels_of_cdlp_in_rows_that_blocks_count():
    test_cdlp.check(hubs(), 3)


@pytest.mark.parametrize("make", [roads, crowd, partial(graph_of, of_seeds.HUBS)], ids=["roads", "crowd", "chunks"])
def test_pagerank_from_seeds(make):
    of_seeds.check(make(), 2, iterations=2)


def test_fixed_iterations_of_pagerank():
    of_ranks.test_fixed_numbers_of_iterations(2)


def test_copies_of_a_graph_derive_again_where_they_are():
    graph = roads(5)
    graph.positions  # noqa: B018  (derived from the original)
    copy = to_device(graph)
    assert isinstance(copy.positions, cupy.ndarray)
    assert on_host(copy).positions.tolist() == graph.positions.tolist()


@pytest.mark.parametrize("arcs", ["1,2,3\n2,3,1\n1,3,2\n3,4,4\n4,2,1\n7,8,5\n", ""], ids=["arcs", "empty"])
def test_tables_of_a_run(arcs, tmp_path):
    (tmp_path / "arcs.csv").write_text(f"src,dst,weight\n{arcs}")
    src, dst = np.array([(1, 4), (1, 7), (2, 4)] if arcs else [], np.int64).reshape(-1, 2).T
    pairs = write_pairs(tmp_path / "pairs.parquet", src, dst)
    asked = {
        "stages": ["mst", "betweenness", "edge_betweenness", "communities", "closure", "cores", "cdlp", "max_flow"],
        "max_flow": {"pairs": pairs},
    }
    source = {"source": str(tmp_path / "arcs.csv"), "ids": "integer"}
    runs = [run(run_config("test", graph=source, output=tmp_path / on, backend=on, **asked)) for on in ("cpu", "gpu")]
    assert differing(*(each.path for each in runs)) == []


def test_a_run_over_shards_on_one_gpu(tmp_path, monkeypatch):
    of_runs.test_the_tables_are_those_of_a_cpu(tmp_path, monkeypatch)


def test_a_run_over_shards_of_a_graph_that_the_gpu_has_memory_for(tmp_path, monkeypatch):
    of_runs.test_a_gpu_with_memory_for_the_graph_holds_all_of_it(tmp_path, monkeypatch)
