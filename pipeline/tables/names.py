"""Columns of names: `X_name` after each column `X` of external ids, if the ids of the source are strings."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pipeline.errors import ProofFailed
from pipeline.store.names import VertexNames


def with_names(rows: pa.Table, ids: Sequence[str], names: VertexNames) -> pa.Table:
    """The rows with a column `X_name` after each column `X` of `ids`."""
    import pyarrow.compute as pc

    of_all = names.array()
    for column in ids:
        field, position = rows.schema.field(column), rows.schema.get_field_index(column)
        values = rows[column].combine_chunks()
        values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
        if pa.types.is_list(field.type):
            texts = of_all.take(values.flatten()).cast(pa.string())
            element = pa.list_(pa.field("element", pa.string(), nullable=False))
            added: pa.Array = pa.ListArray.from_arrays(values.offsets, texts, element)
        else:
            known = pc.if_else(pc.less(values, 0), pa.scalar(None, values.type), values)  # a query may name no vertex
            added = of_all.take(known).cast(pa.string())
        nullable = field.nullable or "reachable" in rows.schema.names
        rows = rows.add_column(position + 1, pa.field(f"{column}_name", added.type, nullable), added)
    return rows


def require_names(file: str, rows: pa.Table, ids: Sequence[str], names: VertexNames) -> None:
    """Raise ProofFailed unless each column `X_name` of rows that were read from a file has the names of column `X` of `ids`."""
    for column in ids:
        numbers, text = (rows[name].combine_chunks() for name in (column, f"{column}_name"))
        if pa.types.is_list(numbers.type):
            numbers, text = numbers.flatten(), text.flatten()
        if not np.array_equal(names.find(text), numbers.fill_null(-1).to_numpy()):
            raise ProofFailed(f"{file}: a name does not belong to its {column}")
