"""Whole runs over shards that are threads of one process, on GPUs: stages overlap, and the tables are those of a CPU."""

from pathlib import Path

import pytest

pytest.importorskip("cupy")

from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.store.shards import load_shard

SOURCE = Path(__file__).parents[3] / "data" / "wiki-Vote.txt.gz"
STAGES = ["bfs", "mst", "wcc", "scc"]


def published(output, **tables):
    folder = run(run_config("test", graph={"source": str(SOURCE)}, stages=STAGES, output=output, **tables)).path
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.parquet")}


def test_the_tables_are_those_of_a_cpu(tmp_path, monkeypatch):
    loaded = []

    def count_loads(graph, dealing, rank, backend, *arguments, **options):
        loaded.append((backend, rank))
        return load_shard(graph, dealing, rank, backend, *arguments, **options)

    monkeypatch.setattr("pipeline.store.shards.load_shard", count_loads)
    on_cpu = published(tmp_path / "cpu", backend="cpu")
    on_gpus = published(tmp_path / "gpus", backend="gpu", cluster={"shards": 2})
    assert on_gpus == on_cpu
    assert sorted(loaded) == [("gpu", 0), ("gpu", 1)]  # once for all stages
