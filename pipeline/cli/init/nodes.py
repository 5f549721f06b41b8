"""Find files of nodes beside the source."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.cli.init.columns import Sample, named_in, of_parquet, of_text
from pipeline.config.graph import GraphConfig
from pipeline.config.products.places import LATITUDES, LONGITUDES
from pipeline.errors import BadInput
from pipeline.ingest.feed import files_here
from pipeline.ingest.formats.detect import by_name
from pipeline.ingest.formats.format import TABLES
from pipeline.ingest.formats.parquet import is_parquet
from pipeline.ingest.source import locate
from pipeline.redaction import quoted

_VERTEX = "vertex id node_id osmid"  # of which one is taken by default
_X, _Y = " ".join(LONGITUDES), " ".join(LATITUDES)
_NAMES = ("nodes", "vertices", "junctions", "crossings", "intersections")  # of files of coordinates beside a source
_HEAD = 2**20  # bytes
_EDGES, _LISTED = ".e", ".v"  # suffixes of LDBC's files of edges and of vertices


def guessed_nodes(graph: GraphConfig, placed: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The keys of a graph for files of nodes that lie beside its source, and what to say.

    Args:
        placed: Whether the source itself has coordinates.
    """
    keys, notes = dict[str, Any](), list[str]()
    for note, of_files in _beside(graph, placed):
        keys |= of_files
        notes.append(note)
    return keys, tuple(notes)


def _beside(graph: GraphConfig, placed: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Files of nodes in the folder of a source that is one local file, and what to say."""
    if not isinstance(graph.source, str) or len(files_here(graph.source)) != 1 or not Path(graph.source).is_file():
        return
    source = Path(graph.source)
    listed = source.with_suffix(_LISTED)
    if source.suffix == _EDGES and listed.is_file() and not graph.nodes:
        columns = graph.node_columns.model_copy(update={"declare": True})
        yield f"{listed}: each line is a vertex, also without an edge", {"nodes": str(listed), "node_columns": columns}
    if placed or graph.coordinates or source.suffix == _EDGES:
        return
    for path in sorted(source.parent.iterdir()):
        if path == source or path.stem.lower() not in _NAMES or not path.is_file() or not (sample := _sample(str(path))):
            continue
        if all(named_in(known, sample.names) for known in (_VERTEX, _X, _Y)):
            yield f"{path}: taken for coordinates: it is beside the source, and has such columns", {"coordinates": str(path)}
            return


def _sample(file: str) -> Sample | None:
    """The columns of a table of this machine; None of a file that is no such table."""
    local = locate(file).local
    if local is None or not local.is_file():
        return None
    try:
        if is_parquet(local, quoted(file)):
            return of_parquet(local, file)
    except BadInput:
        return None  # which reading it reports
    form = by_name(file)
    if form not in TABLES or local.suffix.lower() not in (".csv", ".tsv", ".txt"):  # not compressed
        return None
    with local.open("rb") as content:
        head = content.read(_HEAD)
    return of_text(head, form == "tsv") if head.strip() else None
