"""Look at the tables of nodes and coordinates of a graph, also at those beside it that nobody has named."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.cli.init import columns
from pipeline.cli.init.columns import Sample
from pipeline.cli.init.forms import encoding_of
from pipeline.config.graph import GraphConfig, NodeColumns
from pipeline.config.products.places import LATITUDES, LONGITUDES
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks, is_plain
from pipeline.ingest.formats.detect import by_name
from pipeline.ingest.formats.format import TABLES
from pipeline.ingest.formats.parquet import begins_parquet
from pipeline.ingest.formats.text import Text
from pipeline.ingest.node_columns import columns_of, is_list, names_of
from pipeline.ingest.source import locate, stored
from pipeline.ingest.values.encodings import as_utf8

_NUMBERS = ("integer", "number")  # kinds of columns
_NODES = ("nodes", "vertices", "junctions", "crossings", "intersections")  # names of files that may have coordinates
OF_LDBC = re.compile(r"\.e(?=(\.(gz|bz2|xz|zst))?$)")  # in the name of a file of edges; that of its vertices has .v there


@dataclass(frozen=True)
class Beside:
    """What the tables show: the configuration, completed by them; their columns in words, by their keys; columns of numbers."""

    graph: GraphConfig
    shown: dict[str, str]
    sums: tuple[str, ...]


@dataclass(frozen=True)
class _Looked:
    """The first rows of a table, and how it is written: the keys of `node_columns` that are not as usual."""

    sample: Sample
    written: Mapping[str, object]
    delimiter: str | None
    encoding: str | None
    is_ascii: bool


def look_beside(graph: GraphConfig, placed: bool) -> Beside:
    """Look at the first rows of the tables that `graph` names, or that lie beside its source. Raises BadInput for one it names.

    Keys that `graph` states are not guessed. Coordinates are proposed unless the source has some (`placed`).
    """
    proposals = dict[str, Beside]()
    for key, file in _likely(graph, placed):
        with suppress(BadInput):
            proposals[file] = _seen(graph.model_copy(update={key: file}), file)
    if len(proposals) == 1:
        return next(iter(proposals.values()))
    seen = _seen(graph)
    if proposals:
        seen.shown["coordinates"] = f"none: {' and '.join(proposals)} have some; --coordinates names one of them"
    return seen


def _likely(graph: GraphConfig, placed: bool) -> Iterator[tuple[str, str]]:
    """Files in the folder of a source that is one local file: LDBC's of vertices, or those called as if they had coordinates."""
    if not isinstance(graph.source, str) or not Path(graph.source).is_file():
        return
    source = Path(graph.source)
    if OF_LDBC.search(source.name):
        listed = source.with_name(OF_LDBC.sub(".v", source.name))
        if listed.is_file() and not graph.nodes:
            yield "nodes", str(listed)
    elif not placed and not graph.coordinates:
        for path in sorted(source.parent.iterdir()):
            is_table = path != source and path.is_file() and by_name(path.name) in TABLES
            if is_table and path.name.partition(".")[0].lower() in _NODES:
                yield "coordinates", str(path)


def _seen(graph: GraphConfig, proposed: str | None = None) -> Beside:
    """What the tables that `graph` names show. Raises BadInput, also if one that is `proposed` cannot have coordinates."""
    how, shown, sums = graph.node_columns, dict[str, str](), tuple[str, ...]()
    before: _Looked | None = None
    for role, file, wanted in (("coordinates", graph.coordinates, ("x", "y")), ("nodes", graph.nodes, ())):
        why = "; it is beside the source (guessed)" if file == proposed else ""
        if file and role == "nodes" and is_list(file):
            stated = "declare" in graph.node_columns.model_fields_set
            how = how if stated else how.model_copy(update={"declare": True})
            shown[role] = f"{file}: an id on each line, which is a vertex (node_columns.declare){why}"
            continue
        if not file or not (looked := _look(file, graph)):
            continue
        if before and (key := _difference(before, looked)):
            raise BadInput(file, f"has another {key} than {graph.coordinates}, and node_columns states one; write both alike")
        before, kinds = looked, looked.sample.kinds
        how = NodeColumns.model_validate({**how.model_dump(exclude_unset=True), **looked.written})
        own = wanted or (("x", "y") if file == graph.coordinates else ())
        roles = names_of(columns_of(file, looked.sample.names, how, own), own)
        if why and any(kinds[roles[axis]] not in _NUMBERS for axis in own):
            raise BadInput(file, "has no numbers for coordinates")
        others = {name: kind for name, kind in kinds.items() if name not in roles.values()}
        joined = ", ".join(f"{name} ({kind})" for name, kind in others.items())
        shown[role] = f"{file}: {', '.join(f'{one} {name}' for one, name in roles.items())}{why}"
        if role == "nodes":
            shown[role] += f"; joined to table vertices: {joined}" if joined else ""
            placed = {*LONGITUDES, *LATITUDES}
            sums = tuple(name for name, kind in others.items() if kind in _NUMBERS and name.lower() not in placed)
        elif joined and not graph.nodes:
            shown[role] += f"; not read: {joined}, which --nodes {file} joins to table vertices"
    return Beside(graph.model_copy(update={"node_columns": how}), shown, sums)


def _difference(one: _Looked, other: _Looked) -> str | None:
    """What is not the same in two texts, and cannot be stated for each."""
    if one.delimiter != other.delimiter:
        return "delimiter"
    return "encoding" if one.encoding != other.encoding and not (one.is_ascii or other.is_ascii) else None


def _look(file: str, graph: GraphConfig) -> _Looked | None:
    """The first rows of a table; None if it is not a table with a header, or cannot be read in place."""
    how = graph.node_columns
    with stored(locate(file)) as content:
        stream = chunks(content, graph.limits)
        head = next(stream, b"")
        if begins_parquet(head, file):
            local = content.source.local if is_plain(content) else None
            return _Looked(columns.of_parquet(local, file), {}, how.delimiter, how.encoding, True) if local else None
        if by_name(file) not in TABLES:
            return None
        encoding = how.encoding or encoding_of(head[: graph.limits.header])
        text = Text(file, as_utf8(file, iter([head]), encoding) if encoding else iter([head]), graph.limits)
        sample = columns.of_text(text.head, by_name(file) == "tsv")
    form, delimiter = sample.written.form, how.delimiter or sample.delimiter
    keys = {
        "delimiter": delimiter, "encoding": encoding, "decimal": form.decimal, "thousands": form.thousands or None,
        "null": tuple(sorted(form.nulls)),
    }  # fmt: skip
    usual = NodeColumns.model_fields
    written = {key: value for key, value in keys.items() if key not in how.model_fields_set and value != usual[key].default}
    return _Looked(sample, written, delimiter, encoding, head.isascii())
