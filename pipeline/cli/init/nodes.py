"""Guess which columns of files of nodes are the ids and coordinates, and find such files beside the source."""

from collections.abc import Iterator
from dataclasses import dataclass
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

_VERTEX = "vertex vertex_id node node_id nodeid id osmid osm_id junction junction_id crossing person person_id user user_id"
_X, _Y = " ".join(LONGITUDES), " ".join(LATITUDES)
_NAMES = ("nodes", "vertices", "junctions", "crossings", "intersections")  # of files of coordinates beside a source
_HEAD = 2**20  # bytes
_EDGES, _LISTED = ".e", ".v"  # suffixes of LDBC's files of edges and of vertices


@dataclass(frozen=True)
class LikelyNodes:
    """The keys of a graph that files of nodes decide, and why."""

    keys: dict[str, Any]
    notes: tuple[str, ...] = ()


def guessed_nodes(graph: GraphConfig, placed: bool) -> LikelyNodes:
    """The columns of `coordinates` and `nodes`, unless they are stated, and files for both that lie beside the source.

    Args:
        placed: Whether the source itself has coordinates.
    """
    keys, notes = dict[str, Any](), list[str]()
    for note, found in _beside(graph, placed):
        keys |= found
        notes.append(note)
    graph = graph.model_copy(update=keys)
    columns, stated = graph.node_columns, graph.node_columns.model_fields_set
    for key, roles in (("nodes", {"vertex": _VERTEX}), ("coordinates", {"vertex": _VERTEX, "x": _X, "y": _Y})):
        file = getattr(graph, key)
        if not file or not (sample := _sample(file)):
            continue
        names = {role: name for role, known in roles.items() if role not in stated and (name := named_in(known, sample.names))}
        names = {role: name for role, name in names.items() if name != getattr(columns, role)}
        if "delimiter" not in stated and sample.delimiter:
            names["delimiter"] = sample.delimiter
        if names:
            columns = columns.model_copy(update=names)
            notes.append(f"{file}: {', '.join(f'{role} {name!r}' for role, name in names.items())} (guessed by their names)")
            keys["node_columns"] = columns
    return LikelyNodes(keys, tuple(notes))


def _beside(graph: GraphConfig, placed: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Files of nodes in the folder of a source that is one local file, and what to say."""
    if not isinstance(graph.source, str) or len(files_here(graph.source)) != 1 or not Path(graph.source).is_file():
        return
    source = Path(graph.source)
    listed = source.with_suffix(_LISTED)
    if source.suffix == _EDGES and listed.is_file() and not graph.nodes:
        columns = graph.node_columns.model_copy(update={"declare": True})
        yield f"{listed}: each line is a vertex, also without an edge", {"nodes": str(listed), "node_columns": columns}
    if placed or graph.coordinates:
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
