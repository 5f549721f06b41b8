"""Open a source as what it is: decompressed, its format detected, its edges read while they are iterated."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline import progress
from pipeline.config.graph import GraphConfig, Limits
from pipeline.config.model import MIB, set_keys
from pipeline.errors import BadInput
from pipeline.ingest.content import Content
from pipeline.ingest.decompress import chunks, is_plain, saved
from pipeline.ingest.formats import FORMATS
from pipeline.ingest.formats.detect import binary_format, detect
from pipeline.ingest.formats.format import EdgeList, FileFormat
from pipeline.ingest.formats.overture import FORMAT as OVERTURE
from pipeline.ingest.formats.overture import is_overture
from pipeline.ingest.formats.text import Text
from pipeline.ingest.source import Source, stored
from pipeline.ingest.values.encodings import as_utf8
from pipeline.runtime.threads import ahead

AHEAD = 1  # chunks
FEW_VERTICES = 2**16  # that any header may declare
BYTES_PER_VERTEX = 8  # a lower bound on what a stored graph takes for an isolated vertex


@dataclass
class Opened:
    """A source whose edges are being read."""

    format: str
    content: Content
    edges: EdgeList
    text_bytes: Callable[[], int] | None  # of a format of lines: how many were read, decompressed
    on_disk: Path | None  # the file itself, if it is on this machine and not compressed


@contextmanager
def opened(
    source: Source, graph: GraphConfig, weight: pa.DataType, folder: Path | None = None, reject: float = 0, changes: Any = None
) -> Iterator[Opened]:
    """Begin to read a source.

    Args:
        changes: Those of an OpenStreetMap extract since it was written, see `pipeline.ingest.formats.osm.updates`.
        reject: How many bad rows, or which share, are left out.
        weight: Type of the weights of a text: int64, or float64.
        folder: For the copy of a binary file that is compressed or remote; the folder of temporary files by default.

    Raises:
        BadInput: The format is unknown, or an option of `graph` does not apply to it.
    """
    with stored(source) as content:
        on_disk, stream = source.local if is_plain(content) else None, chunks(content, graph.limits)
        first = next(stream, b"")
        url = content.file
        stream = chain([first], stream)
        name = binary_format(first) if graph.format == "auto" else graph.format
        entry = FORMATS[name] if name else None
        if isinstance(entry, FileFormat) and name and first.strip():
            with saved(on_disk, stream, folder) as path:
                if name == "parquet" and graph.format == "auto" and is_overture(path):
                    name, entry = "overture", OVERTURE
                _require_options(url, name, graph, entry.options)
                edges = entry.read(path, url, graph, *([changes] if changes else []))
                yield Opened(name, content, rejecting(url, name, edges, reject), None, on_disk)
            return
        text = Text(url, as_utf8(url, stream, graph.encoding) if graph.encoding else stream, graph.limits)
        name = name or detect(text.head, url, graph)
        entry = FORMATS[name]
        if isinstance(entry, FileFormat):
            raise BadInput(url, f"has the name of a file of format {name}, but does not begin like one")
        _require_options(url, name, graph, entry.options)
        with closing(ahead(text.chunks, AHEAD)) as text.chunks:  # decompressed while others are parsed
            edges = rejecting(url, name, entry.read(text, graph, weight), reject)
            yield Opened(name, content, edges, lambda: text.bytes, on_disk)


def rejecting(file: str, name: str, edges: EdgeList, reject: float) -> EdgeList:
    """The edges without bad rows, if `reject` allows some. Raises BadInput for a format of which none can be left out."""
    if not reject:
        return edges
    if edges.rejects is None:
        raise BadInput(file, f"reject.limit is given, but no row of format {name} can be left out")
    edges.rejects.limit = reject
    return replace(edges, rows=None, rereadable=False)


def _require_options(file: str, name: str, graph: GraphConfig, options: frozenset[str]) -> None:
    """Raise BadInput if the configuration states keys of columns and texts for a format that does not have them."""
    columns = graph.columns
    given = {
        "columns": bool(
            columns.src or columns.dst or columns.weight or columns.have_directions or columns.speed or columns.order
        ),
        "header": not graph.header,
        "delimiter": graph.delimiter is not None,
        "ids": graph.ids != "auto",
        "encoding": graph.encoding is not None,
        "decimal": graph.decimal != ".",
        "thousands": graph.thousands is not None,
        "null": bool(graph.null),
        "osm": bool(set_keys(graph.osm)),
    }
    for option, is_given in given.items():
        if is_given and option not in options:
            raise BadInput(file, f"graph.{option} is given, but does not apply to format {name}")


def watched(tables: Iterator[pa.Table], content: Content, limits: Limits, rows: int | None = None) -> Iterator[pa.Table]:
    """State the progress, in rows if there will be `rows`. Raises BadInput for more CPU time than the file's size allows."""
    used, read = time.process_time(), 0
    for table in tables:
        yield table
        read += len(table)
        if time.process_time() - used > limits.seconds * max(1, content.size / MIB):
            reason = f"takes more than {limits.seconds:g} s of CPU time per MiB, the limit (graph.limits.seconds)"
            raise BadInput(content.source.url, reason)
        if rows is None:
            progress.reached(content.bytes, content.total, "bytes")
        else:
            progress.reached(read, rows, "edges")


def check_declared(edges: EdgeList, content: Content, limits: Limits) -> None:
    """Raise BadInput if the header of a small file declares a large graph."""
    vertices = (edges.declared_vertices or 0) if edges.first_id is not None else 0
    needed = BYTES_PER_VERTEX * vertices
    if vertices > FEW_VERTICES and needed > limits.ratio * content.bytes:
        raise BadInput(
            content.source.url,
            f"{content.bytes} bytes declare {vertices} vertices, which need {needed} bytes: "
            f"more than {limits.ratio:g} times, the limit (graph.limits.ratio)",
        )
