"""`make bench-dynamic`: graphs that change, on a GPU if there is one, else on the CPU.

Answers are checked before they are timed.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.dynamic import batches, experiments
from benchmarks.dynamic.common import DynamicRow, graphs, on_gpu
from benchmarks.dynamic.stand_ins import STAND_INS, stand_in
from benchmarks.machine import machine
from benchmarks.schema import schema_of
from kernels.graph import Graph

PARTS = ("sizes", "searches", "updates", "batches")
_CUGRAPH_POOL = 8 << 30  # bytes


def measure(chosen: argparse.Namespace, deadline: float) -> Iterator[DynamicRow]:
    """All rows, graph by graph; none is begun after the deadline."""
    parts = chosen.only or PARTS
    social = f"R-MAT {chosen.scale}"
    for name, make in graphs_of(chosen).items():
        if (parts == ["batches"] and name != social) or time.monotonic() > deadline:
            continue
        graph = make()
        yield from experiments.graph_sizes(name, graph)
        for part in ("sizes", "searches", "updates"):
            if part in parts:
                yield from getattr(experiments, part)(name, graph)
        if "batches" in parts and name == social:
            yield from batches.sweep(name, graph, chosen.most, chosen.structure)
        del graph
        if on_gpu():
            import cupy

            cupy.get_default_memory_pool().free_all_blocks()


def graphs_of(chosen: argparse.Namespace) -> dict[str, Callable[[], Graph]]:
    """The graphs to measure: two generated ones, or stand-ins for the document's nine."""
    if chosen.document is None:
        return graphs(chosen.scale, chosen.side)
    return {f"stand-in for {name}": partial(stand_in, name, chosen.document) for name in STAND_INS}


def main(arguments: list[str] | None = None) -> None:
    """Measure, print each row, and write the table."""
    gpu = on_gpu()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dynamic.bench", description=__doc__)
    parser.add_argument("--only", action="append", default=[], choices=PARTS, help="may be repeated")
    parser.add_argument("--structure", action="append", default=[], help="of the batches; may be repeated")
    parser.add_argument("--scale", type=int, default=22 if gpu else 14, help="of the R-MAT graph")
    parser.add_argument("--side", type=int, default=4900 if gpu else 300, help="of the grid")
    parser.add_argument("--most", type=int, default=7 if gpu else 5, help="power of ten of the largest batch")
    parser.add_argument(
        "--document", type=float, nargs="?", const=1.0, metavar="SHARE",
        help="instead of these, stand-ins for the nine graphs of the source document, of a share of their size (default: 1)",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no other graph after so many")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    chosen = parser.parse_args(arguments)
    where = machine()
    if gpu and find_spec("cugraph"):
        from benchmarks.one_gpu.peers import start as start_cugraph

        where += f", cuGraph {start_cugraph(_CUGRAPH_POOL)}"
    start, rows = time.monotonic(), list[DynamicRow]()
    for row in measure(chosen, start + chosen.seconds):
        rows.append(row)
        line = f"{time.monotonic() - start:.0f} s: {row.experiment}: {row.graph}: {row.what} {row.value:.4g} {row.unit}"
        print(line, file=sys.stderr, flush=True)
        write(chosen.out, rows, where)
    print(table(rows, where))


def write(out: Path, rows: list[DynamicRow], where: str) -> None:
    """Replace `dynamic.md` and `dynamic.parquet`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "dynamic.md").write_text(table(rows, where), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema_of(DynamicRow)), out / "dynamic.parquet")


def table(rows: list[DynamicRow], where: str) -> str:
    """For each experiment a line for each measure and a column for each graph."""
    lines = [f"{where}.", "", "Mean wall times; searches begin at row 0."]
    for experiment in dict.fromkeys(row.experiment for row in rows):
        values = {(row.what, row.graph): row for row in rows if row.experiment == experiment}
        columns = dict.fromkeys(graph for _, graph in values)
        lines += ["", f"## {experiment}", "", f"| measure | unit | {' | '.join(columns)} |", f"|---|---|{'---:|' * len(columns)}"]
        for what in dict.fromkeys(what for what, _ in values):
            found = [values.get((what, graph)) for graph in columns]
            unit = next(row.unit for row in found if row)
            lines.append(f"| {what} | {unit} | {' | '.join(_figure(row.value) if row else '' for row in found)} |")
    return "\n".join([*lines, ""])


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


if __name__ == "__main__":
    main()
