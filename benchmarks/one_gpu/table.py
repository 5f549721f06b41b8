"""The table of the GPU's benchmarks: rows in Parquet, to which a later run adds, and as Markdown."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.schema import schema_of


@dataclass(frozen=True)
class KernelRow:
    """One kernel and method on one graph. Times are in milliseconds; None means not measured.

    Attributes:
        graph, kernel, method: The row's key; `method` is empty for the default.
        vertices, arcs, graph_bytes: Of the graph, and the bytes of its CSR; of the layout, of the CSR that it makes.
        teps: Arcs of the rows reached a second, for searches the harmonic mean over the sources; else all arcs over the median.
        necessary_bytes: Arcs read once and answer written once.
        copy_share: `necessary_bytes` over `median`, over the copy bandwidth.
        first, peak_bytes, kept_bytes: The first call on a graph, for the default method: time, device memory beyond the graph,
            and what of it stays.
        certificate: Median time of the proof on the GPU.
        cpu: Our kernel on the CPU.
        pylibcugraph, pylibcugraph_runs, pylibcugraph_note, cugraph, cugraph_runs, cugraph_note, doublegraph, ...: Median of the
            peer, and how it was called or why it failed.
        failure: Why there is no time: the reason from the certificate or the comparison.
        gpu, driver, cuda, cupy, cugraph_version, cpu_cores, copy_bandwidth: Where it was measured.
    """

    graph: str
    kernel: str
    method: str
    vertices: int
    arcs: int
    graph_bytes: int
    gpu: str
    driver: str
    cuda: str
    cupy: str
    cugraph_version: str | None
    cpu_cores: int
    copy_bandwidth: float
    median: float | None = None
    least: float | None = None
    most: float | None = None
    runs: int = 0
    teps: float | None = None
    necessary_bytes: int | None = None
    copy_share: float | None = None
    first: float | None = None
    peak_bytes: int | None = None
    kept_bytes: int | None = None
    certificate: float | None = None
    cpu: float | None = None
    pylibcugraph: float | None = None
    pylibcugraph_runs: int = 0
    pylibcugraph_note: str = ""
    cugraph: float | None = None
    cugraph_runs: int = 0
    cugraph_note: str = ""
    doublegraph: float | None = None
    doublegraph_runs: int = 0
    doublegraph_note: str = ""
    failure: str = ""


def read(path: Path) -> list[KernelRow]:
    """The rows of a table; empty if the file does not exist."""
    return [KernelRow(**record) for record in pq.read_table(path).to_pylist()] if path.exists() else []


def merge(old: Iterable[KernelRow], new: Iterable[KernelRow]) -> list[KernelRow]:
    """Old rows, with new measurements in place of older ones, then the other new rows."""
    return list({(row.graph, row.kernel, row.method): row for row in (*old, *new)}.values())


def write(path: Path, rows: list[KernelRow], text: str | None = None) -> None:
    """Replace the Parquet file and the Markdown file, by default `markdown(rows)`, by one rename each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for target, content in ((path, None), (path.with_suffix(".md"), markdown(rows) if text is None else text)):
        unfinished = target.with_name(f".{target.name}")
        if content is None:
            pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows], schema_of(KernelRow)), unfinished)
        else:
            unfinished.write_text(content, encoding="utf-8")
        unfinished.replace(target)


def markdown(rows: list[KernelRow]) -> str:
    """The table in Markdown: the machine, a line per kernel, the graphs, and the meaning of the columns."""
    graphs = {row.graph: row for row in reversed(rows)}  # from its first row, which is not a layout
    lines = [
        *sorted({machine_of(row) for row in rows}),
        "",
        "| graph | kernel | ms | least | most | GTEPS | of copy | peak / CSR | first | proof | pylibcugraph | ratio | cugraph |"
        " ratio | doubleGraph | ratio | CPU | ratio |",
        "|---|---|" + "---:|" * 16,
        *(_line(row) for row in rows),
        "",
        "| graph | vertices | arcs | CSR, MB |",
        "|---|---:|---:|---:|",
        *(
            f"| {name} | {row.vertices:,} | {row.arcs:,} | {row.graph_bytes / 1e6:,.1f} |"
            for name, row in reversed(graphs.items())
        ),
        "",
        _LEGEND,
    ]
    return "\n".join(lines) + "\n"


def machine_of(row: KernelRow) -> str:
    """Where a row was measured."""
    peer = f"cuGraph {row.cugraph_version}" if row.cugraph_version else "cuGraph is not installed: its columns are empty"
    return (
        f"{row.gpu}, driver {row.driver}, CUDA {row.cuda}, CuPy {row.cupy}, {peer}; {row.cpu_cores} CPU cores;"
        f" a copy moves {row.copy_bandwidth / 1e12:.2f} TB/s."
    )


def _line(row: KernelRow) -> str:
    kernel = f"{row.kernel}, {row.method}" if row.method else row.kernel
    if row.failure:
        return f"| {row.graph} | {kernel} | failed: {row.failure} |" + " |" * 15
    given = 0 if row.kernel == "layout" else row.graph_bytes
    peak = None if row.peak_bytes is None else (given + row.peak_bytes) / row.graph_bytes
    cells = [
        f"**{number(row.median)}**",
        number(row.least),
        number(row.most),
        number(None if row.teps is None else row.teps / 1e9),
        "" if row.copy_share is None else f"{100 * row.copy_share:.1f} %",
        number(peak),
        number(row.first),
        number(row.certificate),
        *_peer(row, row.pylibcugraph, row.pylibcugraph_runs, row.pylibcugraph_note),
        *_peer(row, row.cugraph, row.cugraph_runs, row.cugraph_note),
        *_peer(row, row.doublegraph, row.doublegraph_runs, row.doublegraph_note),
        number(row.cpu),
        _ratio(row, row.cpu),
    ]
    return f"| {row.graph} | {kernel} | {' | '.join(cells)} |"


def _peer(row: KernelRow, median: float | None, runs: int, note: str) -> tuple[str, str]:
    if median is None:
        return note, ""
    few = f"{runs} run{'s' * (runs > 1)}" if runs < row.runs else ""
    notes = ", ".join(filter(None, (note, few)))
    return f"{number(median)} ({notes})" if notes else number(median), _ratio(row, median)


def _ratio(row: KernelRow, other: float | None) -> str:
    return f"{number(other / row.median)}x" if other is not None and row.median else ""


def number(value: float | None) -> str:
    """Three digits, without an exponent."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


_LEGEND = """\
Milliseconds: `ms` is the median, of random sources where a kernel takes one; the graph is in device memory, and the call, the
unique predecessors and the allocation of the answer are included; of PageRank, an iteration of those to 1e-6. Every answer that
was timed had passed its certificate on the GPU, and the first of them was equal to the CPU kernel's to the byte (of PageRank:
within 1e-6 in sum). A peer's first answer was compared with ours: distances, weight of the forest, parts, or ranks.

* `GTEPS`: arcs out of the rows reached a second, the harmonic mean over the sources; for other kernels all arcs over the median.
* `of copy`: the necessary bytes, which are the offsets, indices and, where they count, weights of the arcs read once (both
  directions for scc, the in-arcs for PageRank) and the answer written once, over the median, as a share of what a copy within
  device memory moves in the same process. A kernel that need not look at every arc can pass 100 %.
* `peak / CSR`: device memory at the peak of the first call on a graph, the graph included, over the graph's CSR; `first` is the
  time of that call, in which what is derived from the graph is made and memory is taken from the driver.
* `proof`: the certificate on the GPU.
* `pylibcugraph`: on a prebuilt graph, with a warm pool of its own; `cugraph`: the public API on a prebuilt graph; `doubleGraph`:
  its kernels for the A100, compiled for this GPU, on a prebuilt graph. Slow peers were called fewer times, as said.
  `ratio`: their time over ours.
* `layout`: from an edge list in device memory, as it was generated or as the file has it (int64 ids, weights where a file has
  some), to rows in running order with their lanes, without self-loops and repeats, each edge's reverse added where the graph is
  symmetric. Its `peak / CSR` is without the edge list, over the CSR that it makes. The peers' build of the graph starts from
  more: clean arcs (pylibcugraph) or clean edges (cugraph), without self-loops and repeats, numbered 0..V-1, weighted as ours.
* A source document's method other than the default was called at most four times.
* `CPU`: our own kernel on the cores named above."""
