"""CSV and TSV. Columns are found by the names in the header line or, without one, by number; other columns are ignored."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.ingest.formats.columns import check_count, choose
from pipeline.ingest.formats.format import EdgeList, Head, TextFormat
from pipeline.ingest.formats.rows import INTEGER, Field, Rows, split_quoted, tables
from pipeline.ingest.formats.text import Text


def read(text: Text, graph: GraphConfig, weight: pa.DataType, delimiter: str) -> EdgeList:
    """Read a table whose fields are separated by `delimiter`, unless the configuration names another character."""
    delimiter = graph.delimiter or delimiter
    first = text.header() if graph.header else _peeked(text)
    check_count(text.file, first.count(delimiter.encode()) + 1, graph.limits, text.line)
    found = header_names(first, delimiter)
    if not graph.header:
        found = [str(number) for number, _ in enumerate(found, 1)]
    chosen = choose(text.file, found, graph.columns, text.line or 1, numbered=not graph.header)
    roles = {name: role for role, name in chosen.names.items()}
    places = {role: place for place, name in enumerate(found) if (role := roles.get(name))}
    named = graph.ids == "string" or (graph.ids == "auto" and _has_names(text, places, delimiter))
    types = {"src": pa.large_string() if named else pa.int64(), "weight": weight}
    types["dst"] = types["src"]
    fields = [_field(roles.get(name), types, number) for number, name in enumerate(found)]
    if graph.ids == "auto":
        fields = [replace(field, hint=_HINT) if field.name in ("src", "dst") else field for field in fields]
    edges = tables(text, Rows(tuple(fields), delimiter=delimiter), graph.limits.edges)
    return EdgeList(edges, weight if chosen.weighted else None, columns=chosen, named=named)


_HINT = ", as the ids of the first row are; if ids are strings, say so in graph.ids or with --ids string"


def _field(role: str | None, types: Mapping[str, pa.DataType], number: int) -> Field:
    return Field(role, types[role], decimals=role == "weight") if role else Field(f"column {number}")


def _has_names(text: Text, places: Mapping[str, int], delimiter: str) -> bool:
    """Whether an id in the first row of data is not an integer."""
    lines = (line.strip(b"\r") for line in islice(text.head.split(b"\n"), text.line, None))
    fields = split_quoted(next(filter(None, lines), b""), delimiter)
    ids = (fields[places[end]].strip() for end in ("src", "dst") if places[end] < len(fields))
    return any(not INTEGER.fullmatch(value) for value in ids if value)


def _peeked(text: Text) -> bytes:
    """The first line that is not blank, which is not consumed."""
    while (line := text.peek_line()) == b"":
        text.readline()
    return line or b""


def header_names(line: bytes, delimiter: str) -> list[str]:
    """Return the column names of a header line."""
    return [name.strip().decode("utf-8", "replace") for name in split_quoted(line, delimiter)]


def _matches(head: Head, delimiter: str) -> bool:
    wanted = {head.columns.src or "src", head.columns.dst or "dst"}
    return bool(head.lines) and wanted <= set(header_names(head.lines[0], delimiter))


_OPTIONS = frozenset({"columns", "header", "delimiter", "ids"})
CSV = TextFormat("csv", partial(read, delimiter=","), ("csv",), partial(_matches, delimiter=","), _OPTIONS)
TSV = TextFormat("tsv", partial(read, delimiter="\t"), ("tsv",), partial(_matches, delimiter="\t"), _OPTIONS)
