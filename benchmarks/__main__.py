"""Run every benchmark, print the table as Markdown, and write it as Parquet: `python -m benchmarks [FILE.parquet]`."""

from __future__ import annotations

import sys

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import components, forest, paths
from benchmarks.graphs import GRAPHS
from benchmarks.harness import Peers, Row, as_columns, markdown, race


def main(file: str = "benchmarks.parquet") -> None:
    """Race on every graph; progress on standard error."""
    rows: list[Row] = []
    for name, load in GRAPHS.items():
        graph = load()
        peers = Peers(graph)
        for module in (paths, forest, components):
            for contest in module.contests(graph, peers):
                print(f"{name}: {contest.algorithm}", file=sys.stderr)
                rows += race(name, graph, contest)
    pq.write_table(pa.table(as_columns(rows)), file)
    print(markdown(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
