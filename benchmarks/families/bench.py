"""Sweep the kernels over twelve families of graphs, beside cuGraph: `python -m benchmarks.families.bench` with a GPU.

Nothing is timed before its certificate has passed on the GPU. The fastest kernel of a family depends on how far its vertices are
from each other, which degrees do not show; the sweep finds families for which a kernel chooses badly.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import cupy as cp

from benchmarks.families import generators
from benchmarks.families.table import markdown
from benchmarks.one_gpu.bench import Libraries, contest, machine
from benchmarks.one_gpu.contests import KERNELS, ComparedKernel, graph_bytes
from benchmarks.one_gpu.graphs import WINDOW, GeneratedEdges, rmat, road_like_grid, weight_of_endpoints
from benchmarks.one_gpu.peers import Pylibcugraph
from benchmarks.one_gpu.table import KernelRow, merge, read, write
from benchmarks.schema import failure_of
from kernels.distributed.communicator import SingleRank
from kernels.graph import Graph
from kernels.layout import rules
from kernels.layout.building import build_csr

SIZES = {"1M": 1 << 20, "16M": 1 << 24}
CALLS = 4  # of a kernel, or searches from random sources
PEER_SECONDS = 1.0  # cuGraph is called again until so many seconds have passed
SEED = 18
_ALL = 1 << 40  # a window that contains all rows


def _generated(
    make: Callable[..., generators.Generated], size: int, symmetric: bool = True, order: str = "windowed"
) -> GeneratedEdges:
    src, dst, num_vertices = make(size, cp.random.default_rng(SEED), cp)
    return GeneratedEdges(src, dst, None, range(num_vertices), symmetric, order, True)


FAMILIES: dict[str, Callable[[int], GeneratedEdges]] = {
    "random regular": partial(_generated, generators.random_regular),
    "k nearest neighbours": partial(_generated, generators.nearest_neighbours),
    "small world": partial(_generated, generators.small_world),
    "preferential attachment": partial(_generated, generators.preferential_attachment, order="degree"),
    "tree": partial(_generated, generators.tree),
    "star of stars": partial(_generated, generators.star_of_stars),
    "2D grid": partial(_generated, generators.grid),
    "3D grid": partial(_generated, generators.cubic_grid),
    "road": lambda size: road_like_grid(round(size**0.5)),
    "R-MAT": lambda size: rmat(size.bit_length() - 1),
    "bipartite": partial(_generated, generators.bipartite),
    "power-law web": partial(_generated, generators.web, symmetric=False, order="degree"),
}


def main() -> None:
    """Measure, and write `families.parquet` and `families.md` after each row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.families.bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"), help="folder of the tables (default: out/benchmarks)")
    parser.add_argument("--sizes", default=",".join(SIZES), help=f"of {','.join(SIZES)} (default: all)")
    parser.add_argument("--only", action="append", default=[], metavar="FAMILY[:KERNEL]", help="patterns, such as '*grid:bfs'")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no measurement after so many seconds")
    options = parser.parse_args()
    path, new = options.out / "families.parquet", list[KernelRow]()
    old = read(path)
    for row in sweep(options.sizes.split(","), options.only or ["*"], time.monotonic() + options.seconds):
        new.append(row)
        write(path, merged := merge(old, new), markdown(merged))
        print(f"{row.graph}: {row.kernel} {row.failure or row.median} {row.pylibcugraph or ''}", file=sys.stderr, flush=True)
    sys.exit(any(row.failure for row in new))


def sweep(sizes: list[str], only: list[str], deadline: float) -> Iterator[KernelRow]:
    """Measure the families and kernels that the patterns name until the deadline."""
    where = machine()
    for size in sizes:
        for family, make in FAMILIES.items():
            names = [one if ":" in one else f"{one}:*" for one in only]
            kernels = [kernel for kernel in KERNELS if any(fnmatch(f"{family}:{kernel.name}", name) for name in names)]
            if kernels and time.monotonic() < deadline:
                yield from measure(f"{family} {size}", graph_of(make(SIZES[size])), kernels, where, deadline)
                cp.get_default_memory_pool().free_all_blocks()


def measure(
    name: str, graph: Graph, kernels: list[ComparedKernel], where: dict[str, Any], deadline: float
) -> Iterator[KernelRow]:
    """Measure one graph and yield its rows."""
    shape = KernelRow(name, "", "", graph.num_vertices, graph.num_arcs, graph_bytes(graph), **where)
    peers = Libraries(graph, [Pylibcugraph], PEER_SECONDS) if where["cugraph_version"] else None
    for kernel in kernels:
        if kernel.reads_edges or not kernel.runs_on(graph) or time.monotonic() > deadline:
            continue
        row = replace(shape, kernel=kernel.name)
        try:
            yield contest(row, kernel, graph, None, kernel.inputs(graph, CALLS), peers)
        except Exception as wrong:  # a wrong answer or lack of memory becomes a row of the table
            yield replace(row, failure=failure_of(wrong))


def graph_of(edges: GeneratedEdges) -> Graph:
    """Lay out a graph with weights 1..999."""
    weights = weight_of_endpoints(edges.src, edges.dst)
    given = rules.ArcRules(edges.declared, edges.symmetric, keep_self_loops=False, keep_parallel=False)
    window = WINDOW if edges.order == "windowed" else _ALL
    found = build_csr(rules.Edges(edges.src, edges.dst, weights), given, window, SingleRank())
    out, into = (found.take(0, direction) if direction in found.directions else None for direction in ("out", "in"))
    assert out is not None
    return Graph(found.ids, found.rows_by_id, out, out if into is None else into, found.directed)


if __name__ == "__main__":
    main()
