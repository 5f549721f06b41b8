"""Parquet files: the columns are found by name and streamed; the weight keeps its type.

A few bytes can declare any number of rows, so the declared number is checked against the limits and the pages before a row is
read.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.config.graph import RATIO_FROM, GraphConfig, Limits
from pipeline.config.model import LARGEST, is_utf8
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import HEAD, EdgeList, FileFormat, check_count, choose
from pipeline.ingest.formats.parquet.footer import ENCRYPTED_MAGIC, Footer, check_rows, open_file
from pipeline.ingest.formats.parquet.pages import MAGIC
from pipeline.ingest.formats.parquet.problems import Contradiction, Unreadable
from pipeline.ingest.formats.parquet.schema import ENCRYPTED
from pipeline.ingest.formats.parquet.types import TEXT, is_id, is_text, plain, plain_type
from pipeline.runtime.threads import map_in_order
from pipeline.store.edges import LARGEST_GROUP

BATCH = 2**18  # rows
NAME = TEXT  # the type of ids that are strings
_AS_ONE = "; write it as one"
_DAMAGED = "is not a complete Parquet file, or is damaged"
TypedColumns = dict[str, tuple[str, pa.DataType]]  # a column of the edge list to its name in the file and its type
_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.int64()}


def read(path: Path, file: str, graph: GraphConfig) -> EdgeList:
    """Read a Parquet file at `path`; error messages name it `file`."""
    with reading(file):
        parquet = open_file(path, file, graph.limits)
        check_count(file, parquet.metadata.num_columns, graph.limits)
        schema = parquet.schema_arrow
        columns = choose(file, schema.names, graph.columns)
        names = [*columns.names.values()]
        weight = weight_type(file, schema.field(columns.names["weight"])) if columns.weighted else None
        ends = [schema.field(columns.names[end]) for end in ("src", "dst") if end in columns.names]
        ids = id_type(file, ends, graph.ids)
        _check_size(file, path.stat().st_size, parquet.metadata, schema, names, graph)
        footer = Footer(path, parquet.schema, names, graph.limits)
    types = {"src": ids, "dst": ids, "weight": weight}
    chosen = {role: (name, types[role]) for role, name in columns.names.items()}
    metadata = parquet.metadata
    small = all(metadata.row_group(number).num_rows <= LARGEST_GROUP for number in range(metadata.num_row_groups))
    as_used = all(kind == plain_type(kind) for kind in (schema.field(name).type for name in names))
    return EdgeList(
        _tables(path, parquet, file, chosen, footer), weight, rows=metadata.num_rows,
        largest={name: footer.largest[of] for name, (of, _) in chosen.items() if of in footer.largest},
        columns=columns, named=ids == NAME, rereadable=small and as_used and ids != NAME,
    )  # fmt: skip


def id_type(file: str, ends: Sequence[pa.Field], ids: str) -> pa.DataType:
    """The type of two columns of ids, NAME or int64, if the configuration states `ids`. Raises BadInput."""
    texts = [is_text(field.type) for field in ends]
    for field, text in zip(ends, texts, strict=True):
        if not is_id(field.type) or (text and ids == "integer"):
            wanted = f"not an integer type{'' if text else ' or string'}"
            raise BadInput(file, f"column {field.name!r} is {field.type}, {wanted}{_AS_ONE}")
    if ids != "string" and len(set(texts)) > 1:
        kinds = " and ".join(f"{field.name!r} is {field.type}" for field in ends)
        raise BadInput(file, f'column {kinds}; ids = "string" below [graph] reads both as strings')
    return NAME if ids == "string" or any(texts) else pa.int64()


def is_parquet(path: Path, file: str) -> bool:
    """Whether the file at `path` begins as a Parquet file does. Raises BadInput if it is encrypted."""
    with path.open("rb") as content:
        return begins_parquet(content.read(HEAD), file)


def begins_parquet(head: bytes, file: str) -> bool:
    """Whether these HEAD bytes are the first ones of a Parquet file. Raises BadInput if it is encrypted."""
    if head.startswith(ENCRYPTED_MAGIC) and b"\0" in head:  # not a text whose first word is PARENT
        raise BadInput(file, ENCRYPTED)
    return FORMAT.matches(head)


def weight_type(file: str, field: pa.Field) -> pa.DataType:
    """The type of weights that a column has. Raises BadInput."""
    kind = plain_type(field.type)
    if pa.types.is_integer(kind) or kind in (pa.float32(), pa.float64()):
        return _SIGNED.get(kind, kind)
    raise BadInput(file, f"column {field.name!r} is {field.type}; a weight must be an integer, float or double{_AS_ONE}")


def _check_size(file: str, size: int, metadata: pq.FileMetaData, schema: pa.Schema, names: list[str], graph: GraphConfig) -> None:
    limits = graph.limits
    if metadata.num_rows > limits.edges:
        raise BadInput(file, f"holds {metadata.num_rows} rows, the limit is {limits.edges} edges (graph.limits.edges)")
    expanded = metadata.num_rows * sum(width_of(schema.field(name).type) for name in names)
    if expanded > limits.bytes:
        raise BadInput(file, f"its rows take {expanded} bytes, the limit is {limits.bytes} (graph.limits.bytes)")
    require_ratio(file, size, expanded, limits)


def require_ratio(file: str, size: int, expanded: int, limits: Limits) -> None:
    """Raise BadInput if the rows take too many times the `size` of the file; a few bytes can declare any number."""
    if expanded > RATIO_FROM and expanded > limits.ratio * size:
        times = f"more than {limits.ratio:g} times the file's {size}"
        raise BadInput(file, f"its rows take {expanded} bytes, {times}, the limit (graph.limits.ratio)")


def width_of(kind: pa.DataType) -> int:
    """Bytes of a value, at least one; 8 for a string, which becomes a number, and for other values of varying size."""
    kind = plain_type(kind)
    try:
        return 8 if is_text(kind) else max(1, int(kind.bit_width) // 8)
    except ValueError:
        return 8


def _tables(path: Path, parquet: pq.ParquetFile, file: str, columns: TypedColumns, footer: Footer) -> Iterator[pa.Table]:
    """Yield the rows: row groups on all cores, or small batches one after the other if a row group is large."""
    metadata, names = parquet.metadata, [name for name, _ in columns.values()]
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    firsts = accumulate(sizes[:-1], initial=0) if sizes else ()

    def read_group(group: tuple[int, int]) -> pa.Table:
        number, first = group
        with reading(file), pq.ParquetFile(path, metadata=metadata, pre_buffer=False, page_checksum_verification=True) as opened:
            footer.check_pages(number)  # here, because it holds the GIL, which decoding does not
            rows = opened.read_row_group(number, names, use_threads=False)
            return pa.table({name: column_as(file, rows[of], of, kind, first) for name, (of, kind) in columns.items()})

    count = 0
    with parquet, reading(file):
        if max(sizes, default=0) <= LARGEST_GROUP:
            for table in map_in_order(read_group, enumerate(firsts), cores()):
                count += len(table)
                yield table
        else:
            footer.check_all_pages()
            for batch in parquet.iter_batches(BATCH, columns=names):
                yield pa.table({name: column_as(file, batch[of], of, kind, count) for name, (of, kind) in columns.items()})
                count += len(batch)
        check_rows(count, metadata.num_rows, footer.nulls)


def read_columns(path: Path, parquet: pq.ParquetFile, names: Sequence[str], limits: Limits) -> pa.Table:
    """All rows of some columns of an open file, of plain types. Raises Contradiction and Unreadable, or Arrow's errors."""
    footer = Footer(path, parquet.schema, names, limits)
    footer.check_all_pages()
    table = parquet.read([*names]).select([*names])
    table = pa.table({name: plain(table[name]) for name in names})
    check_rows(len(table), parquet.metadata.num_rows, footer.nulls, sum(column.null_count for column in table.columns))
    return table


def require_no_null(file: str, column: pa.Array | pa.ChunkedArray, name: str, first: int = 0) -> None:
    """Raise BadInput for the first null; `first` is the number of the column's first row, from 0."""
    if column.null_count:
        raise BadInput(file, f"row {first + int(np.argmin(column.is_valid()))}: {name} is null")


def require_utf8(file: str, texts: pa.Array | pa.ChunkedArray, name: str, first: int = 0) -> None:
    """Raise BadInput for the first text that is not UTF-8, which Arrow does not check when it reads Parquet."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        values = texts.cast(NAME).cast(pa.large_binary()).to_pylist()
        row = next(row for row, value in enumerate(values) if not is_utf8(value))
        raise BadInput(file, f"row {first + row}: {name} {values[row][:40]!r} is not UTF-8") from None


def column_as(
    file: str, column: pa.Array | pa.ChunkedArray, name: str, kind: pa.DataType, first: int = 0
) -> pa.Array | pa.ChunkedArray:
    """Check a column and cast it to `kind`, or leave narrower integers; `first` is the number of its first row, from 0."""
    column = plain(column)
    require_no_null(file, column, name, first)
    if kind == NAME:
        names = column.cast(kind)
        if len(names) and pc.min(pc.binary_length(names)).as_py() == 0:
            raise BadInput(file, f"row {first + pc.index(names, pa.scalar('', kind)).as_py()}: {name} is empty")
        require_utf8(file, names, name, first)
        return names
    if pa.types.is_integer(kind):
        extremes = pc.min_max(column).as_py()
        if not len(column) or (extremes["min"] >= 0 and extremes["max"] <= LARGEST):
            return column if pa.types.is_signed_integer(column.type) else column.cast(kind)
    values = column.to_numpy()
    if not (fits := in_range(values)).all():
        row = int(np.argmin(fits))
        limit = "0 or more, and finite" if pa.types.is_floating(kind) else f"0..{LARGEST}"
        raise BadInput(file, f"row {first + row}: {name} {values[row]} is not in {limit}")
    return column.cast(kind)


def in_range(values: Array) -> Array:
    """Whether each value can be an id or a weight: not negative, finite, and not beyond int64."""
    fits: Array = (values >= 0) & (np.isfinite(values) if values.dtype.kind == "f" else values <= LARGEST)
    return fits


@contextmanager
def reading(file: str) -> Iterator[None]:
    """Turn Arrow's errors about the content into BadInput; some of them are OSErrors without a number."""
    try:
        yield
    except Unreadable as error:
        raise BadInput(file, str(error)) from error
    except pa.ArrowNotImplementedError as error:
        raise BadInput(file, f"is written in a way that Arrow does not read: {error}") from error
    except (pa.ArrowException, Contradiction) as error:
        raise BadInput(file, f"{_DAMAGED}: {error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(file, f"has a column whose name is not UTF-8: {error.object[:40]!r}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise BadInput(file, f"{_DAMAGED}: {error}") from error


def _matches(head: bytes) -> bool:
    return head.startswith(MAGIC)


FORMAT = FileFormat(read, ("parquet",), _matches, frozenset({"columns", "ids"}), in_parts=True)
