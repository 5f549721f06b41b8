"""Look at the tables of nodes and coordinates beside a graph: how they are written, and which columns may be summed."""

from collections.abc import Mapping
from dataclasses import dataclass

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
from pipeline.ingest.node_columns import columns_of, is_list
from pipeline.ingest.source import locate, stored
from pipeline.ingest.values.encodings import as_utf8


@dataclass(frozen=True)
class Beside:
    """What the tables show: how they are written, their columns in words by `coordinates` and `nodes`, and those of numbers."""

    columns: NodeColumns
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


def look_beside(graph: GraphConfig) -> Beside:
    """Look at the first rows of the tables that `graph` names. Keys that it states are not guessed. Raises BadInput."""
    how, shown, sums = graph.node_columns, dict[str, str](), tuple[str, ...]()
    before: _Looked | None = None
    for role, file, wanted in (("coordinates", graph.coordinates, ("x", "y")), ("nodes", graph.nodes, ())):
        if file and role == "nodes" and is_list(file):
            stated = "declare" in graph.node_columns.model_fields_set
            how = how if stated else how.model_copy(update={"declare": True})
            shown[role] = f"{file}: an id on each line, which is a vertex (node_columns.declare)"
            continue
        if not file or not (looked := _look(file, graph)):
            continue
        if before and (key := _difference(before, looked)):
            raise BadInput(file, f"has another {key} than {graph.coordinates}, and node_columns states one; write both alike")
        before = looked
        how = NodeColumns.model_validate({**how.model_dump(exclude_unset=True), **looked.written})
        columns_there = columns_of(file, looked.sample.names, how, wanted)
        roles = {one: str(getattr(columns_there, one)) for one in ("vertex", *wanted)}
        others = {name: kind for name, kind in looked.sample.kinds.items() if name not in roles.values()}
        shown[role] = f"{file}: {', '.join(f'{one} {name}' for one, name in roles.items())}"
        if role == "nodes":
            joined = ", ".join(f"{name} ({kind})" for name, kind in others.items())
            shown[role] += f"; joined to table vertices: {joined}" if joined else ""
            placed = {*LONGITUDES, *LATITUDES}
            sums = tuple(name for name, kind in others.items() if kind in ("integer", "number") and name.lower() not in placed)
    return Beside(how, shown, sums)


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
