"""CSV and TSV with a header line. Columns are found by name; other columns are ignored."""

from functools import partial

import pyarrow as pa

from pipeline.config.graph import Columns, GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList, Head, TextFormat
from pipeline.ingest.formats.rows import Field, Rows, split_quoted, tables
from pipeline.ingest.formats.text import Text


def read(text: Text, graph: GraphConfig, weight: pa.DataType, delimiter: str) -> EdgeList:
    """Read a table whose fields are separated by `delimiter`."""
    header = text.header()
    check_columns(text.file, header.count(delimiter.encode()) + 1, graph.limits, text.line)
    names = header_names(header, delimiter)
    check_names(text.file, names, graph.columns, text.line)
    columns = graph.columns
    fields = {
        columns.src: Field("src", pa.int64()),
        columns.dst: Field("dst", pa.int64()),
        columns.weight: Field("weight", weight, decimals=True),
    }
    rows = Rows(tuple(fields.get(name, Field(f"column {number}")) for number, name in enumerate(names)), delimiter=delimiter)
    weighted = columns.weight in names
    return EdgeList(tables(text, rows, graph.limits.edges), weight if weighted else None)


def header_names(line: bytes, delimiter: str) -> list[str]:
    """Return the column names of a header line."""
    return [name.strip().decode("utf-8", "replace") for name in split_quoted(line, delimiter)]


def check_columns(file: str, count: int, limits: Limits, line: int | None = None) -> None:
    """Raise BadInput if a file has more columns than the limit."""
    if count > limits.columns:
        raise BadInput(file, f"has {count} columns, the limit is {limits.columns} (graph.limits.columns)", line)


def check_names(file: str, names: list[str], columns: Columns, line: int | None = None) -> None:
    """Raise BadInput if a required column is missing or a name occurs twice."""
    for name in (columns.src, columns.dst, columns.weight):
        if names.count(name) > 1:
            raise BadInput(file, f"{names.count(name)} columns are named {name!r}", line)
        if name not in names and name != columns.weight:
            found = ", ".join(map(repr, names))[:200]
            raise BadInput(file, f"no column {name!r} among {found}; set graph.columns", line)


def _matches(head: Head, delimiter: str) -> bool:
    return bool(head.lines) and {head.columns.src, head.columns.dst} <= set(header_names(head.lines[0], delimiter))


CSV = TextFormat("csv", partial(read, delimiter=","), ("csv",), partial(_matches, delimiter=","))
TSV = TextFormat("tsv", partial(read, delimiter="\t"), ("tsv",), partial(_matches, delimiter="\t"))
