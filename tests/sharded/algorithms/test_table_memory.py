"""What ranks take to write and read tables: little more than the answer itself, a row group, and blocks that they exchange."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.distributed import owners
from kernels.forest.sharded.rooting import root_forest, wrong_row
from kernels.registry import BY_NAME
from pipeline.cluster.shard_of_graph import ShardOfGraph
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.answer_table import open_table
from pipeline.tables.forms import form_of
from tests.sharded.test_memory import least_peak

RANKS, VERTICES = 4, 80_000
BLOCK = 5_000  # rows of an exchange: 2^18 of a million


@pytest.fixture
def stored(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Folder, dict[str, Folder]]:
    """A random graph of 1.25 edges for each vertex, and its tables, whose row groups have so many rows."""
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", request.param)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", request.param)
    monkeypatch.setattr(owners, "_BLOCK", BLOCK)
    random = np.random.default_rng(1)
    src, dst = random.integers(0, VERTICES, (2, VERTICES * 5 // 4))
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": random.integers(1, 99, len(src))}), tmp_path / "wide.parquet")
    edges = ingest(GraphConfig(source=str(tmp_path / "wide.parquet"), directed=False), tmp_path)
    runtime = Runtime(tmp_path, cluster=LocalThreads(RANKS))
    graph = lay_out(edges, LayoutConfig(), runtime)
    source = int(src[0])
    return graph, {name: run_stage(graph, name, [source] if name == "bfs" else [], runtime) for name in ("bfs", "mst")}


def taken(graph: Folder, work: Callable[[ShardOfGraph], Any]) -> float:
    """Bytes for each vertex that `work` takes on all ranks at the peak."""

    def on_rank(context: Any, _: range) -> None:
        work(context.rows_of_shard(graph))

    def run() -> None:
        list(LocalThreads(RANKS).map(on_rank, [range(1)], "cpu", RANKS))

    run()  # compiles
    return least_peak(run) / graph.facts["vertices"]


def read(held: ShardOfGraph, answer: Folder) -> Any:
    return held.read(open_table(answer, held.shard.num_vertices, None), 0)


@pytest.mark.parametrize("stored", [10_000], indirect=True)
def test_ranks_read_tables_in_blocks(stored: tuple[Folder, dict[str, Folder]]) -> None:
    graph, answers = stored
    forest, paths = (taken(graph, lambda held, name=name: read(held, answers[name])) for name in ("mst", "bfs"))
    shards = taken(graph, lambda held: held.shard)
    assert forest - shards < 85
    assert paths - shards < 60


@pytest.mark.parametrize("stored", [20_000], indirect=True)
def test_ranks_write_and_check_tables_in_blocks(stored: tuple[Folder, dict[str, Folder]]) -> None:
    graph, answers = stored
    schema, rooted = tables.schema("bfs", None), {}

    def write(held: ShardOfGraph) -> None:
        for _ in held.batches(form_of(BY_NAME["bfs"]), read(held, answers["bfs"]), schema, 0):
            pass

    def root(held: ShardOfGraph) -> None:
        forest = read(held, answers["mst"])
        rooted[held.communicator.rank] = root_forest(held.shard, held.communicator, forest), forest

    def check(held: ShardOfGraph) -> None:
        assert wrong_row(held.shard, held.communicator, *rooted[held.communicator.rank]) < 0

    taken(graph, root)
    shards = taken(graph, lambda held: held.shard)
    assert taken(graph, write) - shards < 95
    assert taken(graph, check) - shards < 38
