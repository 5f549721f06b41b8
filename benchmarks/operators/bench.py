"""`make bench-abstractions`: the graph operators on one GPU, beside hand-written kernels and cuGraph."""

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import cupy as cp

from benchmarks.one_gpu import peers
from benchmarks.one_gpu.bench import driver
from benchmarks.one_gpu.graphs import GeneratedEdges, graphs, rmat, road_like_grid
from benchmarks.one_gpu.timing import copy_bandwidth
from benchmarks.operators import abstractions, algorithms, locality, memory, roofline, searches, stand_ins
from benchmarks.operators.energy import Meter, cpu_joules
from benchmarks.operators.tables import Machine, OperatorRow, write
from kernels.graph import Graph

_DIRECTED, _SMALL, _STAND_INS = "R-MAT 24, directed", "R-MAT 10", "stand-ins"


def uniform(scale: int = 24) -> GeneratedEdges:
    """Arcs between vertices drawn uniformly (Erdos and Renyi), 16 edges a vertex, both directions, weighted."""
    random = cp.random.default_rng(scale)
    src, dst = (random.integers(0, 1 << scale, 16 << scale, dtype=cp.int64) for _ in range(2))
    return GeneratedEdges(src, dst, None, range(1 << scale), True, "degree", weighted=True)


def inputs(folder: Path | None) -> dict[str, tuple[Callable[[], GeneratedEdges], int | None]]:
    """The graphs by name, and of which size they are, if all operators are measured on them."""
    found = {name: (load, None) for name, load in graphs(folder).items() if name.startswith("cnr-2000")}
    return {
        "R-MAT 20": (lambda: rmat(20), algorithms.MEDIUM), "R-MAT 24": (rmat, algorithms.LARGE),
        "uniform 24": (uniform, algorithms.LARGE), "grid 2000 x 2000": (lambda: road_like_grid(2000), None), **found,
        "New York": (graphs()["New York"], None),
    }  # fmt: skip


def machine() -> Machine:
    """The current GPU."""
    version = "{}.{}".format(*cp.cuda.nvrtc.getVersion())
    name = cp.cuda.runtime.getDeviceProperties(cp.cuda.Device().id)["name"].decode()
    return Machine(
        name, driver(), version, cp.__version__, peers.start(), copy_bandwidth(), Meter().peak_rate(), cpu_joules() is not None
    )


def shared_rate() -> float:
    """Bytes a second of all shared memories: 128 a cycle for each multiprocessor, at the highest clock."""
    attributes = cp.cuda.Device().attributes
    kilohertz: int = attributes["ClockRate"]
    return 128e3 * kilohertz * attributes["MultiProcessorCount"]


def measure(only: list[str], folder: Path | None) -> Iterator[Iterator[OperatorRow]]:
    """All rows in parts, graph by graph; of directed R-MAT, what is not measured on symmetric graphs."""
    yield from (searches.idle(Meter()), memory.patterns(), abstractions.rows_alone())
    others = {_SMALL: lambda: algorithms.of_graph(rmat(10).graph(), _SMALL, algorithms.SMALL)}
    others[_DIRECTED] = lambda: algorithms.of_graph(graphs()[_DIRECTED]().graph(), _DIRECTED, algorithms.LARGE)
    others[_STAND_INS] = stand_ins.all_of_them
    yield from (part() for name, part in others.items() if not only or name in only)
    for name, (load, size) in inputs(folder).items():
        if only and name not in only:
            continue
        graph: Graph = load().graph()
        if size is not None:
            yield abstractions.of_graph(graph, name)
            yield locality.packed(graph, name)
            yield algorithms.of_graph(graph, name, size)
        if size == algorithms.LARGE:
            yield locality.mixed_frontiers(graph, name)
        yield searches.of_graph(graph, name)
        del graph
        cp.get_default_memory_pool().free_all_blocks()
        if size == algorithms.LARGE:
            yield locality.ablation(load, name)


def main(arguments: list[str] | None = None) -> None:
    """Measure, and write the tables after each part, also when interrupted. A part that fails does not lose the others."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators.bench", description=__doc__)
    parser.add_argument("--graphs", type=Path, help="folder of further graphs, of which cnr-2000 is used")
    parser.add_argument("--only", action="append", default=[], help="a graph's name, or stand-ins; may be repeated")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    chosen = parser.parse_args(arguments)
    rows = [*abstractions.calls()]  # before cuGraph is loaded: with it, a call takes up to twice the time
    where, shared, start, failed = machine(), shared_rate(), time.monotonic(), 0
    try:
        for part in measure(chosen.only, chosen.graphs):
            try:
                for row in part:
                    rows.append(row)
                    taken = f"{row.times.median:.4g} ms" if row.times else row.note
                    print(f"{time.monotonic() - start:.0f} s: {row.graph}: {row.what} {taken}", file=sys.stderr, flush=True)
            except Exception:
                traceback.print_exc()
                failed += 1
            write(chosen.out, rows, where)
    finally:
        write(chosen.out, rows, where)
        roofline.draw(chosen.out, rows, where, shared)
    if failed:
        sys.exit(f"{failed} parts failed; their rows are missing in {chosen.out}")


if __name__ == "__main__":
    main()
