"""`make bench-abstractions`: the graph operators on one GPU, beside hand-written kernels and cuGraph."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cupy as cp

from benchmarks.one_gpu import peers
from benchmarks.one_gpu.bench import driver
from benchmarks.one_gpu.graphs import GeneratedEdges, graphs, rmat, road_like_grid
from benchmarks.one_gpu.timing import copy_bandwidth
from benchmarks.operators import abstractions, others, searches
from benchmarks.operators.energy import Meter
from benchmarks.operators.tables import Machine, OperatorRow, write
from kernels.graph import Graph

_DIRECTED = "R-MAT 24, directed"


def uniform(scale: int = 24) -> GeneratedEdges:
    """Arcs between vertices drawn uniformly (Erdos and Renyi), 16 edges a vertex, both directions, weighted."""
    random = cp.random.default_rng(scale)
    src, dst = (random.integers(0, 1 << scale, 16 << scale, dtype=cp.int64) for _ in range(2))
    return GeneratedEdges(src, dst, None, range(1 << scale), True, "degree", weighted=True)


def inputs(folder: Path | None) -> dict[str, tuple[Callable[[], GeneratedEdges], bool]]:
    """The graphs by name, and whether their abstractions are measured."""
    found = {name: (load, False) for name, load in graphs(folder).items() if name.startswith("cnr-2000")}
    return {
        "R-MAT 20": (lambda: rmat(20), True), "R-MAT 24": (rmat, True), "uniform 24": (uniform, True),
        "grid 2000 x 2000": (lambda: road_like_grid(2000), False), **found,
        "New York": (graphs()["New York"], False),
    }  # fmt: skip


def machine() -> Machine:
    """The current GPU."""
    version = "{}.{}".format(*cp.cuda.nvrtc.getVersion())
    name = cp.cuda.runtime.getDeviceProperties(cp.cuda.Device().id)["name"].decode()
    return Machine(name, driver(), version, cp.__version__, peers.start(), copy_bandwidth(), Meter().peak_rate())


def measure(only: list[str], folder: Path | None) -> Iterator[OperatorRow]:
    """All rows, graph by graph; of directed R-MAT, what is not measured on symmetric graphs."""
    yield from abstractions.rows_alone()
    for name, (load, whole) in inputs(folder).items():
        if only and name not in only:
            continue
        graph: Graph = load().graph()
        if whole:
            yield from abstractions.of_graph(graph, name)
        yield from searches.of_graph(graph, name)
        yield from others.of_graph(graph, name) if whole else ()
        del graph
        cp.get_default_memory_pool().free_all_blocks()
    if not only or _DIRECTED in only:
        yield from others.of_graph(graphs()[_DIRECTED]().graph(), _DIRECTED)


def main(arguments: list[str] | None = None) -> None:
    """Measure, and write the tables after each row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators.bench", description=__doc__)
    parser.add_argument("--graphs", type=Path, help="folder of further graphs, of which cnr-2000 is used")
    parser.add_argument("--only", action="append", default=[], help="a graph's name; may be repeated")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    chosen = parser.parse_args(arguments)
    rows = [*abstractions.calls()]  # before cuGraph is loaded: with it, a call takes up to twice the time
    where, start = machine(), time.monotonic()
    for row in measure(chosen.only, chosen.graphs):
        rows.append(row)
        write(chosen.out, "operators", rows, where)
        print(f"{time.monotonic() - start:.0f} s: {row.graph}: {row.what} {row.milliseconds}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
