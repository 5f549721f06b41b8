"""The steps of a hierarchy: what they store, when they run again, and what they refuse."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.generators import grid_edges
from pipeline.changes import change
from pipeline.cluster.protocol import TaskContext
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import RunConfig
from pipeline.errors import Damaged, NotRoadLike, TooLarge
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.derived import hierarchy as steps
from pipeline.steps.derived.hierarchy import build_hierarchy
from pipeline.steps.layout import lay_out
from pipeline.steps.products import sweeping
from pipeline.steps.runtime import Runtime
from pipeline.store.graph import open_graph
from pipeline.store.hierarchy import open_hierarchy
from pipeline.store.hierarchy.facts import HierarchyFacts
from pipeline.store.manifest import Folder, read
from tests.cpu.hierarchy.checks import require_hierarchy

DATA = Path(__file__).parents[3] / "data"


def laid_out(work: Path, seed: int, directed: bool = False) -> Folder:
    """A grid with random weights."""
    src, dst = grid_edges(12)
    weights = np.random.default_rng(seed).integers(1, 100, len(src))
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": weights}), work / f"{seed}.parquet")
    edges = ingest(GraphConfig(source=str(work / f"{seed}.parquet"), directed=directed), work)
    return lay_out(edges, LayoutConfig(), Runtime(work))


@pytest.mark.parametrize("directed", [True, False])
def test_new_weights_keep_the_order(directed, tmp_path):
    orders = set()
    for seed in (1, 2):
        graph, runtime = laid_out(tmp_path, seed, directed), Runtime(tmp_path)
        made = build_hierarchy(graph, runtime)
        assert not made.reused
        assert build_hierarchy(graph, Runtime(tmp_path)).reused
        orders.add(made.manifest.inputs["order"])
        require_hierarchy(open_graph(graph), open_hierarchy(made))
        held = TaskContext("cpu").whole_graph(graph)
        assert held.hierarchy(made) is held.hierarchy(made)
        facts = HierarchyFacts.of(made)
        assert 0 < facts.shortcuts < facts.arcs
        assert (facts.down_arcs is None) == (not directed)
    assert len(orders) == 1


def test_a_run_lists_its_hierarchy_among_its_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "WORTH", 1)
    laid_out(tmp_path, 3)
    config = RunConfig(
        graph=GraphConfig(source=str(tmp_path / "3.parquet")), output=tmp_path / "out", stages=["wcc"], closeness={}
    )
    for reused in (False, True):
        steps = run(config).facts["steps"]
        assert [steps[name]["reused"] for name in ("hierarchy_order", "hierarchy", "closeness")] == [reused] * 3


def test_new_vertices_need_a_new_order(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "WORTH", 1)
    laid_out(tmp_path, 3)
    out, changes = tmp_path / "out", tmp_path / "changes.csv"
    source = GraphConfig(source=str(tmp_path / "3.parquet"), directed=False)
    run(RunConfig(graph=source, output=out, stages=["wcc"], closeness={}))
    orders, reused = [], []
    for row in ("insert,0,500,5", "delete,0,500,"):  # the vertex stays
        changes.write_text(f"op,src,dst,weight\n{row}\n")
        published = change(out, changes)
        orders.append(read(out / "steps" / "hierarchy").manifest.inputs["order"])
        reused.append([published.facts["steps"][name]["reused"] for name in ("hierarchy_order", "hierarchy")])
        assert pq.read_table(published.path / "closeness").column("vertex").to_pylist() == [*range(144), 500]
    assert orders[0] == orders[1]
    assert reused == [[False, False], [True, False]]


def test_an_order_that_does_not_suit_new_weights_is_not_used(tmp_path, monkeypatch):
    first = build_hierarchy(laid_out(tmp_path, 1), Runtime(tmp_path))
    monkeypatch.setattr(steps, "_WORSE", 0)
    graph = laid_out(tmp_path, 2)
    made = build_hierarchy(graph, Runtime(tmp_path))
    assert made.manifest.inputs["order"] == first.manifest.inputs["order"]
    order = np.load(tmp_path / "hierarchy_order" / "positions.npy")
    assert (np.load(made.path / "positions.npy") != order).any()
    require_hierarchy(open_graph(graph), open_hierarchy(made))


def test_a_social_network_is_refused_and_leaves_nothing(tmp_path):
    edges = ingest(GraphConfig(source=str(DATA / "facebook_combined.txt.gz")), tmp_path)
    graph = lay_out(edges, LayoutConfig(), Runtime(tmp_path))
    with pytest.raises(NotRoadLike, match=r"graph: not like a road network: with 4,039 of 4,039 vertices left"):
        build_hierarchy(graph, Runtime(tmp_path))
    assert not (tmp_path / "hierarchy_order").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"edges", "graph", "sources.json"}


def test_too_little_memory_is_stated_with_both_numbers(tmp_path, monkeypatch):
    graph = laid_out(tmp_path, 1)
    monkeypatch.setattr("kernels.hierarchy.memory", lambda *_: 2**60)
    with pytest.raises(
        TooLarge, match=r"hierarchy of 144 vertices and 528 arcs takes up to 1,[\d,]+ MiB .* and [\d,]+ MiB are free"
    ):
        build_hierarchy(graph, Runtime(tmp_path))


def test_a_damaged_hierarchy_is_not_opened(tmp_path):
    made = build_hierarchy(laid_out(tmp_path, 1), Runtime(tmp_path))
    np.save(made.path / "up-others.npy", np.zeros(3, np.int32))
    with pytest.raises(Damaged, match=r"up-others\.npy: int32 \(3,\), the manifest says"):
        open_hierarchy(made)
