"""Ingest: turn a source file into a Parquet edge list, streamed and checked against its own header and the limits.

A source is located and opened (`source`), decompressed (`decompress`) and split into lines (`text`). Its format is detected
(`formats.detect`), and the format's module yields tables, which `writer` writes.
"""

import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.config.graph import GraphConfig, Limits
from pipeline.config.model import MIB
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks, is_plain
from pipeline.ingest.formats import FORMATS, dimacs
from pipeline.ingest.formats.detect import detect
from pipeline.ingest.formats.format import EdgeList, FileFormat
from pipeline.ingest.formats.rows import Decimals
from pipeline.ingest.formats.text import Text
from pipeline.ingest.source import Source, Stored, identify, locate, stored
from pipeline.ingest.writer import COORDINATES_SCHEMA, check_each_once, edges_schema, write, write_parts
from pipeline.store.facts import CoordinateFacts, EdgeFacts, SourceFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables

log = logging.getLogger(__name__)
LOG_EVERY = 5.0  # seconds
FEW_VERTICES = 2**16  # that any header may declare
BYTES_PER_VERTEX = 8  # a lower bound on what a stored graph takes for an isolated vertex


def ingest(graph: GraphConfig, work: Path) -> Folder:
    """Read a source file into the folder `work/edges`, unless the folder already holds this content.

    Args:
        graph: The source, its format and its limits.
        work: The folder of the run's steps.

    Returns:
        `part-00000.parquet`, ..., of a million edges each: `src`, `dst` int64 and, if the source has it, `weight`, in the
            source's order with repeats and self-loops; an undirected edge is one row. `coordinates.parquet` if given: `vertex`
            int64, `x`, `y` float64. docs/architecture.md lists the facts.

    Raises:
        BadInput: The file does not exist, is not a graph, contradicts its own header or the stated SHA-256, or exceeds a limit.
        OSError: The file cannot be read now; a retry may succeed.
    """
    sources = {"source": locate(graph.source)}
    if graph.coordinates:
        sources["coordinates"] = locate(graph.coordinates)
    inputs = {name: identify(source, graph.sha256 if name == "source" else None) for name, source in sources.items()}
    # A local file is identified by its digest, which must still be the same after the file has been read.
    expected = {name: inputs[name] for name, source in sources.items() if source.local}

    def write_all(folder: Path) -> dict[str, Any]:
        facts = _write_edges(graph, sources["source"], expected.get("source"), folder)
        if "coordinates" not in sources:
            return facts.stored()
        placed = _write_coordinates(graph, sources["coordinates"], expected.get("coordinates"), folder)
        if facts.declared_vertices not in (None, placed.vertices):
            declared = f"{placed.vertices} vertices, but {sources['source'].url} declares {facts.declared_vertices}"
            raise BadInput(sources["coordinates"].url, f"declares {declared}")
        return facts.model_copy(update={"coordinates": placed}).stored()

    shown = {name: source.url for name, source in sources.items()}  # what else identifies a source is among the inputs
    return make(work / "edges", "edges", inputs, graph.model_dump(mode="json", exclude={"name"}) | shown, write_all)


def _write_edges(graph: GraphConfig, source: Source, digest: str | None, folder: Path) -> EdgeFacts:
    try:
        return _read_edges(graph, source, digest, folder, pa.int64())
    except Decimals:
        log.info("%s: a weight has decimals, reading the file again", source.url)
        for part in tables.files(folder):
            part.unlink()
        return _read_edges(graph, source, digest, folder, pa.float64())


def _read_edges(graph: GraphConfig, source: Source, digest: str | None, folder: Path, weight: pa.DataType) -> EdgeFacts:
    with stored(source) as content:
        on_disk = source.local if is_plain(content) else None
        text = Text(source.url, chunks(content, graph.limits), graph.limits)
        name = detect(text.head, source.url, graph.columns) if graph.format == "auto" else graph.format
        entry = FORMATS[name]
        if isinstance(entry, FileFormat):
            with _saved(on_disk, text.chunks, folder) as path:
                edges = entry.read(path, source.url, graph)
                count = write_parts(folder, edges_schema(edges.weight), _watched(edges.tables, content, graph.limits))
            if on_disk:
                content.finish_as_file()
        else:
            edges = entry.read(text, graph, weight)
            count = write_parts(folder, edges_schema(edges.weight), _watched(edges.tables, content, graph.limits))
        content.check(digest, graph.sha256)
        _check_declared(edges, content, graph.limits)
        return EdgeFacts(
            format=name,
            directed=edges.directed if graph.directed is None else graph.directed,
            weight=None if edges.weight is None else str(edges.weight),
            edges=count,
            first_id=edges.first_id,
            declared_vertices=edges.declared_vertices,
            source=_source_facts(content),
            text_bytes=None if isinstance(entry, FileFormat) else text.bytes,
        )


def _check_declared(edges: EdgeList, content: Stored, limits: Limits) -> None:
    """Raise BadInput if the header of a small file declares a large graph."""
    vertices = edges.declared_vertices or 0
    needed = BYTES_PER_VERTEX * vertices
    if vertices > FEW_VERTICES and needed > limits.ratio * content.bytes:
        raise BadInput(
            content.source.url,
            f"{content.bytes} bytes declare {vertices} vertices, which need {needed} bytes: "
            f"more than {limits.ratio:g} times, the limit (graph.limits.ratio)",
        )


def _write_coordinates(graph: GraphConfig, source: Source, digest: str | None, folder: Path) -> CoordinateFacts:
    with stored(source) as content:
        text = Text(source.url, chunks(content, graph.limits), graph.limits)
        vertices, batches = dimacs.coordinates(text, graph.limits.edges)
        write(folder / tables.COORDINATES, COORDINATES_SCHEMA, _watched(batches, content, graph.limits))
        check_each_once(source.url, folder / tables.COORDINATES, vertices)
        content.check(digest, None)
        return CoordinateFacts(vertices=vertices, unit="degrees", source=_source_facts(content))


def _source_facts(content: Stored) -> SourceFacts:
    return SourceFacts(path=content.source.url, bytes=content.bytes, sha256=content.digest)


@contextmanager
def _saved(path: Path | None, stream: Iterator[bytes], folder: Path) -> Iterator[Path]:
    """Yield an uncompressed local file for a reader that needs random access: `path`, or a copy of the stream."""
    if path:
        yield path
        return
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".parquet") as file:
        file.writelines(stream)
        file.flush()
        yield Path(file.name)


def _watched(tables: Iterator[pa.Table], content: Stored, limits: Limits) -> Iterator[pa.Table]:
    """Log the progress every LOG_EVERY seconds. Raises BadInput if the file takes more CPU time than its size allows."""
    file = content.source.url
    started = logged = time.monotonic()
    used = time.process_time()
    rows = 0
    for table in tables:
        yield table
        rows += len(table)
        if time.process_time() - used > limits.seconds * max(1, content.size / MIB):
            raise BadInput(file, f"takes more than {limits.seconds:g} s of CPU time per MiB, the limit (graph.limits.seconds)")
        if (now := time.monotonic()) - logged >= LOG_EVERY:
            logged = now
            log.info("%s: %d rows, %.0f per second", file, rows, rows / (now - started))
