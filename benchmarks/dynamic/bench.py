"""`make bench-dynamic`: graphs that change, on a GPU if there is one, else on the CPU.

Answers are checked before they are timed.
"""

import argparse
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.dynamic import batches, experiments
from benchmarks.dynamic.common import DynamicRow, graphs, on_gpu

PARTS = ("sizes", "searches", "updates", "batches")


def measure(chosen: argparse.Namespace) -> Iterator[DynamicRow]:
    """All rows, graph by graph."""
    parts = chosen.only or PARTS
    social = f"R-MAT {chosen.scale}"
    for name, make in graphs(chosen.scale, chosen.side).items():
        if parts == ["batches"] and name != social:
            continue
        graph = make()
        for part in ("sizes", "searches", "updates"):
            if part in parts:
                yield from getattr(experiments, part)(name, graph)
        if "batches" in parts and name == social:
            yield from batches.sweep(name, graph, chosen.most, chosen.structure)
        del graph


def main(arguments: list[str] | None = None) -> None:
    """Measure, print each row, and write the table."""
    gpu = on_gpu()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dynamic.bench", description=__doc__)
    parser.add_argument("--only", action="append", default=[], choices=PARTS, help="may be repeated")
    parser.add_argument("--structure", action="append", default=[], help="of the batches; may be repeated")
    parser.add_argument("--scale", type=int, default=22 if gpu else 14, help="of the R-MAT graph")
    parser.add_argument("--side", type=int, default=4900 if gpu else 300, help="of the grid")
    parser.add_argument("--most", type=int, default=7 if gpu else 5, help="power of ten of the largest batch")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    chosen = parser.parse_args(arguments)
    start, rows = time.monotonic(), list[DynamicRow]()
    for row in measure(chosen):
        rows.append(row)
        line = f"{time.monotonic() - start:.0f} s: {row.experiment}: {row.graph}: {row.what} {row.value:.4g} {row.unit}"
        print(line, file=sys.stderr, flush=True)
        chosen.out.mkdir(parents=True, exist_ok=True)
        (chosen.out / "dynamic.md").write_text(table(rows), encoding="utf-8")
    print(table(rows))


def table(rows: list[DynamicRow]) -> str:
    """The rows as Markdown."""
    head = [f"Host: {platform.processor() or platform.machine()}; device: {device()}.", "",
            "| experiment | graph | what | value | unit |", "|---|---|---|---:|---|"]  # fmt: skip
    lines = [f"| {row.experiment} | {row.graph} | {row.what} | {row.value:.4g} | {row.unit} |" for row in rows]
    return "\n".join([*head, *lines, ""])


def device() -> str:
    """What computes."""
    if not on_gpu():
        return "the CPU"
    import cupy

    return str(cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode())


if __name__ == "__main__":
    main()
