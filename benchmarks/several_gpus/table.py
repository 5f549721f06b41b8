"""The table of the benchmarks over several GPUs: rows, which each part writes as it finishes, of our kernels and the peer's."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.schema import schema_of

_CLOSE = 1e-3  # relative difference that is allowed for checks of float32 sums
OURS, PEER = "graphmill", "cugraph"


@dataclass(frozen=True)
class ShardRow:
    """A measurement of one library on one graph. Times are in milliseconds; None means not measured."""

    # graph, what, gpus, library: the row's key: `what` is a kernel, or how the graph was made ready.
    graph: str
    what: str
    gpus: int
    library: str
    # gpu, driver, cuda, cupy, version, cpu_cores: where it was measured; `version` is the library's.
    gpu: str
    driver: str
    cuda: str
    cupy: str
    version: str
    cpu_cores: int
    # vertices, arcs: of the graph, for our rows.
    vertices: int | None = None
    arcs: int | None = None
    # median, least, most, runs: of the slowest rank, over the sources where there are some.
    median: float | None = None
    least: float | None = None
    most: float | None = None
    runs: int = 0
    supersteps: float | None = None  # exchanges that each rank waits for, the median
    # Arcs out of the rows reached a second, the harmonic mean over the sources; else all arcs over the median.
    teps: float | None = None
    proof: float | None = None  # median time of the certificate over all ranks; None where the answer was compared instead
    check: float | None = None  # what two libraries have to agree on: sums of distances, components
    note: str = ""
    failure: str = ""


def add(folder: Path, row: ShardRow) -> None:
    """Add a row to those of this process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"rows-{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")


def collect(folder: Path) -> list[ShardRow]:
    """The rows of all processes, oldest first; newer measurements replace older ones."""
    files = sorted(folder.glob("rows-*.jsonl"), key=lambda path: path.stat().st_mtime)
    rows = [ShardRow(**json.loads(line)) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    return list({(row.graph, row.what, row.gpus, row.library): row for row in rows}.values())


def write(path: Path, rows: list[ShardRow]) -> None:
    """Write the table as Parquet and as Markdown."""
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema_of(ShardRow)), path)
    path.with_suffix(".md").write_text(markdown(rows), encoding="utf-8")


def markdown(rows: Iterable[ShardRow]) -> str:
    """A line for each graph, number of GPUs and kernel, with cuGraph's figures."""
    ours = [row for row in rows if row.library == OURS]
    peers = {(row.graph, row.what, row.gpus): row for row in rows if row.library == PEER}
    lines = [
        *sorted({_where(row) for row in rows}),
        *sorted({f"cuGraph {row.version}." for row in peers.values()}),
        "",
        "| graph | vertices | arcs | GPUs | what | ms | least | most | supersteps | GTEPS | proof | cuGraph | ratio | note |",
        "|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in ours:
        peer = peers.get((row.graph, row.what, row.gpus))
        cells = [
            row.graph, _count(row.vertices), _count(row.arcs), str(row.gpus), row.what,
            "failed" if row.failure else f"**{_number(row.median)}**", _number(row.least), _number(row.most),
            _number(row.supersteps), _number(None if row.teps is None else row.teps / 1e9), _number(row.proof),
            *_peer_cells(row, peer), "; ".join(filter(None, (row.failure, row.note, peer.note if peer else ""))),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", _LEGEND])


def _where(row: ShardRow) -> str:
    return f"{row.gpu}, driver {row.driver}, CUDA {row.cuda}, CuPy {row.cupy}; {row.cpu_cores} CPU cores."


def _peer_cells(row: ShardRow, peer: ShardRow | None) -> tuple[str, str]:
    if peer is None or peer.median is None:
        return (f"failed: {peer.failure}" if peer else ""), ""
    if None not in (row.check, peer.check) and abs(row.check - peer.check) > _CLOSE * abs(row.check):
        return f"{_number(peer.median)}, with another answer ({peer.check:g}, ours {row.check:g})", ""
    return _number(peer.median), "" if not row.median else f"{_number(peer.median / row.median)}x"


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _number(value: float | None) -> str:
    """Three digits, without an exponent."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


_LEGEND = """\
Milliseconds, the median over random sources where a kernel takes one, of the slowest rank between two barriers; the shards lie in
device memory, and the unique predecessors and the allocation of the answer are included. Every answer that was timed had passed
its certificate over the same ranks (`proof`). `supersteps`: how often all ranks exchanged.

* `ready from the edge list`: Parquet files to shards in device memory, each rank its own; `ready from stored shards`: the stored
  graph's files to the same. cuGraph's is from the same Parquet files to its distributed graph.
* cuGraph: `cugraph.dask` on one Dask-CUDA worker a GPU, warm, the same sources; its first answer was compared with ours (sum of
  distances, number of components).
* Searches from many sources, labelings and queries: independent work spread over workers that have all of the graph, or of its
  index; `ms` is the time of all of it.
"""
