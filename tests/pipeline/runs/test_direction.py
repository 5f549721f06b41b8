"""A directed graph whose arcs are symmetric: what an answer means follows from the stated direction, not from the storage."""

from typing import Any

import networkx as nx
import pyarrow.parquet as pq
import pytest

from kernels.layout import building
from kernels.layout.sorting import transpose
from kernels.registry import ALGORITHMS
from pipeline.changes import change, compaction
from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, read
from tests.pipeline.changes.histories import differing, tables
from tests.pipeline.reach.inputs import write_pairs

# Two components; weights that tie, and a hub.
EDGES = [(1, 2, 2), (2, 3, 1), (1, 3, 3), (3, 4, 2), (4, 5, 2), (2, 5, 9), (3, 6, 1), (6, 7, 4), (8, 9, 5), (9, 10, 5)]
ARCS = [*EDGES, *((dst, src, weight) for src, dst, weight in EDGES)]
STAGES = [algorithm.name for algorithm in ALGORITHMS]


def listed(rows: list[tuple[int, int, int]]) -> str:
    return "src,dst,weight\n" + "".join(f"{src},{dst},{weight}\n" for src, dst, weight in rows)


def publish(folder, rows, out: str, directed: bool = True, **options: Any) -> Folder:
    """A run of every stage and product."""
    (folder / "edges.csv").write_text(listed(rows), "utf-8")
    (folder / "facilities.csv").write_text("facility\n4\n8\n", "utf-8")
    pairs = write_pairs(folder / "pairs.parquet", [1, 7, 8], [5, 2, 10])
    asked = {
        "stages": STAGES, "sources": [1, 9], "max_flow": {"pairs": pairs}, "closeness": {}, "flows": {}, "backend": "cpu",
        "nearest": {"facilities": str(folder / "facilities.csv"), "count": 2}, "isochrones": {"thresholds": [2, 5]},
        "betweenness": {"weights": True}, "oracle": True, "keep": 5, "expect": {"empty": True},
    }  # fmt: skip
    graph = {"source": str(folder / "edges.csv"), "directed": directed, "ids": "integer"}
    return run(run_config("test", graph=graph, output=folder / out, **asked | options))


def stored_once(published: Folder, step: str = "graph") -> bool:
    return GraphFacts.of(read(published.path.parents[1] / "steps" / step)).symmetric


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Folder:
    folder = tmp_path_factory.mktemp("fresh")
    published = publish(folder, ARCS, "out")
    assert stored_once(published)
    assert len(tables(published.path)) >= len(STAGES) + 4
    return published


def test_betweenness_counts_both_directions(fresh):
    plain: nx.DiGraph[int] = nx.DiGraph()
    plain.add_weighted_edges_from(ARCS)
    expected = nx.betweenness_centrality(plain, normalized=False, weight="weight")
    found = {row["vertex"]: row["betweenness"] for row in pq.read_table(fresh.path / "betweenness").to_pylist()}
    assert found == pytest.approx(expected)


def test_only_betweenness_differs_from_an_undirected_graph(fresh, tmp_path):
    undirected = publish(tmp_path, EDGES, "out", directed=False)
    assert differing(fresh.path, undirected.path) == ["betweenness", "edge_betweenness"]
    arcs, edges = (pq.read_table(of.path / "edge_betweenness").to_pylist() for of in (fresh, undirected))
    both_ways = {(row["src"], row["dst"]): row["edge_betweenness"] for row in arcs}
    assert len(both_ways) == 2 * len(edges)
    for row in edges:
        src, dst = row["src"], row["dst"]
        assert src < dst and row["edge_betweenness"] == (both_ways[src, dst] + both_ways[dst, src]) / 2
    both, half = (pq.read_table(of.path / "betweenness").column("betweenness").to_pylist() for of in (fresh, undirected))
    assert both == [2 * value for value in half]
    symmetrised = publish(tmp_path, EDGES, "symmetrised", layout={"symmetrise": True})
    assert differing(symmetrised.path, undirected.path) == []


def test_the_same_graph_with_in_arcs_of_their_own_has_the_same_tables(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr(building, "in_rows", lambda out, spill: transpose(out))
    twice = publish(tmp_path, ARCS, "out")
    assert not stored_once(twice)
    assert differing(fresh.path, twice.path) == []


@pytest.mark.parametrize("share", [0, 100], ids=["rewritten", "merged"])
def test_a_deletion_and_the_same_insertion_change_no_table(share, fresh, tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "SHARE", share)
    out = publish(tmp_path, ARCS, "out").path.parents[1]
    for number, row in enumerate(("delete,3,2,", "insert,3,2,1")):
        (tmp_path / f"{number}.csv").write_text(f"op,src,dst,weight\n{row}\n", "utf-8")
        changed = change(out, tmp_path / f"{number}.csv")
        assert differing(fresh.path, changed.path) == [] if number else "betweenness" in differing(fresh.path, changed.path)
    assert not stored_once(changed, "graph-2")


def test_arcs_that_become_symmetric_give_the_tables_of_a_rebuild(fresh, tmp_path):
    out = publish(tmp_path, ARCS[:-1], "out").path.parents[1]
    src, dst, weight = ARCS[-1]
    (tmp_path / "changes.csv").write_text(f"op,src,dst,weight\ninsert,{src},{dst},{weight}\n", "utf-8")
    assert differing(fresh.path, change(out, tmp_path / "changes.csv").path) == []


def test_several_ranks_have_the_same_tables(fresh, tmp_path):
    sharded = [algorithm.name for algorithm in ALGORITHMS if algorithm.sharded_solver and algorithm.exact]
    over_ranks = tables(publish(tmp_path, ARCS, "out", stages=sharded, cluster={"shards": 3}).path)
    assert len(over_ranks) > len(sharded)
    assert over_ranks == {name: tables(fresh.path)[name] for name in over_ranks}
