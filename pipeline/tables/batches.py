"""The conversion between columns as arrays and the rows of a table, and rows in groups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import over_items
from kernels.decimals import in_decimals
from kernels.graph import Array
from pipeline.errors import ProofFailed
from pipeline.runtime.backend import Backend, empty_array, fetch, overwrite
from pipeline.store.arrays import dtype_of
from pipeline.tables import files as tables

NO_ID = -1  # in a column of external ids, or of distances: null


def as_batch(columns: Sequence[Array], schema: pa.Schema, decimals: int | None = None) -> pa.RecordBatch:
    """Columns as the rows of a table; in a nullable column a negative value becomes a null.

    If weights are counted in units of 10^-`decimals`, so are columns of integers that are floats in the table.
    """
    arrays = []
    for field, column in zip(schema, map(fetch, columns), strict=True):
        if isinstance(column, pa.Array):  # lists
            arrays.append(column.cast(field.type))
            continue
        in_units = pa.types.is_floating(field.type) and column.dtype.kind == "i"
        values = column if decimals is None or not in_units else in_decimals(column, decimals)
        mask = values < 0 if field.nullable else None
        arrays.append(pa.array(values.astype(dtype_of(field.type), copy=False), field.type, mask=mask))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def with_arrays(answer: Any, convert: Callable[[Array], Array]) -> Any:
    """An answer, a dataclass or an array, with its arrays converted."""
    if hasattr(answer, "dtype"):
        return convert(answer)
    parts = {field.name: getattr(answer, field.name) for field in fields(answer)}
    return replace(answer, **{name: convert(array) for name, array in parts.items() if hasattr(array, "dtype")})


def in_groups(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of `ROWS_PER_GROUP`; the last one may have fewer."""
    waiting: list[pa.Table] = []
    for table in parts:
        waiting.append(table)
        while sum(map(len, waiting)) >= tables.ROWS_PER_GROUP:
            joined = pa.concat_tables(waiting)
            yield joined[: tables.ROWS_PER_GROUP]
            waiting = [joined[tables.ROWS_PER_GROUP :]]
    if any(map(len, waiting)):
        yield pa.concat_tables(waiting)


def read_column(folder: Path, name: str, backend: Backend) -> Array:
    """A column of a table, as `as_arrays`, where the backend computes: each row group is copied there when it is read."""
    footers = {path: pq.read_metadata(path) for path in tables.files(folder)}
    groups = [(path, group) for path, footer in footers.items() for group in range(footer.num_row_groups)]
    ends = list(accumulate(footers[path].row_group(group).num_rows for path, group in groups))
    kind = next(iter(footers.values())).schema.to_arrow_schema().field(name).type
    array = empty_array(ends[-1] if ends else 0, dtype_of(kind), backend)

    def copy(path: Path, group: int, end: int) -> None:
        rows = tables.read_group(path, group, [name], footers[path])
        overwrite(array[end - len(rows) : end], *as_arrays(rows))

    over_items(zip(groups, ends, strict=True), lambda each: copy(*each[0], each[1]))
    return array


def as_arrays(table: pa.Table) -> list[Array]:
    """Columns of a table, -1 for a null, on all cores. Raises ProofFailed where a nullable column has a negative value."""
    return [_as_array(field, column) for field, column in zip(table.schema, table.columns, strict=True)]


def _as_array(field: pa.Field, column: pa.ChunkedArray) -> Array:
    if column.num_chunks < 2:
        return _of_chunk(field, column)
    array = np.empty(len(column), dtype_of(field.type))
    ends = accumulate(map(len, column.chunks))

    def copy(chunk: pa.Array, end: int) -> None:
        array[end - len(chunk) : end] = _of_chunk(field, pa.chunked_array([chunk]))

    over_items(zip(column.chunks, ends, strict=True), lambda each: copy(*each))
    return array


def _of_chunk(field: pa.Field, column: pa.ChunkedArray) -> Array:
    array: Array = (column.fill_null(pa.scalar(NO_ID, field.type)) if field.nullable else column).to_numpy()
    if field.nullable and int(np.count_nonzero(array < 0)) != column.null_count:
        raise ProofFailed(f"column {field.name} has a negative value")
    return array.astype(dtype_of(field.type), copy=False)
