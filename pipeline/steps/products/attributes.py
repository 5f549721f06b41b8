"""Columns of the table of nodes that products count with: numbers of the graph's vertices, in the order of its rows."""

from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest.places import PlaceList
from pipeline.store.arrays import dtype_of
from pipeline.store.manifest import Folder
from pipeline.store.vertices import ids_of
from pipeline.suggestions import did_you_mean
from pipeline.tables.points import NODES
from pipeline.tables.row_lookup import positions_in


def require_column(edges: Folder, key: str, name: str) -> pa.DataType:
    """The type of a column of the table of nodes, which `key` names. Raises BadConfig if there is none."""
    known = columns_of(edges)
    if name not in known:
        has = f"has the columns {', '.join(known)}" if known else "is missing: name it by `nodes` below [graph]"
        raise BadConfig(f"{key}: {name!r}: the table of nodes {has}{did_you_mean(name, known)}")
    return pq.read_schema(edges.path / NODES).field(name).type


def columns_of(edges: Folder) -> list[str]:
    """The names of the columns of the table of nodes, without its ids; empty if there is none."""
    return pq.read_schema(edges.path / NODES).names[1:] if NODES in edges.manifest.files else []


def of_rows(edges: Folder, graph: Folder, name: str) -> tuple[pa.Array, Array]:
    """The values of a column [V], null where a vertex has none, and which of them are stated, bool [V]."""
    table = pq.read_table(edges.path / NODES, columns=["vertex", name], page_checksum_verification=True)
    ids, _ = ids_of(graph)
    positions, of_graph = positions_in(table["vertex"].to_numpy(), ids)
    values = table[name].combine_chunks().take(pa.array(positions, mask=~of_graph))
    return values, values.is_valid().to_numpy(zero_copy_only=False)


def numbers_of(edges: Folder, graph: Folder, key: str, name: str) -> Array:
    """The numbers of a column, which `key` names: int64, uint64 or float64 [V]; a missing value is 0.

    Raises BadConfig if there is no such column, or if one of its values is not a finite number.
    """
    kind = require_column(edges, key, name)
    if not _is_numeric(kind) and _is_empty(edges, name):
        return np.zeros(len(ids_of(graph)[0]), np.int64)
    _require_numbers(kind, key, name)
    values = _wide(of_rows(edges, graph, name)[0])
    if not np.isfinite(values).all():
        raise BadConfig(f"{key}: column {name!r} has {values[~np.isfinite(values)][0]}")
    return values


def _require_numbers(kind: pa.DataType, key: str, name: str, of: str = "") -> None:
    if not _is_numeric(kind):
        raise BadConfig(f"{key}: column {name!r}{of} is {kind}, not numbers")


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_empty(edges: Folder, name: str) -> bool:
    """Whether a column of the table of nodes has no value: that of a text file is then one of texts."""
    column = pq.read_table(edges.path / NODES, columns=[name], page_checksum_verification=True)[name]
    return bool(column.null_count == len(column))


def _wide(column: pa.Array) -> Array:
    """Numbers as int64, uint64 or float64; a missing one is 0."""
    floats, unsigned = pa.types.is_floating(column.type), pa.types.is_unsigned_integer(column.type)
    wide = pa.float64() if floats else pa.uint64() if unsigned else pa.int64()
    values: Array = column.fill_null(0).cast(wide).to_numpy().astype(dtype_of(wide))
    return values


def amounts_of(edges: Folder, graph: Folder, key: str, name: str) -> Array:
    """The numbers of a column as float64 [V], as `numbers_of`, of which none is negative. Raises BadConfig."""
    values = numbers_of(edges, graph, key, name)
    if len(values) and values.min() < 0:
        raise BadConfig(f"{key}: column {name!r} has {values.min()}, which must not be negative")
    return values.astype(np.float64)


def amounts_at(places: PlaceList, file: str, key: str, name: str) -> Array:
    """The numbers of a column of a file of places, float64 [n], each at least 0; a missing value is 0.

    Raises BadConfig if they are not numbers, and BadInput for another value, with its row from 0.
    """
    column = places.more[name].combine_chunks()
    if column.null_count == len(column):
        return np.zeros(len(column))
    _require_numbers(column.type, key, name, f" of {file}")
    values = _wide(column)
    if (wrong := ~(np.isfinite(values) & (values >= 0))).any():
        row = int(wrong.argmax())
        raise BadInput(file, f"row {row}: {places.text(row)} has {name} {values[row]}, not a number that is at least 0 ({key})")
    return values.astype(np.float64)


def digest_by_id(ids: pa.Array, *columns: Array) -> str:
    """SHA-256 of what a file says of places, `columns` [n], with their ids [n]; the order of the rows does not matter."""
    order = pc.sort_indices(ids)
    rows = pa.table([ids, *map(pa.array, columns)], names=[str(number) for number in range(1 + len(columns))]).take(order)
    return sha256(b"".join(batch.serialize() for batch in rows.combine_chunks().to_batches())).hexdigest()
