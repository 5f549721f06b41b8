"""Whole runs over shards that are threads of one process, on GPUs: stages overlap, and the tables are those of a CPU."""

from pathlib import Path

import pytest

pytest.importorskip("cupy")

from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.store.shards import load_shard

SOURCE = Path(__file__).parents[3] / "data" / "wiki-Vote.txt.gz"
STAGES = ["bfs", "mst", "wcc", "scc"]
PER_BYTE = "pipeline.steps.runtime.PER_STORED_BYTE"


def published(output, **tables):
    folder = run(run_config("test", graph={"source": str(SOURCE)}, stages=STAGES, output=output, **tables)).path
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.parquet")}


def run_over_shards(tmp_path, monkeypatch):
    """Run on the CPU and over two shards on GPUs; the shards that were loaded, and whether the tables are equal."""
    loaded = []

    def count_loads(graph, dealing, rank, backend, *arguments, **options):
        loaded.append((backend, rank))
        return load_shard(graph, dealing, rank, backend, *arguments, **options)

    monkeypatch.setattr("pipeline.store.shards.load_shard", count_loads)
    equal = published(tmp_path / "cpu", backend="cpu") == published(tmp_path / "gpus", backend="gpu", cluster={"shards": 2})
    return sorted(loaded), equal


def test_the_tables_are_those_of_a_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(PER_BYTE, 2**60)
    assert run_over_shards(tmp_path, monkeypatch) == ([("gpu", 0), ("gpu", 1)], True)  # once for all stages


def test_a_gpu_with_memory_for_the_graph_holds_all_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(PER_BYTE, 4)
    assert run_over_shards(tmp_path, monkeypatch) == ([], True)
