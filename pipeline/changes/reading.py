"""A file of changes: columns `op`, `src`, `dst` and, if the graph has weights, `weight`; Parquet, CSV or TSV as the source."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.changes.columns import ROLES, columns_of
from pipeline.changes.rows import DELETE, OPERATIONS, ChangeRows, Line
from pipeline.changes.travel_times import times_of_changes
from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks, is_plain, saved
from pipeline.ingest.fields import Field
from pipeline.ingest.formats.delimited import header_names
from pipeline.ingest.formats.format import check_count
from pipeline.ingest.formats.parquet import begins_parquet, read_columns, reading, require_ratio
from pipeline.ingest.formats.parquet.footer import open_file
from pipeline.ingest.formats.parquet.rows import NAME, column_as, id_type, in_range, weight_type
from pipeline.ingest.formats.parquet.types import is_text
from pipeline.ingest.formats.rows import LineLayout
from pipeline.ingest.formats.text import Block, Text, line_of, parse
from pipeline.ingest.nodes import delimiter_of
from pipeline.ingest.source import Source, stored
from pipeline.ingest.values.encodings import as_utf8
from pipeline.ingest.values.numbers import USUAL, NumberForm
from pipeline.runtime.threads import map_in_order

_TYPE = ", the type of this graph's weights; for others run the changed source"
_INTEGERS = ", but the weights of this graph are integers; for others run the changed source"
_EXACT = 2**53  # up to which a double is one integer and no other
_ROW_BYTES = 32  # of a change in memory


def read_changes(source: Source, digest: str | None, graph: GraphConfig, weight: str | None, named: bool) -> ChangeRows:
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
        if begins_parquet(text.head, url):
            with saved(local, text.chunks) as path:
                table, line = _parquet(path, url, graph, weight is not None, named), None
        else:
            if graph.encoding:
                text = Text(url, as_utf8(url, text.chunks, graph.encoding), limits)
            table, line = _text(text, _kinds(weight, named), graph)
        content.check(digest, None)
    if len(table) > limits.edges:
        raise BadInput(url, f"holds {len(table)} rows, the limit is {limits.edges} (graph.limits.edges)")
    return _listed(table, url, line, weight, graph)


def _kinds(weight: str | None, named: bool) -> dict[str, pa.DataType]:
    """The types as which the columns of a text file are read; the weight of a deletion may be empty."""
    ids = pa.large_string() if named else pa.int64()
    weights = dict.fromkeys(("weight", "speed"), pa.large_string()) if weight else {}
    return {"op": pa.large_string(), "src": ids, "dst": ids} | weights


def _parquet(path: Path, file: str, graph: GraphConfig, weighted: bool, named: bool) -> pa.Table:
    limits = graph.limits
    with reading(file), open_file(path, file, limits) as parquet:
        schema = parquet.schema_arrow
        check_count(file, parquet.metadata.num_columns, limits)
        names = columns_of(file, schema.names, graph)
        if not weighted:
            names = {role: names[role] for role in ROLES[:3]}
        op, *ends = (schema.field(names[role]) for role in ROLES[:3])
        for end in ends:
            if ((ids := id_type(file, [end], graph.ids)) == NAME) != named:
                wanted = "strings" if named else "integers"
                raise BadInput(file, f"column {end.name!r} is {end.type}, but the ids of this graph are {wanted}")
        if not is_text(op.type):
            raise BadInput(file, f"column 'op' is {op.type}, not string; write it as one")
        if "weight" in names and not pa.types.is_null(schema.field(names["weight"]).type):
            weight_type(file, schema.field(names["weight"]))
        if "speed" in names and not _is_text_or_number(schema.field(names["speed"]).type):
            raise BadInput(file, f"column {names['speed']!r} is {schema.field(names['speed']).type}, not texts or numbers")
        require_ratio(file, path.stat().st_size, _ROW_BYTES * parquet.metadata.num_rows, limits)
        table, kinds = read_columns(path, parquet, [*names.values()], limits), {"op": NAME, "src": ids, "dst": ids}
        return pa.table({
            role: column_as(file, table[name], name, kinds[role]) if role in kinds else table[name]
            for role, name in names.items()
        })  # fmt: skip


def _is_text_or_number(kind: pa.DataType) -> bool:
    return bool(is_text(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _text(text: Text, kinds: Mapping[str, pa.DataType], graph: GraphConfig) -> tuple[pa.Table, Line]:
    delimiter, form = graph.delimiter or delimiter_of(text.file), NumberForm.of(graph)
    present = header_names(text.file, text.header(delimiter=delimiter), delimiter, text.line)
    check_count(text.file, len(present), graph.limits, text.line)
    roles = {name: role for role, name in columns_of(text.file, present, graph).items() if role in kinds}
    fields = {role: Field(role, kinds[role], optional=role in ("weight", "speed")) for role in roles.values()}
    fields |= {end: replace(fields[end], is_id=True, form=form) for end in ("src", "dst")}
    others = (fields[roles[name]] if name in roles else Field(f"column {number}") for number, name in enumerate(present, 1))
    rows = LineLayout(tuple(others), delimiter=delimiter)

    def read(block: Block) -> tuple[Block, pa.Table]:
        return block, parse(text.file, block, rows.tidy, rows.read, rows.explain)

    parts = list(map_in_order(read, text.blocks(), cores()))

    def line(row: int) -> int:
        for block, table in parts:
            if row < len(table):
                return line_of(block, rows.tidy, lambda _line: 1, row)
            row -= len(table)
        raise AssertionError("the row is in a block")

    empty = pa.schema([(field.name, field.type) for field in rows.named]).empty_table()
    return pa.concat_tables([empty, *(table for _, table in parts)]), line


def _listed(table: pa.Table, file: str, line: Line | None, weight: str | None, graph: GraphConfig) -> ChangeRows:
    ops, src, dst = (_whole(table[role]) for role in ROLES[:3])
    src, dst = (ids if is_text(ids.type) else ids.cast(pa.int64()) for ids in (src, dst))
    numbers = pc.index_in(ops, pa.array(OPERATIONS, ops.type))
    listed = ChangeRows(file, line, np.empty(0, np.uint8), src, dst, None)
    _require(listed, pc.is_valid(numbers), lambda row: f"op {ops[row].as_py()[:40]!r} is not one of {', '.join(OPERATIONS)}")
    operations = numbers.to_numpy().astype(np.uint8)
    if weight and "weight" in table.column_names and (line or "speed" in table.column_names):
        if "speed" in table.column_names:
            plain = times_of_changes(table, operations != DELETE, graph, line is not None, listed.bad)
        else:
            plain = _plain(listed, table["weight"], operations, NumberForm.of(graph))
        table = table.set_column(table.column_names.index("weight"), "weight", plain)
    weights = _weights(listed, table, operations, pa.type_for_alias(weight)) if weight else None
    return replace(listed, ops=operations, weights=weights)


def _plain(listed: ChangeRows, texts: pa.ChunkedArray, ops: Array, form: NumberForm) -> pa.ChunkedArray:
    """The texts of weights as programs write them, empty where one stands for no value, and for deletions."""
    if form == USUAL:
        return texts
    known = pc.if_else(pa.array(ops != DELETE), form.without_nulls(texts), pa.scalar(None, texts.type))
    if not form.is_usual:
        wrong = [text is not None and form.plain(text) is None for text in known.to_pylist()]
        _require(
            listed,
            pc.invert(pa.array(wrong, pa.bool_())),
            lambda row: f"weight {texts[row].as_py()[:40]!r} is not a number {form}",
        )
        known = form.plain_column(known)
    return known.fill_null("")


def _weights(listed: ChangeRows, table: pa.Table, ops: Array, kind: pa.DataType) -> Array:
    """The weights of insertions and updates, as int64 or float64; weights of deletions are ignored."""
    puts, wide = ops != DELETE, pa.float64() if pa.types.is_floating(kind) else pa.int64()
    column = _whole(table["weight"]) if "weight" in table.column_names else pa.nulls(len(ops))
    column = column.cast(wide) if pa.types.is_null(column.type) else column
    is_empty = pc.equal(column, "") if is_text(column.type) else pc.is_null(column)
    _require(listed, pc.invert(pc.and_(is_empty, pa.array(puts))), lambda _: "weight is missing")
    column = pc.if_else(pa.array(puts), column, pa.scalar("0" if is_text(column.type) else 0, column.type))
    if is_text(column.type):
        column = _parsed(listed, column, Field("weight", wide, hint="" if wide == pa.float64() else _INTEGERS))
    if pa.types.is_floating(column.type) and pa.types.is_integer(wide):
        column = _integers(listed.file, column)
    _require(listed, pa.array(in_range(column.to_numpy())), lambda row: f"weight {column[row]} is not 0 or more, and finite")
    weights: Array = column.cast(wide, safe=False).to_numpy()  # large integers are rounded to floats
    own = np.dtype(f"{'f' if pa.types.is_floating(kind) else 'i'}{kind.bit_width // 8}")  # `to_pandas_dtype` imports pandas
    most = np.finfo(own).max if wide == pa.float64() else np.iinfo(own).max
    _require(listed, pa.array(weights <= most), lambda row: f"weight {column[row]} exceeds {most}, the largest {kind}{_TYPE}")
    return weights + 0  # -0.0 becomes 0.0


def _integers(file: str, column: pa.Array) -> pa.Array:
    """Floats as integers: pandas writes a column of integers as floats if one is missing. Raises BadInput for decimals."""
    values = column.to_numpy()
    if not ((values == np.floor(values)) & (np.abs(values) <= _EXACT)).all():
        raise BadInput(file, f"column 'weight' is {column.type}{_INTEGERS}")
    return column.cast(pa.int64())


def _parsed(listed: ChangeRows, texts: pa.Array, field: Field) -> pa.Array:
    """The numbers in some texts, by the rules for the text of a source."""
    rows, lines = LineLayout((field,)), [text.encode() for text in texts.to_pylist()]
    read = rows.read(b"".join(line.strip() + b"\n" for line in lines))
    if read is None:
        row, fault = next((row, fault) for row, line in enumerate(lines) if (fault := rows.explain(line.strip())))
        raise listed.bad(row, fault.reason)
    return _whole(read[field.name])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _require(listed: ChangeRows, holds: pa.Array, reason: Callable[[int], str]) -> None:
    wrong = pc.index(holds.fill_null(False), pa.scalar(False)).as_py() if len(holds) else -1
    if wrong >= 0:
        raise listed.bad(wrong, reason(wrong))
