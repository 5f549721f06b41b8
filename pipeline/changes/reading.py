"""A file of changes: columns `op`, `src`, `dst` and, if the graph has weights, `weight`; Parquet, CSV or TSV."""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from kernels.graph import Array
from pipeline.config.graph import GraphConfig, Limits
from pipeline.config.model import LARGEST
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks
from pipeline.ingest.formats.parquet import reading, require_ratio
from pipeline.ingest.source import Source, stored

DELETE, INSERT, UPDATE = range(3)
OPERATIONS = ("delete", "insert", "update")  # by their number
_MAGIC = b"PAR1"
_ROW_BYTES = 32  # of a change in memory


@dataclass(frozen=True)
class Listed:
    """The rows of a file of changes, in its order."""

    file: str
    first_row: int  # what messages call its first row
    ops: Array  # uint8 [C]: DELETE, INSERT or UPDATE
    src: pa.Array  # int64 [C], or large_string where the graph's ids are strings
    dst: pa.Array
    weights: Array | None  # int64 or float64 [C]; 0 where nothing is put; None where the graph has no weights

    def bad(self, row: int, reason: str) -> BadInput:
        """The error for a row, by its number in the file from 0."""
        what = "row" if self.first_row == 0 else "line"
        return BadInput(self.file, f"{what} {self.first_row + row}: {reason}")

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
    with stored(source) as content:
        is_parquet = content.peek(len(_MAGIC)) == _MAGIC
        data = b"".join(chunks(content, graph.limits))
        is_parquet = is_parquet or data[: len(_MAGIC)] == _MAGIC
        content.check(digest, None)
    delimiter = graph.delimiter or _delimiter(source.url)
    table = _parquet(data, source.url, graph.limits) if is_parquet else _text(data, source.url, delimiter)
    if len(table) > graph.limits.edges:
        raise BadInput(source.url, f"holds {len(table)} rows, the limit is {graph.limits.edges} (graph.limits.edges)")
    return _listed(table, source.url, 0 if is_parquet else 2, weight, named)


def _delimiter(url: str) -> str:
    return "\t" if ".tsv" in Path(url).suffixes else ","


def _parquet(data: bytes, file: str, limits: Limits) -> pa.Table:
    with reading(file):
        rows = pq.read_metadata(BytesIO(data)).num_rows
        require_ratio(file, len(data), _ROW_BYTES * rows, limits)
        return pq.read_table(BytesIO(data), page_checksum_verification=True)


def _text(data: bytes, file: str, delimiter: str) -> pa.Table:
    head = data[: data.find(b"\n") + 1 or len(data)].decode("utf-8", "replace")
    names = [name.strip().strip('"') for name in head.strip().split(delimiter)]
    try:
        return csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=names, skip_rows=1),
            csv.ParseOptions(delimiter=delimiter),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True),
        )
    except pa.ArrowInvalid as error:
        raise BadInput(file, f"is not a table of changes: {error}") from None


def _listed(table: pa.Table, file: str, first_row: int, weight: str | None, named: bool) -> Listed:
    wanted = ["op", "src", "dst", *(["weight"] if weight else [])]
    for name in wanted[:3]:
        if table.column_names.count(name) != 1:
            raise BadInput(file, f"has no column {name!r} among {table.column_names}: a file of changes has {', '.join(wanted)}")
    listed = Listed(file, first_row, np.empty(0, np.uint8), pa.array([]), pa.array([]), None)
    ops = _whole(table["op"].cast(pa.string()))
    numbers = pc.index_in(ops, pa.array(OPERATIONS))
    _require(listed, pc.is_valid(numbers), lambda row: f"op {ops[row].as_py()!r} is none of {', '.join(OPERATIONS)}")
    src, dst = (_ids(listed, _whole(table[name]), name, named) for name in ("src", "dst"))
    found = numbers.to_numpy().astype(np.uint8)
    weights = _weights(listed, table, found, pa.type_for_alias(weight)) if weight else None
    return Listed(file, first_row, found, src, dst, weights)


def _ids(listed: Listed, column: pa.Array, name: str, named: bool) -> pa.Array:
    _require(listed, pc.is_valid(column), lambda _: f"{name} is null")
    if named:
        return column.cast(pa.large_string())
    numbers = _numbers(listed, column, name, pa.int64())
    _require(listed, pc.greater_equal(numbers, 0), lambda row: f"{name} {numbers[row]} is not in 0..{LARGEST}")
    return numbers


def _weights(listed: Listed, table: pa.Table, ops: Array, kind: pa.DataType) -> Array:
    """The weights of what is inserted or updated, as int64 or float64; that of a deletion is not read."""
    puts = ops != DELETE
    column = _whole(table["weight"]) if "weight" in table.column_names else pa.nulls(len(ops), pa.int64())
    _require(listed, pc.or_(pc.is_valid(column), pa.array(~puts)), lambda _: "weight is missing")
    column = pc.if_else(pa.array(puts), column, pa.scalar("0" if pa.types.is_string(column.type) else 0, column.type))
    wide = pa.float64() if pa.types.is_floating(kind) else pa.int64()
    found: Array = _numbers(listed, column, "weight", wide).to_numpy() + 0
    fits = np.isfinite(found) & (found >= 0)
    _require(listed, pa.array(fits), lambda row: f"weight {found[row]} is not 0 or more, and finite")
    return found


def _numbers(listed: Listed, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        for row, value in enumerate(column):  # only to name the first wrong one
            try:
                value.cast(kind)
            except pa.ArrowInvalid:
                what = "an integer of 64 bits" if pa.types.is_integer(kind) else "a number"
                raise listed.bad(row, f"{name} {str(value.as_py())[:80]!r} is not {what}") from None
        raise


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _require(listed: Listed, holds: pa.Array, reason: Callable[[int], str]) -> None:
    wrong = pc.index(holds.fill_null(False), pa.scalar(False)).as_py() if len(holds) else -1
    if wrong >= 0:
        raise listed.bad(wrong, reason(wrong))
