"""The measurements of the graph operators: rows in Parquet, and as Markdown in the layout of the document's Tables 2 to 13.

Afanasyev: Vector Graph Library (2020). Its GPU was a P100, whose figures stand beside ours as shares of the peak.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.operators.clock import Times

TITLES = {
    2: "Graphs like those of the document's Table 2", 3: "Memory", 6: "Generation of frontiers", 7: "advance, all rows active",
    8: "advance, every third row active", 9: "compute", 10: "reduce", 11: "Kernels",
    12: "Shortest paths and breadth-first search", 13: "Energy", 14: "Preprocessing", 15: "Calls", 16: "All algorithms",
    17: "Clusters and segments", 18: "Packed values", 19: "Frontiers with a kind for each group of degrees",
}  # fmt: skip


@dataclass(frozen=True)
class OperatorRow:
    """One measurement; None: not measured, or it has no such figure.

    Attributes:
        table, graph, what: The key; `table` is a number of TITLES.
        times: Of the kernels alone in Tables 3, 6 to 10 and 17 to 19 unless the row says otherwise, else from call to answer.
        num_bytes: Requested: each read or written value once, heads of 4 bytes, a bit for a row's flag.
        ops: Operations of the user's functions, for the roofline.
        document: Share of the peak that the document reports for a P100.
        beside: Milliseconds of the same work by `beside_name`.
        peer: Milliseconds of the same work by cuGraph.
        note: Anything else, as text.
    """

    table: int
    graph: str
    what: str
    times: Times | None
    num_bytes: float | None = None
    ops: float | None = None
    document: float | None = None
    beside: float | None = None
    beside_name: str = ""
    peer: float | None = None
    note: str = ""

    @property
    def rate(self) -> float | None:
        """Bytes a second."""
        return self.num_bytes / self.times.median * 1000 if self.num_bytes and self.times and self.times.median else None


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
    cpu_energy: bool

    @property
    def file(self) -> str:
        """Name of the files of its results, such as operators_h200."""
        words = [word for word in self.gpu.lower().split() if word not in ("nvidia", "tesla")]
        return f"operators_{words[0].partition('-')[0]}"


def write(folder: Path, rows: Iterable[OperatorRow], machine: Machine) -> None:
    """Write the machine's .parquet and .md."""
    rows = list(rows)
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([_record(row, machine) for row in rows]), folder / f"{machine.file}.parquet")
    energy = "offers" if machine.cpu_energy else "does not offer"
    text = [
        "# Graph operators", "",
        f"{machine.gpu}, driver {machine.driver}, CUDA {machine.cuda}, CuPy {machine.cupy}, "
        f"cuGraph {machine.cugraph or 'not installed'}. "
        f"A copy runs at {machine.copy_rate / 1e9:,.0f} GB/s, the peak is {(machine.peak_rate or 0) / 1e9:,.0f} GB/s. "
        f"The machine {energy} the energy of its CPUs. "
        "`make bench-abstractions` writes these tables; benchmarks/operators/tables.py defines the columns.",
        "", f"![Roofline]({machine.file}.png)",
    ]  # fmt: skip
    for table in sorted({row.table for row in rows}):
        text += ["", f"## {TITLES[table]}", "", _HEAD, "|---|---|" + "---:|" * 8 + "---|---:|---|"]
        text += [_line(row, machine) for row in rows if row.table == table]
    (folder / f"{machine.file}.md").write_text("\n".join(text) + "\n", encoding="utf-8")


def _record(row: OperatorRow, machine: Machine) -> dict[str, object]:
    """The times as columns of their own."""
    values = asdict(row)
    times = values.pop("times") or {"median": None, "p10": None, "p90": None, "runs": None}
    return {**asdict(machine), **values, "milliseconds": times.pop("median"), **times}


_HEAD = (
    "| graph | what | ms | p10 to p90 | GB/s | of the copy | of the peak | P100, of its peak | operations a byte | runs "
    "| beside | cuGraph, ms | note |"
)


def _line(row: OperatorRow, machine: Machine) -> str:
    rate, peak, times = row.rate, machine.peak_rate, row.times
    beside = "" if row.beside is None else f"{row.beside_name} {row.beside:.4g} ms"
    if row.beside and times:
        beside += f" ({times.median / row.beside:.2f}x)"
    cells = [
        row.graph, row.what, _cell(times and times.median, "{:.4g}"),
        f"{times.p10:.4g} to {times.p90:.4g}" if times and times.runs > 1 else "", _cell(rate and rate / 1e9, "{:,.0f}"),
        _cell(rate and rate / machine.copy_rate, "{:.0%}"), _cell(rate and peak and rate / peak, "{:.0%}"),
        _cell(row.document, "{:.0%}"), _cell(row.ops and row.num_bytes and row.ops / row.num_bytes, "{:.3f}"),
        _cell(times and times.runs, "{}"), beside, _cell(row.peer, "{:.4g}"), row.note,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
