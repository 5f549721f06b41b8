"""CSV and TSV. Columns are found by the names in the header line or, without one, by number; other columns are ignored."""

from functools import partial

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.ingest.formats.columns import check_count, choose
from pipeline.ingest.formats.format import EdgeList, Head, TextFormat
from pipeline.ingest.formats.rows import Field, Rows, split_quoted, tables
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
    rows = Rows(tuple(_field(roles.get(name), weight, number) for number, name in enumerate(found)), delimiter=delimiter)
    edges = tables(text, rows, graph.limits.edges)
    return EdgeList(edges, weight if chosen.weighted else None, columns=chosen)


def _field(role: str | None, weight: pa.DataType, number: int) -> Field:
    if role is None:
        return Field(f"column {number}")
    return Field("weight", weight, decimals=True) if role == "weight" else Field(role, pa.int64())


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


_OPTIONS = frozenset({"columns", "header", "delimiter"})
CSV = TextFormat("csv", partial(read, delimiter=","), ("csv",), partial(_matches, delimiter=","), _OPTIONS)
TSV = TextFormat("tsv", partial(read, delimiter="\t"), ("tsv",), partial(_matches, delimiter="\t"), _OPTIONS)
