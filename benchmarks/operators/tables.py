"""The measurements of the graph operators: rows in Parquet, to which a later call adds, and as Markdown.

The layout is that of the document's Tables 2 to 13.

Afanasyev: Vector Graph Library (2020). Its GPU was a P100, whose figures stand beside ours as shares of the peak.
"""

import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import cupy as cp
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
        failed: Why there is no measurement; empty if there is one.
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
    failed: str = ""

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
        """Name of the files of its results, such as operators_h100."""
        words = [word for word in self.gpu.lower().split() if word not in ("nvidia", "tesla")]
        return f"operators_{words[0].partition('-')[0]}"


def attempt(table: int, graph: str, what: str, measure: Callable[[], OperatorRow]) -> OperatorRow:
    """The row of a measurement, or if it fails one that says why: the other rows are still measured."""
    try:
        return measure()
    except Exception as error:
        row = failure(table, graph, what, error)
    cp.get_default_memory_pool().free_all_blocks()  # what the failed measurement had
    return row


def failure(table: int, graph: str, what: str, error: Exception) -> OperatorRow:
    """The row of a measurement that failed; the traceback is printed."""
    traceback.print_exception(error)
    return OperatorRow(table, graph, what, None, failed=f"{type(error).__name__}: {' '.join(str(error).split())[:160]}")


def read(folder: Path, machine: Machine) -> tuple[list[OperatorRow], Machine]:
    """The rows of earlier calls, and the machine with the bandwidth of a copy that they have, so that all shares are of one.

    Raises:
        ValueError: The rows are from another machine, or other versions.
    """
    path = folder / f"{machine.file}.parquet"
    records = pq.read_table(path).to_pylist() if path.exists() else []
    if not records:
        return [], machine
    then = Machine(**{field.name: records[0][field.name] for field in fields(Machine)})
    if replace(then, copy_rate=machine.copy_rate) != machine:
        raise ValueError(f"{path} was measured on {then}, this is {machine}; name another folder by --out")
    return [_row(record) for record in records], then


def _row(record: dict[str, Any]) -> OperatorRow:
    of_times = (record["milliseconds"], record["p10"], record["p90"], record["runs"])
    values = {field.name: record.get(field.name) for field in fields(OperatorRow)}
    values |= {name: values[name] or "" for name in ("beside_name", "note", "failed")}
    return OperatorRow(**values | {"times": None if of_times[0] is None else Times(*of_times)})


def merge(old: Iterable[OperatorRow], new: Iterable[OperatorRow]) -> list[OperatorRow]:
    """New rows in place of older ones with the same key; failures of what is measured again are dropped."""
    new = list(new)
    again = {(row.table, row.graph) for row in new}
    kept = [row for row in old if not row.failed or (row.table, row.graph) not in again]
    return [*{**_by_key(kept), **_by_key(new)}.values()]


def _by_key(rows: Iterable[OperatorRow]) -> dict[tuple[int, str, str, int], OperatorRow]:
    """Rows by their keys, and where several have one key also by their number: kernels of equal names in Table 11."""
    seen, found = Counter[tuple[int, str, str]](), {}
    for row in rows:
        key = row.table, row.graph, row.what
        seen[key] += 1
        found[*key, seen[key]] = row
    return found


def write(folder: Path, rows: Iterable[OperatorRow], machine: Machine) -> None:
    """Replace the machine's .parquet and .md, by one rename each, so that the end of a process leaves whole files."""
    rows = list(rows)
    folder.mkdir(parents=True, exist_ok=True)
    energy = "offers" if machine.cpu_energy else "does not offer"
    peak = f"{machine.peak_rate / 1e9:,.0f} GB/s" if machine.peak_rate else "not known"
    text = [
        "# Graph operators", "",
        f"{machine.gpu}, driver {machine.driver}, CUDA {machine.cuda}, CuPy {machine.cupy}, "
        f"cuGraph {machine.cugraph or 'not installed'}. "
        f"A copy runs at {machine.copy_rate / 1e9:,.0f} GB/s, the peak is {peak}. "
        f"The machine {energy} the energy of its CPUs. "
        "`make bench-abstractions` writes these tables; benchmarks/operators/tables.py defines the columns.",
        "", f"![Roofline]({machine.file}.png)",
    ]  # fmt: skip
    for number in sorted({row.table for row in rows}):
        text += ["", f"## {TITLES[number]}", "", _HEAD, "|---|---|" + "---:|" * 8 + "---|---:|---|"]
        text += [_line(row, machine) for row in rows if row.table == number]
    table, page = folder / f"{machine.file}.parquet", folder / f"{machine.file}.md"
    pq.write_table(pa.Table.from_pylist([_record(row, machine) for row in rows]), table.with_name(f".{table.name}"))
    page.with_name(f".{page.name}").write_text("\n".join(text) + "\n", encoding="utf-8")
    for path in (table, page):
        path.with_name(f".{path.name}").replace(path)


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
        _cell(times and times.runs, "{}"), beside, _cell(row.peer, "{:.4g}"),
        f"failed: {row.failed}" if row.failed else row.note,
    ]  # fmt: skip
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
