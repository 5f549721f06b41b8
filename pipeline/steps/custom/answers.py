"""What a user's `solve` returns, as the columns of a table, and back as what `certify` gets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.arrays import is_cupy_array
from kernels.gpu.loader import to_host
from kernels.graph import ID, NO_ROW, Array, Graph
from pipeline.config.custom import KEY, CustomConfig
from pipeline.errors import BadInput
from pipeline.registry.entries import VERTEX as VERTEX_COLUMN
from pipeline.tables.definitions import UNIT

EXACT = 2**53  # up to which a 64-bit float is every integer; NumPy calls it safe to cast any 64-bit integer
VERTEX = "vertex"  # the type of a column whose entries are rows of vertices
Answer = dict[str, Array]  # an array [V] in the order of rows for each column, of NumPy


def schema_of(custom: CustomConfig) -> pa.Schema:
    """The columns of a stage's table: external ids `vertex`, then those of the configuration; vertices may be null."""
    fields = [pa.field(KEY, pa.int64(), nullable=False, metadata={UNIT: VERTEX_COLUMN.unit})]
    for name, kind in custom.columns.items():
        arrow = pa.int64() if kind == VERTEX else pa.type_for_alias(kind)
        fields.append(
            pa.field(name, arrow, nullable=kind == VERTEX, metadata={UNIT: VERTEX_COLUMN.unit} if kind == VERTEX else None)
        )
    return pa.schema(fields)


def checked(returned: Any, custom: CustomConfig, num_vertices: int) -> Answer:
    """What `solve` returned, on the host, each array of its column's type, and all NaN with the same bits.

    Raises BadInput for another set of columns, a value that is not an array of `num_vertices` entries or whose type the column
    cannot hold exactly, and a row that no vertex has.
    """
    if not isinstance(returned, Mapping):
        raise BadInput(custom.file, f"solve returned {type(returned).__name__}, not a dictionary of arrays by their columns")
    if set(returned) != set(custom.columns):
        there, wanted = ", ".join(sorted(map(str, returned))) or "nothing", ", ".join(custom.columns)
        raise BadInput(custom.file, f"solve returned {there}; the columns of {custom.name} are {wanted}")
    return {name: _checked(returned[name], name, kind, custom.file, num_vertices) for name, kind in custom.columns.items()}


def _checked(values: Any, name: str, kind: str, file: str, num_vertices: int) -> Array:
    if not isinstance(values, np.ndarray) and not is_cupy_array(values):
        raise BadInput(file, f"solve returned {type(values).__name__} for {name}, not an array")
    if values.shape != (num_vertices,):
        raise BadInput(
            file, f"solve returned an array of shape {values.shape} for {name}; the graph has {num_vertices:,} vertices"
        )
    if isinstance(values, np.ma.MaskedArray):
        raise BadInput(file, f"solve returned a masked array for {name}; a column has no masked entries")
    wanted = np.dtype("int64" if kind == VERTEX else kind)
    if not np.can_cast(values.dtype, wanted, "safe") or (kind == VERTEX and values.dtype.kind == "b"):
        raise BadInput(file, f"solve returned {values.dtype} for {name}, which a column of type {kind} cannot hold exactly")
    host = to_host(values)
    if wanted.kind == "f" and host.dtype.kind in "iu" and (large := host[(host > EXACT) | (host < -EXACT)]).size:
        raise BadInput(file, f"solve returned {large[0]} for {name}, which a column of type {kind} cannot hold exactly")
    exact: Array = np.ascontiguousarray(host, wanted)
    if wanted.kind == "f":
        exact = np.where(np.isnan(exact), exact.dtype.type(np.nan), exact)  # whose bits depend on the processor
    if kind == VERTEX and (wrong := np.flatnonzero((exact < NO_ROW) | (exact >= num_vertices))).size:
        reason = f"solve returned {exact[wrong[0]]} for {name} of row {wrong[0]}; it must be the row of a vertex, or -1 for none"
        raise BadInput(file, reason)
    return exact


def numbering_of(graph: Graph) -> tuple[Array, Array]:
    """The rows by ascending external ids, and the external ids by rows, of a graph that may be on a GPU, in host memory."""
    return to_host(graph.rows_by_id), to_host(graph.ids)


def table_of(answer: Answer, custom: CustomConfig, order: Array, ids: Array) -> pa.Table:
    """The table of an answer: ascending external ids, and rows of vertices as external ids or null. See `numbering_of`."""
    columns = [pa.array(ids[order])]
    for name, kind in custom.columns.items():
        values = answer[name][order]
        none = values == NO_ROW if kind == VERTEX else None
        columns.append(pa.array(values if none is None else _ids_of(values, ids), mask=none))
    return pa.Table.from_arrays(columns, schema=schema_of(custom))


def answer_of(table: pa.Table, custom: CustomConfig, order: Array, ids: Array) -> Answer | None:
    """The answer that a table has; None if it is not the table of an answer for this graph. See `numbering_of`."""
    ascending = ids[order]
    if table.schema != schema_of(custom) or not np.array_equal(table[KEY].to_numpy(), ascending):
        return None
    answer: Answer = {}
    for name, kind in custom.columns.items():
        column = table[name]
        if kind == VERTEX:
            known = np.asarray(column.is_valid())
            values = column.fill_null(0).to_numpy()
            places = np.minimum(np.searchsorted(ascending, values), max(len(ids) - 1, 0))
            if len(ids) and not (ascending[places] == values)[known].all():
                return None
            values = np.where(known, order[places], NO_ROW).astype(ID) if len(ids) else values
        else:
            values = column.to_numpy()
        answer[name] = np.empty_like(values)
        answer[name][order] = values
    return answer


def first_difference(one: Answer, other: Answer) -> tuple[str, int] | None:
    """The first column, and its first row, in which two answers have other bytes."""
    for name, values in one.items():
        differ = np.not_equal(*(side.view(f"u{side.itemsize}") for side in (values, other[name])))
        if differ.any():
            return name, int(np.flatnonzero(differ)[0])
    return None


def _ids_of(rows: Array, ids: Array) -> Array:
    return ids[np.maximum(rows, 0)] if len(ids) else rows
