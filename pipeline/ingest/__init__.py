"""Ingest: a source file becomes a Parquet edge list, streamed, checked against its own header and the limits.

`ingest` is the way in. A source is located and opened (`source`), decompressed (`decompress`), read as lines (`text`), its
format detected (`detect`) and read by the format's module, which hands out tables that `writer` writes.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.config.run import GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest import delimited, dimacs, gra, matrix_market, pace, parquet, snap
from pipeline.ingest.decompress import RATIO_FROM, chunks, is_plain
from pipeline.ingest.detect import HEAD, detect
from pipeline.ingest.edge_list import EdgeList
from pipeline.ingest.rows import Decimals
from pipeline.ingest.source import Source, Stored, identify, locate, stored
from pipeline.ingest.text import Text
from pipeline.ingest.writer import COORDINATES_SCHEMA, check_each_once, edges_schema, write
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables

log = logging.getLogger(__name__)
LOG_EVERY = 5.0  # seconds
BYTES_PER_VERTEX = 8  # of the least that a stored graph keeps for an isolated one
READERS: dict[str, Callable[[Text, GraphConfig, pa.DataType], EdgeList]] = {
    "dimacs": dimacs.read,
    "arcs": dimacs.read_arcs,
    "snap": snap.read,
    "matrix-market": matrix_market.read,
    "gra": gra.read,
    "pace": pace.read,
    "csv": delimited.read_csv,
    "tsv": delimited.read_tsv,
}


def ingest(graph: GraphConfig, work: Path) -> Folder:
    """Read a source file into the folder `work/edges`, unless it holds that very content already.

    Parameters
    ----------
    graph : GraphConfig
        Where the source is, its format, and the limits on it.
    work : Path
        The folder of the run's steps.

    Returns
    -------
    Folder
        `part-00000.parquet`: `src`, `dst` int64 and, where the source has it, `weight`, in the source's order with repeats
        and self-loops; an undirected edge is one row. `coordinates.parquet` where given: `vertex` int64, `x`, `y` float64.
        The facts are in docs/architecture.md.

    Raises
    ------
    BadInput
        The file is not there, is no graph, contradicts its own header or the stated SHA-256, or crosses a limit.
    OSError
        The file cannot be read now, and may be later.
    """
    sources = {"source": locate(graph.source)}
    if graph.coordinates:
        sources["coordinates"] = locate(graph.coordinates)
    inputs = {name: identify(source, graph.sha256 if name == "source" else None) for name, source in sources.items()}
    # A local file's identity is its SHA-256, and must still hold when it has been read.
    expected = {name: inputs[name] for name, source in sources.items() if source.local} | (
        {"source": graph.sha256} if graph.sha256 else {}
    )

    def write_all(folder: Path) -> dict[str, Any]:
        facts = _write_edges(graph, sources["source"], expected.get("source"), folder)
        if "coordinates" in sources:
            facts["coordinates"] = _write_coordinates(graph, sources["coordinates"], expected.get("coordinates"), folder)
            _check_vertices(graph, facts)
        return facts

    return make(work / "edges", "edges", inputs, graph.model_dump(mode="json", exclude={"name"}), write_all)


def _write_edges(graph: GraphConfig, source: Source, sha256: str | None, folder: Path) -> dict[str, Any]:
    try:
        return _read_edges(graph, source, sha256, folder, pa.int64())
    except Decimals:
        log.info("%s: a weight has decimals; read again", source.url)
        return _read_edges(graph, source, sha256, folder, pa.float64())


def _read_edges(graph: GraphConfig, source: Source, sha256: str | None, folder: Path, weight: pa.DataType) -> dict[str, Any]:
    with stored(source) as content:
        on_disk = source.local if is_plain(content) else None
        stream = chunks(content, graph.limits)
        head = next(stream, b"")
        if not head.strip():
            raise BadInput(source.url, "is empty")
        stream = chain([head], stream)
        text = Text(source.url, stream)
        name = detect(head[:HEAD], source.url, graph.columns) if graph.format == "auto" else graph.format
        if name == "parquet":
            with _saved(on_disk, stream, folder) as path:
                edges = parquet.read(path, source.url, graph)
                count = _write_part(edges, folder, source.url)
        else:
            edges = READERS[name](text, graph, weight)
            count = _write_part(edges, folder, source.url)
        content.check(sha256)
        _check_declared(edges, content, graph.limits)
        return {
            "format": name,
            "directed": edges.directed if graph.directed is None else graph.directed,
            "weight": None if edges.weight is None else str(edges.weight),
            "edges": count,
            "first_id": edges.first_id,
            "declared_vertices": edges.declared_vertices,
            "source": _source_facts(content),
            "text_bytes": None if name == "parquet" else text.bytes,
        }


def _check_declared(edges: EdgeList, content: Stored, limits: Limits) -> None:
    """Refuse a header that makes a small file a large graph."""
    taken = BYTES_PER_VERTEX * (edges.declared_vertices or 0)
    if taken > RATIO_FROM and taken > limits.ratio * content.bytes:
        raise BadInput(
            content.source.url,
            f"{content.bytes} bytes declare {edges.declared_vertices} vertices, which take {taken} bytes: "
            f"more than {limits.ratio:g} times, the limit",
        )


def _write_part(edges: EdgeList, folder: Path, file: str) -> int:
    return write(folder / "part-00000.parquet", edges_schema(edges.weight), _watched(edges.tables, file))


def _write_coordinates(graph: GraphConfig, source: Source, sha256: str | None, folder: Path) -> dict[str, Any]:
    with stored(source) as content:
        text = Text(source.url, chunks(content, graph.limits))
        vertices, batches = dimacs.coordinates(text, graph.limits.edges)
        write(folder / tables.COORDINATES, COORDINATES_SCHEMA, _watched(batches, text.file))
        check_each_once(source.url, folder / tables.COORDINATES, vertices)
        content.check(sha256)
        return {"vertices": vertices, "unit": "degrees", "source": _source_facts(content)}


def _check_vertices(graph: GraphConfig, facts: dict[str, Any]) -> None:
    declared, placed = facts["declared_vertices"], facts["coordinates"]["vertices"]
    if declared not in (None, placed):
        raise BadInput(graph.coordinates, f"declares {placed} vertices, and {graph.source} declares {declared}")


def _source_facts(content: Stored) -> dict[str, Any]:
    return {"path": content.source.url, "bytes": content.bytes, "sha256": content.sha256}


@contextmanager
def _saved(path: Path | None, stream: Iterator[bytes], folder: Path) -> Iterator[Path]:
    """Give Parquet, which is read from its end, a plain file on this machine: `path`, or the stream written to one."""
    if path:
        yield path
        return
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".parquet") as file:
        file.writelines(stream)
        file.flush()
        yield Path(file.name)


def _watched(tables: Iterator[pa.Table], file: str) -> Iterator[pa.Table]:
    """Log how far the reading is, every few seconds."""
    started = logged = time.monotonic()
    rows = 0
    for table in tables:
        yield table
        rows += len(table)
        if (now := time.monotonic()) - logged >= LOG_EVERY:
            logged = now
            log.info("%s: %d rows, %.0f a second", file, rows, rows / (now - started))
