"""The index built on workers, by dimension or over shards, has the bytes of the one built in one process."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.stages import ReachabilityConfig
from pipeline.errors import TooLarge
from pipeline.ingest import ingest
from pipeline.steps.index import build_index
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.index.arrays import NUMBERS
from pipeline.store.manifest import Folder, check

TIMES = {"seconds", "bytes_needed", "shards", "supersteps"}


@pytest.fixture
def three_shards(cluster, monkeypatch):
    monkeypatch.setattr(cluster, "shards", 3)
    return cluster


@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> Folder:
    """Cycles with arcs to a layered DAG, and isolated vertices."""
    work = tmp_path_factory.mktemp("graph")
    random = np.random.default_rng(7)
    src, dst = random.integers(0, 4000, (2, 5000))
    layers = np.repeat(np.arange(4000, 7600), 2)
    src, dst = np.append(src, layers), np.append(dst, (layers // 400 + 1) * 400 + random.integers(0, 400, len(layers)))
    pq.write_table(pa.table({"src": src * 5, "dst": dst * 5}), work / "arcs.parquet")
    edges = ingest(GraphConfig(source=str(work / "arcs.parquet"), directed=True), work)
    return lay_out(edges, LayoutConfig(), Runtime(work))


def same(found: Folder, expected: Folder) -> None:
    assert found.manifest.files == expected.manifest.files
    check(found)
    facts = [{name: fact for name, fact in folder.facts.items() if name not in TIMES} for folder in (found, expected)]
    assert facts[0] == facts[1]


@pytest.mark.parametrize(("method", "dimensions"), [("tree", 1), ("tree", 4), ("dfs", 3)])
def test_dimensions_are_built_on_workers(method, dimensions, graph, cluster, tmp_path):
    asked = ReachabilityConfig(dimensions=dimensions, seed=5, method=method)
    found = build_index(graph, asked, Runtime(tmp_path / "there", cluster=cluster))
    same(found, build_index(graph, asked, Runtime(tmp_path / "here")))
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["reachability_index"]
    assert (np.load(found.path / "low.npy").shape[0], len(found.facts["compared_paths"])) == (dimensions, dimensions)


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_an_index_is_built_over_ranks_of_this_process(shards, graph, tmp_path):
    asked = ReachabilityConfig(dimensions=3, seed=5)
    found = build_index(graph, asked, Runtime(tmp_path / "there", cluster=LocalThreads(shards)))
    same(found, build_index(graph, asked, Runtime(tmp_path / "here")))
    assert found.facts["shards"] == shards
    with pytest.raises(TooLarge, match=rf"one of {shards} parts, of [\d,]+ rows"):
        build_index(graph, ReachabilityConfig(dimensions=10**9), Runtime(tmp_path / "large", cluster=LocalThreads(shards)))


def test_an_index_is_built_and_proved_over_ranks_of_workers(graph, three_shards, tmp_path):
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
    found = run_stage(graph, "reachability", (), Runtime(tmp_path / "there", cluster=three_shards))
    expected = run_stage(graph, "reachability", (), Runtime(tmp_path / "here"))
    assert found.manifest.files == expected.manifest.files and found.facts["shards"] == 3
    assert prove(graph, found, True, Runtime(tmp_path / "there", cluster=three_shards)).facts["holds"]


def test_a_method_without_a_sharded_kernel_runs_on_one_worker(graph, three_shards, tmp_path):
    asked = ReachabilityConfig(method="dfs")
    found = build_index(graph, asked, Runtime(tmp_path / "there", cluster=three_shards))
    assert "shards" not in found.facts
    same(found, build_index(graph, asked, Runtime(tmp_path / "here")))


def test_graphs_without_arcs_or_vertices_are_indexed(tmp_path):
    for name, table in (("none", []), ("loops", [3, 5])):
        pq.write_table(pa.table({"src": pa.array(table, pa.int64()), "dst": pa.array(table, pa.int64())}), tmp_path / name)
        work = tmp_path / f"{name}-work"
        work.mkdir()
        config = GraphConfig(source=str(tmp_path / name), format="parquet", directed=True)
        stored = lay_out(ingest(config, work), LayoutConfig(), Runtime(work))
        expected = build_index(stored, ReachabilityConfig(), Runtime(work / "here"))
        same(build_index(stored, ReachabilityConfig(), Runtime(work / "there", cluster=LocalThreads(3))), expected)


def test_only_the_numbers_have_a_row_per_dimension(graph, tmp_path):
    folder = build_index(graph, ReachabilityConfig(dimensions=2), Runtime(tmp_path)).path
    assert {path.stem for path in folder.glob("*.npy") if np.load(path, mmap_mode="r").ndim == 2} == set(NUMBERS)
