"""A file of changes: columns `op`, `src`, `dst` and, if the graph has weights, `weight`; Parquet, CSV or TSV."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.config.graph import GraphConfig, Limits
from pipeline.config.model import LARGEST
from pipeline.errors import BadInput
from pipeline.ingest import saved
from pipeline.ingest.decompress import chunks, is_plain
from pipeline.ingest.formats.columns import check_count
from pipeline.ingest.formats.delimited import header_names
from pipeline.ingest.formats.pages import Footer, check_rows, open_file
from pipeline.ingest.formats.parquet import FORMAT, in_range, is_text, reading, require_ratio
from pipeline.ingest.formats.rows import Field, Rows
from pipeline.ingest.formats.text import Block, Text, line_of, parse
from pipeline.ingest.nodes import delimiter_of
from pipeline.ingest.source import Source, stored
from pipeline.runtime.threads import map_in_order

DELETE, INSERT, UPDATE = range(3)
OPERATIONS = ("delete", "insert", "update")  # by their number
_NAMES = ("op", "src", "dst", "weight")
_ROW_BYTES = 32  # of a change in memory
Line = Callable[[int], int]  # the line of a row of a text, both counted from its begin; rows from 0


@dataclass(frozen=True)
class Listed:
    """The rows of a file of changes, in its order."""

    file: str
    line: Line | None  # None for Parquet
    ops: Array  # uint8 [C]: DELETE, INSERT or UPDATE
    src: pa.Array  # int64 [C], or large_string where the graph's ids are strings
    dst: pa.Array
    weights: Array | None  # int64 or float64 [C]; 0 where nothing is put; None where the graph has no weights

    def inserted(self) -> pa.Array:
        """The strings of the ends of insertions, which may be new names."""
        kept = pa.array(self.ops == INSERT)
        return pa.concat_arrays([self.src.filter(kept), self.dst.filter(kept)])

    def bad(self, row: int, reason: str) -> BadInput:
        """The error for a row, by its number in the file from 0."""
        if self.line:
            return BadInput(self.file, reason, self.line(row))
        return BadInput(self.file, f"row {row}: {reason}")

    def shown(self, row: int) -> str:
        """What a row says."""
        return f"{OPERATIONS[self.ops[row]]} {self.src[row].as_py()} -> {self.dst[row].as_py()}"


def read_changes(source: Source, digest: str | None, graph: GraphConfig, weight: str | None, named: bool) -> Listed:
    """Read a file of changes.

    Args:
        digest: Of a local file, which must still be the same at the end.
        weight: Arrow's type of the graph's weights, or None: then a column `weight` is not read.
        named: Whether the graph's ids are strings.

    Raises:
        BadInput: The file is not one of changes, a value in it is not what its column has, or a limit is exceeded.
    """
    url, limits = source.url, graph.limits
    with stored(source) as content:
        local = source.local if is_plain(content) else None
        text = Text(url, chunks(content, limits), limits)
        if text.head.startswith(FORMAT.magic):
            with tempfile.TemporaryDirectory() as folder, saved(local, text.chunks, Path(folder)) as path:
                table, line = _parquet(path, url, limits, weight is not None), None
        else:
            table, line = _text(text, _kinds(weight, named), graph.delimiter or delimiter_of(url), limits)
        content.check(digest, None)
    if len(table) > limits.edges:
        raise BadInput(url, f"holds {len(table)} rows, the limit is {limits.edges} (graph.limits.edges)")
    return _listed(table, url, line, weight, named)


def _kinds(weight: str | None, named: bool) -> dict[str, pa.DataType]:
    """The types in which the columns of a text are read; the weight of a deletion may be empty."""
    ids = pa.large_string() if named else pa.int64()
    return {"op": pa.large_string(), "src": ids, "dst": ids} | ({"weight": pa.large_string()} if weight else {})


def _parquet(path: Path, file: str, limits: Limits, weighted: bool) -> pa.Table:
    with reading(file), open_file(path, file, limits) as parquet:
        check_count(file, parquet.metadata.num_columns, limits)
        _require_columns(file, parquet.schema_arrow.names)
        names = [name for name in _NAMES[: 3 + weighted] if name in parquet.schema_arrow.names]
        require_ratio(file, path.stat().st_size, _ROW_BYTES * parquet.metadata.num_rows, limits)
        Footer(path, parquet.schema, names, limits).check_all_pages()
        table = parquet.read(names)
        check_rows(len(table), parquet.metadata.num_rows, 0)
        return table


def _text(text: Text, kinds: Mapping[str, pa.DataType], delimiter: str, limits: Limits) -> tuple[pa.Table, Line]:
    names = header_names(text.header(), delimiter)
    check_count(text.file, len(names), limits, text.line)
    _require_columns(text.file, names)
    rows = Rows(tuple(Field(name, kinds.get(name), optional=name == "weight") for name in names), delimiter=delimiter)

    def read(block: Block) -> tuple[Block, pa.Table]:
        return block, parse(text.file, block, rows.tidy, rows.read, rows.explain)

    parts = list(map_in_order(read, text.blocks(), cores()))

    def line(row: int) -> int:
        for block, table in parts:
            if row < len(table):
                return line_of(block, rows.tidy, lambda _line: 1, row)
            row -= len(table)
        raise AssertionError("the row is in a block")

    empty = pa.schema([(name, kinds[name]) for name in names if name in kinds]).empty_table()
    return pa.concat_tables([empty, *(table for _, table in parts)]), line


def _require_columns(file: str, names: Sequence[str]) -> None:
    for name in _NAMES:
        if names.count(name) > 1 or (name != "weight" and name not in names):
            found = ", ".join(map(repr, names))[:200]
            raise BadInput(file, f"no column {name!r}, or several, among {found}: a file of changes has {', '.join(_NAMES)}")


def _listed(table: pa.Table, file: str, line: Line | None, weight: str | None, named: bool) -> Listed:
    listed = Listed(file, line, np.empty(0, np.uint8), pa.array([]), pa.array([]), None)
    ops = _whole(table["op"].cast(pa.string()))
    numbers = pc.index_in(ops, pa.array(OPERATIONS))
    _require(listed, pc.is_valid(numbers), lambda row: f"op {ops[row].as_py()!r} is none of {', '.join(OPERATIONS)}")
    src, dst = (_ids(listed, _whole(table[name]), name, named) for name in ("src", "dst"))
    found = numbers.to_numpy().astype(np.uint8)
    weights = _weights(listed, table, found, pa.type_for_alias(weight)) if weight else None
    return Listed(file, line, found, src, dst, weights)


def _ids(listed: Listed, column: pa.Array, name: str, named: bool) -> pa.Array:
    _require(listed, pc.is_valid(column), lambda _: f"{name} is null")
    if is_text(column.type) and named:
        return column.cast(pa.large_string())
    if named or not pa.types.is_integer(column.type):
        wanted = "strings" if named else "integers"
        raise BadInput(listed.file, f"column {name!r} is {column.type}, but the ids of this graph are {wanted}")
    _require(listed, pa.array(in_range(column.to_numpy())), lambda row: f"{name} {column[row]} is not in 0..{LARGEST}")
    return column.cast(pa.int64())


def _weights(listed: Listed, table: pa.Table, ops: Array, kind: pa.DataType) -> Array:
    """The weights of what is inserted or updated, as int64 or float64; that of a deletion is not read."""
    puts, wide = ops != DELETE, pa.float64() if pa.types.is_floating(kind) else pa.int64()
    column = _whole(table["weight"]) if "weight" in table.column_names else pa.nulls(len(ops), wide)
    is_empty = pc.equal(column, "") if is_text(column.type) else pc.is_null(column)
    _require(listed, pc.invert(pc.and_(is_empty, pa.array(puts))), lambda _: "weight is missing")
    column = pc.if_else(pa.array(puts), column, pa.scalar("0" if is_text(column.type) else 0, column.type))
    if is_text(column.type):
        column = _parsed(listed, column, Field("weight", wide))
    if pa.types.is_floating(column.type) and pa.types.is_integer(wide):
        raise BadInput(listed.file, f"column 'weight' is {column.type}, but the weights of this graph are integers")
    _require(listed, pa.array(in_range(column.to_numpy())), lambda row: f"weight {column[row]} is not 0 or more, and finite")
    weights: Array = column.cast(wide).to_numpy()
    return weights + 0  # -0.0 becomes 0.0


def _parsed(listed: Listed, texts: pa.Array, field: Field) -> pa.Array:
    """The numbers that texts say, by the rules of a source's text."""
    rows, lines = Rows((field,)), [text.encode() for text in texts.to_pylist()]
    read = rows.read(b"".join(line.strip() + b"\n" for line in lines))
    if read is None:
        row, reason = next((row, reason) for row, line in enumerate(lines) if (reason := rows.explain(line.strip())))
        raise listed.bad(row, reason)
    return _whole(read[field.name])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _require(listed: Listed, holds: pa.Array, reason: Callable[[int], str]) -> None:
    wrong = pc.index(holds.fill_null(False), pa.scalar(False)).as_py() if len(holds) else -1
    if wrong >= 0:
        raise listed.bad(wrong, reason(wrong))
