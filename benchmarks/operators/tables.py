"""The measurements of the graph operators: rows in Parquet, and as Markdown in the layout of the document's Tables 6 to 13.

Afanasyev: Vector Graph Library (2020). Its GPU was a P100, whose figures stand beside ours as shares of the peak.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TITLES = {
    6: "Generation of frontiers", 7: "advance, all rows active", 8: "advance, every third row active", 9: "compute", 10: "reduce",
    11: "Kernels", 12: "Shortest paths and breadth-first search", 13: "Energy", 14: "Preprocessing", 15: "Calls",
    16: "Components, PageRank and forests",
}  # fmt: skip


@dataclass(frozen=True)
class OperatorRow:
    """One measurement; None: not measured, or it has no such figure.

    Attributes:
        table, graph, what: The key; `table` is a number of TITLES.
        milliseconds: Median, of the kernels alone in Tables 6 to 10, otherwise from call to answer.
        num_bytes: Requested: each read or written value once, heads of 4 bytes, a bit for a row's flag.
        ops: Operations of the user's functions, for the roofline.
        document: Share of the peak that the document reports for a P100.
        beside: Milliseconds of the same work by `beside_name`.
        note: Anything else, as text.
    """

    table: int
    graph: str
    what: str
    milliseconds: float | None
    num_bytes: float | None = None
    ops: float | None = None
    document: float | None = None
    beside: float | None = None
    beside_name: str = ""
    note: str = ""


@dataclass(frozen=True)
class Machine:
    """Where rows were measured; rates in bytes a second."""

    gpu: str
    driver: str
    cuda: str
    cupy: str
    cugraph: str | None
    copy_rate: float
    peak_rate: float | None


def write(folder: Path, name: str, rows: Iterable[OperatorRow], machine: Machine) -> None:
    """Write NAME.parquet and NAME.md."""
    rows = list(rows)
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([{**asdict(machine), **asdict(row)} for row in rows]), folder / f"{name}.parquet")
    text = [
        "# Graph operators", "",
        f"{machine.gpu}, driver {machine.driver}, CUDA {machine.cuda}, CuPy {machine.cupy}, "
        f"cuGraph {machine.cugraph or 'not installed'}. "
        f"A copy runs at {machine.copy_rate / 1e9:,.0f} GB/s, the peak is {(machine.peak_rate or 0) / 1e9:,.0f} GB/s. "
        "`make bench-abstractions` writes these tables; benchmarks/operators/tables.py defines the columns.",
    ]  # fmt: skip
    for table in sorted({row.table for row in rows}):
        text += ["", f"## {TITLES[table]}", "", _HEAD, "|---|---|" + "---:|" * 6 + "---|---|"]
        text += [_line(row, machine) for row in rows if row.table == table]
    (folder / f"{name}.md").write_text("\n".join(text) + "\n", encoding="utf-8")


_HEAD = "| graph | what | ms | GB/s | of the copy | of the peak | P100, of its peak | operations a byte | beside | note |"


def _line(row: OperatorRow, machine: Machine) -> str:
    rate = row.num_bytes / row.milliseconds * 1000 if row.num_bytes and row.milliseconds else None
    peak = machine.peak_rate
    beside = "" if row.beside is None else f"{row.beside_name} {row.beside:.4g} ms"
    if row.beside and row.milliseconds:
        beside += f" ({row.milliseconds / row.beside:.2f}x)"
    cells = [
        row.graph, row.what, _cell(row.milliseconds, "{:.4g}"), _cell(rate and rate / 1e9, "{:,.0f}"),
        _cell(rate and rate / machine.copy_rate, "{:.0%}"), _cell(rate and peak and rate / peak, "{:.0%}"),
        _cell(row.document, "{:.0%}"), _cell(row.ops and row.num_bytes and row.ops / row.num_bytes, "{:.3f}"), beside, row.note,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
