"""Reachability on the CPU, compared with the thesis's tables: `python -m benchmarks.cpu.reachability --graphs DIR`.

Graphs are the GRAIL authors' (`.gra.gz` in DIR), which the thesis takes, and stand-ins for those that were not available, each
with 100,000 pairs of vertices and two dimensions. Nothing is timed before the index is proved and all searches give the same
answers.

Caiazza: Data-parallel implementation of the GRAIL index on many-core architectures. Politecnico di Torino, 2019, tables 2.4-2.6.
"""

import argparse
import gzip
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generators import layered_edges
from benchmarks.graphs import graph_of_arcs, wiki_vote
from benchmarks.machine import machine
from benchmarks.published.grail import cpu as grail
from benchmarks.published.grail.query_sets import SETS, pairs
from benchmarks.published.grail.stand_ins import STAND_INS, Arcs
from kernels.answers import ReachabilityIndex
from kernels.graph import Graph
from kernels.reachability import METHODS, POSITIVE_CUT, SAME, SEARCH, reach, reachability
from kernels.reachability.certificate import certify_reachability

QUERIES = 100_000
RUNS = 9
SLOW = 1.0  # seconds; a longer call runs once
# Positives of 100,000, then milliseconds: depth-first search alone, construction, and the queries by pruned searches.
COLUMNS = ("positives", "DFS alone", "build", "DFS, 1 thread", "DFS, parallel", "BFS, 1 thread", "BFS, parallel")
THESIS = {
    "agrocyc": (122, 28.19, 0.30, 6.10, 2.37, 5.96, 2.73),
    "amaze": (17309, 172.7, 0.17, 26.02, 5.76, 33.96, 7.64),
    "anthra": (98, 23, 0.30, 6.26, 2.29, 6.30, 2.80),
    "ecoo": (115, 31.1, 0.28, 6.37, 2.38, 6.51, 2.63),
    "human": (19, 15.54, 0.74, 6.54, 2.39, 6.71, 2.33),
    "kegg": (20214, 209.85, 0.16, 28.08, 7.24, 59.90, 17.20),
    "mtbrv": (163, 34.17, 0.22, 5.99, 2.43, 6.13, 2.50),
    "nasa": (547, 71.33, 0.26, 6.47, 2.46, 7.45, 2.76),
    "vchocyc": (162, 35.33, 0.22, 5.97, 2.29, 6.02, 2.41),
    "xmark": (1478, 163.87, 0.25, 10.21, 3.49, 33.13, 12.02),
    "citeseer_sub_10720": (370, 14290.22, 1.22, 20.1, 4.27, 28.72, 11.94),
    "go_sub_6793": (249, 46.67, 0.51, 13.11, 2.83, 15.13, 3.52),
    "yago_sub_6642": (175, 30.23, 0.77, 7.51, 2.49, 8.96, 2.96),
    "citeseer.scc": (0.40, 18.64, 42.3, 13.24, 3.50, 12.96, 3.64),
    "Pubmed, stand-in": (658, 1222.1, 0.87, 11.2, 3.53, 13.60, 4.46),
    "Cit-Patents, stand-in": (42, 220458.57, 1417.2, 1831.41, 617.80, 3423.0, 1576.90),
    "Uniprot 22, stand-in": (0, 20.4, 82.2, 20.50, 4.13, 20.70, 4.10),
    "Uniprot 100, stand-in": (0, 30.58, 1055.1, 24.57, 4.72, 23.74, 4.98),
    "Uniprot 150, stand-in": (0, 31.1, 1632.2, 24.96, 4.83, 25.20, 4.82),
}


def read_gra(path: Path) -> Graph:
    """A title, the number of vertices, then a line `V: C1 C2 ... #` for each."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        next(lines)
        size = int(next(lines))
        rows = [line.rstrip(" #\n").split(":") for line in lines]
    heads = [np.array(children.split(), np.int64) for _, children in rows]
    src = np.repeat(np.array([int(vertex) for vertex, _ in rows]), [len(row) for row in heads])
    return graph_of_arcs(src, np.concatenate(heads), None, size, symmetric=False)


def layered(layers: int, width: int, degree: int = 4) -> Graph:
    """Every vertex but the last layer's has `degree` arcs to random vertices of the next layer; ids are shuffled."""
    src, dst = layered_edges(layers, width, np.random.default_rng(layers), degree)
    return graph_of_arcs(src, dst, None, layers * width, symmetric=False)


@contextmanager
def one_core() -> Iterator[None]:
    """Restrict this process to one core, which the kernels respect."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def milliseconds(call: Callable[[], Any]) -> float:
    """Median of some runs after one that is not counted; only one run if it is slow.

    On one core it is the time that this process had it, which others on the machine do not change.
    """
    clock = time.process_time if len(os.sched_getaffinity(0)) == 1 else time.perf_counter
    seconds = [_seconds(call, clock)]
    if seconds[0] < SLOW:
        seconds = [_seconds(call, clock) for _ in range(RUNS)]
    return 1000 * float(np.median(seconds))


def _seconds(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start


def proved(graph: Graph, dimensions: int, method: str) -> ReachabilityIndex:
    """Build an index and prove it."""
    index = reachability(graph, dimensions, 0, method)
    certificate = certify_reachability(graph, index)
    assert certificate.holds, certificate.reason
    return index


def thesis_row(name: str, graph: Graph, kind: str) -> str:
    """The thesis's columns, "thesis / ours" if it has the graph, then the default's build, queries on one core and on all."""
    indexes = {method: proved(graph, 2, method) for method in METHODS}
    src, dst = pairs(kind, graph.out, QUERIES)
    expected = reach(indexes["tree"], src, dst).reachable
    for search in ("dfs", "pruned-dfs", "pruned-bfs"):
        np.testing.assert_array_equal(grail.reach(indexes["dfs"], src, dst, search).reachable, expected)

    def queries(method: str, search: str | None) -> float:
        answer = partial(grail.reach, search=search) if search else reach
        return milliseconds(lambda: answer(indexes[method], src, dst))

    def build(method: str) -> float:
        return milliseconds(lambda: reachability(graph, 2, 0, method))

    ours = [float(expected.sum())]
    with one_core():
        ours += [queries("dfs", "dfs"), build("dfs"), queries("dfs", "pruned-dfs"), 0, queries("dfs", "pruned-bfs"), 0]
        default = [build("tree"), queries("tree", None)]
    ours[4], ours[6] = queries("dfs", "pruned-dfs"), queries("dfs", "pruned-bfs")
    default.append(queries("tree", None))
    theirs = THESIS.get(name if kind == "random" else "", ("",) * len(ours))
    cells = [f"{_cell(their)} / {_cell(our)}" if their != "" else _cell(our) for their, our in zip(theirs, ours, strict=True)]
    return f"| {name} | {graph.num_vertices:,} | {graph.num_arcs:,} | {' | '.join([*cells, *map(_cell, default)])} |"


def _cell(value: Any) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.3g}"


def shares_row(name: str, graph: Graph) -> str:
    """Percent of the pairs that are reachable, decided by a positive cut, and left to search by method and dimensions."""
    src, dst = pairs("random", graph.out, QUERIES)
    left = []
    for method in METHODS:
        for dimensions in (1, 2, 3, 5):
            answer = reach(reachability(graph, dimensions, 0, method), src, dst)
            left.append(100 * np.count_nonzero(answer.decided == SEARCH) / QUERIES)
    sure = np.count_nonzero((answer.decided == POSITIVE_CUT) | (answer.decided == SAME)) / QUERIES
    shares = [100 * np.count_nonzero(answer.reachable) / QUERIES, 100 * sure, *left]
    return f"| {name} | {' | '.join(f'{share:.3f}' for share in shares)} |"


LAYERED = ((10, 20_000), (100, 2_000), (1_000, 200))


def graphs(folder: Path) -> dict[str, Callable[[], Graph]]:
    """Graphs of the thesis by name: files of the GRAIL authors, and stand-ins."""
    files = {path.name.removesuffix(".gra.gz"): partial(read_gra, path) for path in sorted(folder.glob("*.gra.gz"))}
    return {**files, **{name: partial(_stand_in, make) for name, make in STAND_INS.items()}}


def _stand_in(make: Callable[[], Arcs]) -> Graph:
    arcs = make()
    return graph_of_arcs(arcs.src, arcs.dst, None, arcs.num_vertices, symmetric=False)


def main() -> None:
    """Print two tables in Markdown: times next to the thesis's, and what each method leaves to the search."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpu.reachability", description=__doc__)
    parser.add_argument("--graphs", type=Path, default=Path("data"), help="folder of .gra.gz files (default: data)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="graphs with these names")
    parser.add_argument("--pairs", choices=SETS, default="random", help="random pairs, only reachable ones, or half of each")
    options = parser.parse_args()
    print(f"{machine('numba')}; {options.pairs} pairs.\n")
    chosen = {name: load for name, load in graphs(options.graphs).items() if fnmatch(name, options.only)}
    print(f"| graph | vertices | arcs | {' | '.join(COLUMNS)} | tree: build | queries, 1 core | queries, all cores |")
    print("|---|---|---|" + "---|" * (len(COLUMNS) + 3))
    for name, load in chosen.items():
        print(thesis_row(name, load(), options.pairs), flush=True)
    made = {"wiki-Vote": wiki_vote, **{f"layered {n} x {m:,}": lambda n=n, m=m: layered(n, m) for n, m in LAYERED}}
    shared = {name: load for name, load in chosen.items() if name not in STAND_INS}
    shared |= {name: load for name, load in made.items() if fnmatch(name, options.only)}
    if shared:
        print("\n| graph | reachable | positive cut | tree 1 | 2 | 3 | 5 | dfs 1 | 2 | 3 | 5 |\n|" + "---|" * 11)
    for name, load in shared.items():
        print(shares_row(name, load()), flush=True)


if __name__ == "__main__":
    main()
