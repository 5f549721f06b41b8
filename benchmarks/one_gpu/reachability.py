"""Time the reachability index on the GPU: `python -m benchmarks.one_gpu.reachability --help` (docs/reachability.md).

The graphs are those of the GRAIL authors, `NAME.gra.gz`. Every index is proved before anything is timed, and answers to samples
are compared with the CPU's, on graphs of up to 2^20 vertices the index too. The last two tables are the thesis's (thesis.py).
"""

import argparse
import gzip
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.one_gpu.graphs import DATA, graph_of_arcs
from benchmarks.one_gpu.thesis import LABELS_HEAD, QUERIES_HEAD, labels_row, queries_row
from benchmarks.one_gpu.timing import milliseconds, poison
from kernels.answers import ReachabilityIndex, Reached
from kernels.gpu.transfer import on_host
from kernels.graph import Array, Csr, Graph
from kernels.reachability import condense, label, reach, reachability
from kernels.reachability.certificate import certify_reachability
from kernels.reachability.queries import cuda as cuda_queries

RUNS = 20
FEW_QUERIES, MANY_QUERIES = 100_000, 100_000_000
COMPARED = 1 << 20  # most vertices for which the CPU also answers
SAMPLES = 20_000  # of each kind of decision
POISONED = 1 << 28
WIDTHS = (32, 64, 256)


def layered(layers: int, width: int, degree: int = 4, span: int = 1, seed: int = 1) -> Graph:
    """Layered random DAG: `layers` of `width` vertices, every vertex with `degree` arcs into the next layers.

    An arc leads to a vertex drawn uniformly from one of the next `span` layers, itself drawn uniformly (those beyond the last
    count as the last); vertices of the last layer have none. Arcs that are drawn twice count once. Ids are a random permutation.
    """
    random, num_vertices = cp.random.default_rng(seed), layers * width
    src = cp.repeat(cp.arange(num_vertices - width, dtype=cp.int64), degree)
    layer = cp.minimum(src // width + 1 + random.integers(0, span, len(src)), layers - 1)
    dst = layer * width + random.integers(0, width, len(src))
    del layer
    ids = cp.argsort(random.random(num_vertices)).astype(cp.int64)
    return graph_of_arcs(ids[src], ids[dst], None, num_vertices, False, "source")


def path(num_vertices: int, seed: int = 1) -> Graph:
    """A path whose ids are a random permutation."""
    ids = cp.argsort(cp.random.default_rng(seed).random(num_vertices)).astype(cp.int64)
    return graph_of_arcs(ids[:-1], ids[1:], None, num_vertices, False, "source")


def adjacency(file: Path) -> Graph:
    """Read a graph of the GRAIL authors: lines `v: c1 c2 ... #`."""
    with gzip.open(file, "rt") as lines:
        rows = [line.replace("#", "").split(":") for line in lines if ":" in line]
    heads = [np.array(row[1].split(), np.int64) for row in rows]
    dst = np.concatenate(heads)
    src = np.repeat(np.array([int(row[0]) for row in rows], np.int64), [len(row) for row in heads])
    num_vertices = int(max(len(rows), 1 + dst.max(initial=-1)))
    return graph_of_arcs(cp.asarray(src), cp.asarray(dst), None, num_vertices, False, "source")


@dataclass(frozen=True)
class QueryContest:
    """A graph, its number of random queries, and the number of timed runs; a single run is not warmed up."""

    name: str
    graph: Graph
    queries: int
    runs: int


def contests(folder: Path) -> Iterator[QueryContest]:
    """The graphs, one at a time."""
    for file in sorted(folder.glob("*.gra.gz")):
        yield QueryContest(file.name.removesuffix(".gra.gz"), adjacency(file), FEW_QUERIES, RUNS)
    yield QueryContest("path of 1,000,000", path(1_000_000), FEW_QUERIES, 1)
    yield QueryContest("1000 layers of 20,000", layered(1000, 20_000), MANY_QUERIES, 5)
    yield QueryContest("100 layers of 200,000", layered(100, 200_000), MANY_QUERIES, 3)


def require_equal(found: Any, expected: Any) -> None:
    """Raise AssertionError unless two answers have the same arrays."""
    for field in fields(expected):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(other, Csr):
            require_equal(one, other)
        elif isinstance(other, np.ndarray):
            np.testing.assert_array_equal(cp.asnumpy(one), other, field.name)


def check(contest: QueryContest, index: ReachabilityIndex, src: Array, dst: Array) -> None:
    """Raise AssertionError unless the index is proved and the CPU gives the same answers to samples of each kind of decision.

    Where the graph is small, the CPU builds it again, and answers all.
    """
    assert certify_reachability(contest.graph, index).holds
    found, host = reach(index, src, dst), on_host(index)
    if contest.graph.num_vertices <= COMPARED:
        host = reachability(on_host(contest.graph))
        require_equal(index.condensation, host.condensation)
        require_equal(index.labels, host.labels)
    for decided in range(4):
        chosen = cp.flatnonzero(found.decided == decided)[:SAMPLES]
        answers = reach(host, cp.asnumpy(src[chosen]), cp.asnumpy(dst[chosen]))
        require_equal(Reached(found.reachable[chosen], found.decided[chosen]), answers)


def median(call: Any, runs: int) -> float:
    """Median milliseconds of a call."""
    return float(np.median(milliseconds(call, warm_up=0 if runs == 1 else 2, repeats=runs)))


def build_row(contest: QueryContest) -> str:
    """Times of the steps of a build."""
    graph, runs = contest.graph, contest.runs
    condensation = condense(graph)
    levels = int(label(condensation).level.max()) + 1
    times = [
        median(partial(condense, graph), runs),
        median(partial(label, condensation), runs),
        median(partial(reachability, graph), runs),
        median(partial(label, condensation, method="dfs"), runs) if contest.runs == RUNS else float("nan"),
    ]
    size = f"{condensation.num_nodes:,} / {len(condensation.children.indices):,} | {levels:,}"
    return f"| {contest.name} | {size} | " + " | ".join(f"{time:.3g}" for time in times) + " |"


def query_row(contest: QueryContest, index: ReachabilityIndex, src: Array, dst: Array) -> str:
    """Fractions and times of queries by kind of decision."""
    runs, answers = max(3, contest.runs), reach(index, src, dst)
    shares = 100 * cp.asnumpy(cp.bincount(answers.decided, minlength=4)) / len(src)
    cuts = median(partial(cuda_queries.cut, index, src, dst, answers), runs)
    exact = median(partial(reach, index, src, dst), runs)
    rates = f"{len(src) / cuts / 1e6:.3g} | {len(src) / exact / 1e6:.3g}"
    return (
        f"| {contest.name} | {100 * float(answers.reachable.mean()):.4g} | {shares[3]:.4g} | {cuts:.3g} | {exact:.3g} | {rates} |"
    )


def width_row(contest: QueryContest, index: ReachabilityIndex, src: Array, dst: Array) -> str:
    """Times of the queries that the labels leave open, by concurrent searches."""
    answers = Reached(cp.empty(len(src), np.bool_), cp.empty(len(src), np.uint8))
    left, count = cuda_queries.cut(index, src, dst, answers)
    searched, runs = int(count[0]), max(3, contest.runs)
    times = [median(partial(cuda_queries.search, index, src, dst, left, count, answers), runs)]
    times += [median(partial(cuda_queries.search_wide, index, src, dst, left, count, answers, width), runs) for width in WIDTHS]
    return f"| {contest.name} | {searched:,} | " + " | ".join(f"{time:.3g}" for time in times) + " |"


def measure(contest: QueryContest, tables: list[list[str]]) -> None:
    """Check and time one graph; append its rows to the tables."""
    builds, queries, widths, thesis_labels, thesis_queries = tables
    poison(POISONED)
    index = reachability(contest.graph)
    random = cp.random.default_rng(2)
    src, dst = (
        random.integers(0, contest.graph.num_vertices, contest.queries).astype(index.condensation.node.dtype) for _ in "uv"
    )
    check(contest, index, src, dst)
    builds.append(build_row(contest))
    queries.append(query_row(contest, index, src, dst))
    if contest.queries == FEW_QUERIES and int((reach(index, src, dst).decided == 3).sum()):
        widths.append(width_row(contest, index, src, dst))
    if contest.runs == RUNS:
        thesis_labels.append(labels_row(contest.name, contest.graph, index.condensation))
        thesis_queries.append(queries_row(contest.name, contest.graph, src, dst, reach(index, src, dst).reachable))
    print(contest.name, file=sys.stderr, flush=True)


def main() -> None:
    """Print five tables: builds, queries, widths of masks, and the thesis's of labels and of queries, with our figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_gpu.reachability", description=__doc__)
    parser.add_argument("--graphs", type=Path, default=DATA, help="folder of .gra.gz files (default: data)")
    folder = parser.parse_args().graphs
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # print the tables first
    builds = [
        "| graph | nodes / arcs | levels | condense | label | graph to index | label, dfs |",
        "|---|---|---|---|---|---|---|",
    ]
    queries = [
        "| graph | reachable, % | searched, % | cuts, ms | all, ms | cuts, G/s | all, G/s |",
        "|---|---|---|---|---|---|---|",
    ]
    widths = ["| graph | searched | warps | " + " | ".join(f"{w} bits" for w in WIDTHS) + " |", "|---|---|---|---|---|---|"]
    tables = [builds, queries, widths, [*LABELS_HEAD], [*QUERIES_HEAD]]
    try:
        for contest in contests(folder):
            measure(contest, tables)
            cp.get_default_memory_pool().free_all_blocks()
    finally:  # also if the run is interrupted
        print("\n\n".join("\n".join(table) for table in tables))


if __name__ == "__main__":
    main()
