"""Time the CPU kernels, SciPy, igraph and NetworKit."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.cpu import components, forest, paths
from benchmarks.cpu.harness import Peers, Row, as_columns, markdown, race
from benchmarks.graphs import GRAPHS


def run(out: Path) -> None:
    """Race on every graph; write `cpu.parquet` and `cpu.md` to `out`, and print the latter."""
    rows: list[Row] = []
    for name, load in GRAPHS.items():
        graph = load()
        peers = Peers(graph)
        for module in (paths, forest, components):
            for contest in module.contests(graph, peers):
                print(f"{name}: {contest.algorithm}", file=sys.stderr)
                rows += race(name, graph, contest)
    out.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(as_columns(rows)), out / "cpu.parquet")
    (out / "cpu.md").write_text(markdown(rows) + "\n", encoding="utf-8")
    print(markdown(rows))
