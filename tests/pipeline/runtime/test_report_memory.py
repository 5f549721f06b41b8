"""What a report of a large graph takes: no column of ids, and no degrees or distances of 64 bits."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.ingest import ingest
from pipeline.report.findings import read_and_draw
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from tests.sharded.test_memory import least_peak

VERTICES = 1_200_000
OF_VERTEX = 22  # bytes: two degrees of 4, distances of 4 twice, without nulls, and blocks of others


def test_a_report_takes_few_bytes_for_each_vertex(tmp_path: Path) -> None:
    tails = np.arange(VERTICES - 1) // 2
    columns = {"src": tails, "dst": np.arange(1, VERTICES), "weight": 1 + tails % 9}
    pq.write_table(pa.table(columns), tmp_path / "tree.parquet")
    edges = ingest(GraphConfig(source=str(tmp_path / "tree.parquet"), directed=True), tmp_path)
    graph = lay_out(edges, LayoutConfig(order="source"), Runtime(tmp_path))
    answers = {"bfs": run_stage(graph, "bfs", [5], Runtime(tmp_path))}
    found = least_peak(lambda: read_and_draw(edges, graph, answers)) / VERTICES
    assert found < OF_VERTEX, found
