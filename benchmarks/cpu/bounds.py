"""Time steps whose cost has a known bound: `python -m benchmarks.cpu.bounds`; the exit status is 1 if one takes longer.

Tests do not assert times, because they also run on busy machines. Each line is a regression that was once measured.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from benchmarks.graphs import graph_of_edges
from kernels.bfs import bfs
from kernels.distributed.columns import distinct
from kernels.sssp import sssp
from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest

ARCS, VERTICES = 4_000_000, 23_947_347
LONG_PATH = 1_000_000


def bounds() -> Iterator[tuple[str, float, float]]:
    """What was timed, its CPU seconds, and the most that it may take."""
    yield "graphmill --help", min(_help() for _ in range(5)), 0.5
    first, second = np.random.default_rng(0).integers(0, 10**6, (2, 1_000_000))
    keys = first * 10**6 + second
    # NumPy 2.3's `unique` hashes, and took ten times as long as a sort.
    yield "distinct pairs, a million", _best(lambda: distinct(keys)), 5 * _best(lambda: np.sort(keys))
    for weight in (0, 1, 2**40):
        rows = np.arange(LONG_PATH - 1)
        graph = graph_of_edges(rows, rows + 1, np.full(LONG_PATH - 1, weight, np.int64), LONG_PATH)
        for kernel in (bfs, sssp):
            kernel(graph, 3)  # compiles
            yield f"{kernel.__name__}, a path of a million arcs of weight {weight}", _best(partial(kernel, graph, 0), 1), 5.0
    with tempfile.TemporaryDirectory() as folder:
        yield from _ingest(Path(folder))


def _help() -> float:
    """CPU seconds of the command that imports nothing heavy."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "pipeline.cli", "--help"], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _ingest(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Text to an edge list, against Arrow's own reader and writer."""
    random, source = np.random.default_rng(0), folder / "roads.gr"
    src, dst = random.integers(1, VERTICES, (2, ARCS), endpoint=True)
    arcs = pa.table({"a": pa.array(["a"]).take(np.zeros(ARCS, int)), "src": src, "dst": dst, "weight": src % 100_000})
    with source.open("wb") as file:
        file.write(b"p sp %d %d\n" % (VERTICES, ARCS))
        csv.write_csv(arcs, file, csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none"))

    def by_arrow() -> None:
        names = csv.ReadOptions(column_names=["a", "src", "dst", "weight"], skip_rows=1)
        read = csv.read_csv(source, names, csv.ParseOptions(delimiter=" "))
        pq.write_table(read.drop_columns("a"), folder / "arrow.parquet", compression="zstd", use_dictionary=False)

    limit = 2.5 * _best(by_arrow)
    yield (
        f"ingest, {ARCS:,} arcs of DIMACS text",
        _best(lambda: ingest(GraphConfig(source=str(source)), folder / "work"), 1),
        limit,
    )


def _best(call: Callable[[], Any], runs: int = 3) -> float:
    """Least CPU seconds of all threads over `runs` calls."""
    seconds = []
    for _ in range(runs):
        begin = time.process_time()
        call()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def main() -> None:
    """Print a line for each bound."""
    argparse.ArgumentParser(prog="python -m benchmarks.cpu.bounds", description=__doc__).parse_args()
    exceeded = False
    for what, seconds, limit in bounds():
        exceeded |= seconds > limit
        print(f"{what}: {seconds:.3f} s of {limit:.3f} s{' EXCEEDED' * (seconds > limit)}")
    sys.exit(exceeded)


if __name__ == "__main__":
    main()
