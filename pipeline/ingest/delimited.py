"""CSV and TSV with a header line; the columns are found by name, the others are not read."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from pipeline.config.run import Columns, GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.edge_list import EdgeList
from pipeline.ingest.rows import Field, Rows, split_quoted, tables
from pipeline.ingest.text import Text


def read(text: Text, graph: GraphConfig, weight: pa.DataType, delimiter: str) -> EdgeList:
    """Read a table whose fields `delimiter` separates."""
    names = header_names(text.header(), delimiter)
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


read_csv = partial(read, delimiter=",")
read_tsv = partial(read, delimiter="\t")


def header_names(line: bytes, delimiter: str) -> list[str]:
    """Return the column names of a header line."""
    return [name.strip().decode("utf-8", "replace") for name in split_quoted(line, delimiter)]


def check_names(file: str, names: list[str], columns: Columns, line: int | None = None) -> None:
    """Raise BadInput unless the ends' columns are there, and each once."""
    for name in (columns.src, columns.dst, columns.weight):
        if names.count(name) > 1:
            raise BadInput(file, f"{names.count(name)} columns are named {name!r}", line)
        if name not in names and name != columns.weight:
            found = ", ".join(map(repr, names))[:200]
            raise BadInput(file, f"no column {name!r} among {found}; graph.columns names them", line)
