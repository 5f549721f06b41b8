"""Time the reachability index on the GPU: `python -m benchmarks.one_gpu.reachability --help` (docs/reachability.md).

The graphs are those of the GRAIL authors, `NAME.gra.gz`, stand-ins for those that were not available, and generated ones. Every
index is proved before anything is timed, and answers to samples are compared with the CPU's, on graphs of up to 2^20 vertices the
index too. The last two tables are the thesis's (thesis.py).
"""

import argparse
import gzip
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.machine import machine
from benchmarks.one_gpu.graphs import DATA, graph_of_arcs
from benchmarks.one_gpu.thesis import LABELS_HEAD, QUERIES_HEAD, labels_row, queries_row
from benchmarks.one_gpu.timing import milliseconds, poison
from benchmarks.published.grail import gpu as grail
from benchmarks.published.grail.query_sets import SETS, pairs
from benchmarks.published.grail.stand_ins import STAND_INS, Arcs
from kernels.answers import ReachabilityIndex, Reached
from kernels.gpu.transfer import on_host
from kernels.graph import Array, Csr, Graph
from kernels.reachability import POSITIVE_CUT, SEARCH, condense, label, reach, reachability
from kernels.reachability.certificate import certify_reachability
from kernels.reachability.queries import cuda as cuda_queries

RUNS, FEW_RUNS = 20, 7
FEWER_QUERIES, FEW_QUERIES, MANY_QUERIES = 20_000, 100_000, 100_000_000
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


def stand_in(make: Callable[[], Arcs]) -> Graph:
    """A generated graph with the numbers of one of the thesis's."""
    arcs = make()
    return graph_of_arcs(cp.asarray(arcs.src), cp.asarray(arcs.dst), None, arcs.num_vertices, False, "source")


@dataclass(frozen=True)
class QueryContest:
    """A graph, its number of random queries, and the number of timed runs; a single run is not warmed up."""

    name: str
    graph: Graph
    queries: int
    runs: int

    @property
    def of_the_thesis(self) -> bool:
        """Whether the thesis has the graph, or a stand-in is for one that it has."""
        return self.runs in (RUNS, FEW_RUNS)


def contests(folder: Path, only: str) -> Iterator[QueryContest]:
    """The graphs whose names match, one at a time."""
    names = sorted(file.name.removesuffix(".gra.gz") for file in folder.glob("*.gra.gz"))
    made: list[tuple[str, Callable[[], Graph], int, int]] = [
        *((name, partial(adjacency, folder / f"{name}.gra.gz"), FEW_QUERIES, RUNS) for name in names),
        *((name, partial(stand_in, make), FEW_QUERIES, FEW_RUNS) for name, make in STAND_INS.items()),
        ("path of 1,000,000", partial(path, 1_000_000), FEW_QUERIES, 1),
        ("1000 layers of 20,000", partial(layered, 1000, 20_000), MANY_QUERIES, 5),
        ("100 layers of 200,000", partial(layered, 100, 200_000), MANY_QUERIES, 3),
    ]
    for name, make, queries, runs in made:
        if fnmatch(name, only):
            yield QueryContest(name, make(), queries, runs)


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
        median(partial(label, condensation, method="dfs"), runs) if contest.of_the_thesis else float("nan"),
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


def width_row(contest: QueryContest, kind: str, index: ReachabilityIndex, by_search: ReachabilityIndex) -> str:
    """Times of the queries that labels leave open, by concurrent searches.

    `by_search` is an index of the thesis's labels: the searches by three queues have the queries that its intervals leave.
    """
    row = index.condensation.node.dtype
    count = FEW_QUERIES if kind == "random" else FEWER_QUERIES
    src, dst = (cp.asarray(rows.astype(row)) for rows in pairs(kind, on_host(contest.graph.out), count))
    answers = reach(index, src, dst)
    found, engines = list[Reached](), list[float]()

    def search_once(width: int) -> None:
        found.append(grail.reach(by_search, src, dst, "three-queues", width))

    for width in grail.WIDTHS:
        grail.reach(by_search, src[:width], dst[:width], "three-queues", width)  # compiles
        engines += milliseconds(search_once, [(width,)], warm_up=0)
        np.testing.assert_array_equal(found[-1].reachable.get(), answers.reachable.get())
    left, count = cuda_queries.cut(index, src, dst, answers)
    times = [median(partial(cuda_queries.search, index, src, dst, left, count, answers), 3)]
    times += [median(partial(cuda_queries.search_wide, index, src, dst, left, count, answers, width), 3) for width in WIDTHS]
    shares = [100 * float(chosen.mean()) for chosen in (answers.reachable, answers.decided == POSITIVE_CUT)]
    cells = [*shares, int((found[0].decided == SEARCH).sum()), *engines, int(count[0]), *times]
    texts = (f"{cell:,}" if type(cell) is int else f"{cell:.3g}" for cell in cells)
    return f"| {contest.name} | {kind} | {' | '.join(texts)} |"


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
    if contest.of_the_thesis:
        by_search = reachability(contest.graph, 2, 0, "dfs")
        widths += [width_row(contest, kind, index, by_search) for kind in SETS]
        thesis_labels.append(labels_row(contest.name, contest.graph, index.condensation))
        thesis_queries.append(queries_row(contest.name, contest.graph, src, dst, reach(index, src, dst).reachable))
    print(contest.name, file=sys.stderr, flush=True)


def main() -> None:
    """Print five tables: builds, queries, widths of masks, and the thesis's of labels and of queries, with our figures.

    The third has milliseconds of one whole answer by the thesis's searches, and of our searches alone, for 100,000 random pairs
    or 20,000 others.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_gpu.reachability", description=__doc__)
    parser.add_argument("--graphs", type=Path, default=DATA, help="folder of .gra.gz files (default: data)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="graphs with these names")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # print the tables first
    builds = [
        "| graph | nodes / arcs | levels | condense | label | graph to index | label, dfs |",
        "|---|---|---|---|---|---|---|",
    ]
    queries = [
        "| graph | reachable, % | searched, % | cuts, ms | all, ms | cuts, G/s | all, G/s |",
        "|---|---|---|---|---|---|---|",
    ]
    engines = " | ".join(f"three queues, {width} bits" for width in grail.WIDTHS)
    widths = [
        "| graph | pairs | reachable, % | positive cut, % | left by intervals | "
        f"{engines} | left by labels | warps | {' | '.join(f'{width} bits' for width in WIDTHS)} |",
        "|---|---" + "|---" * (5 + len(grail.WIDTHS) + len(WIDTHS)) + "|",
    ]
    tables = [builds, queries, widths, [*LABELS_HEAD], [*QUERIES_HEAD]]
    try:
        for contest in contests(options.graphs, options.only):
            measure(contest, tables)
            cp.get_default_memory_pool().free_all_blocks()
    finally:  # also if the run is interrupted
        print("\n\n".join([f"{machine()}.", *("\n".join(table) for table in tables)]))


if __name__ == "__main__":
    main()
