"""Time the CPU kernels, SciPy, igraph and NetworKit."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.cpu import components, forest, paths
from benchmarks.cpu.harness import OURS, Contender, Contest, ContestRow, Peers, as_columns, markdown, race
from benchmarks.graphs import GRAPHS
from kernels.graph import Graph
from kernels.registry import ALGORITHMS

RACED = {"bfs", "sssp", "mst", "wcc", "scc"}  # by the modules


def alone(graph: Graph) -> Iterator[Contest]:
    """The algorithms of the registry that have no peer here."""
    for algorithm in ALGORITHMS:
        if algorithm.by_default and algorithm.name not in RACED and not algorithm.has_index:
            sources = [int(np.diff(graph.out.offsets).argmax())] if algorithm.has_sources else []
            yield Contest(algorithm.name, (Contender(OURS, partial(algorithm.resolve("solver"), graph, *sources), vars),))


def run(out: Path) -> None:
    """Race on every graph; write `cpu.parquet` and `cpu.md` to `out`, and print the latter."""
    rows: list[ContestRow] = []
    for name, load in GRAPHS.items():
        graph = load()
        peers = Peers(graph)
        for module in (paths, forest, components):
            for contest in module.contests(graph, peers):
                print(f"{name}: {contest.algorithm}", file=sys.stderr)
                rows += race(name, graph, contest)
        for contest in alone(graph):
            rows += race(name, graph, contest)
    out.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(as_columns(rows)), out / "cpu.parquet")
    (out / "cpu.md").write_text(markdown(rows) + "\n", encoding="utf-8")
    print(markdown(rows))
