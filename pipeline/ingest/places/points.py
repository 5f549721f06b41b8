"""Points as geometries: WKB, and GeoArrow's own form, as columns of coordinates."""

import struct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.errors import BadInput
from pipeline.ingest.places.shapes import FLAGS, KINDS, SRID, WAY_OUT, centroid, shape_of

_PLAIN = np.dtype([("order", "u1"), ("type", "<u4"), ("x", "<f8"), ("y", "<f8")])  # a little-endian point of two coordinates


def is_geometry(kind: pa.DataType) -> bool:
    """Whether a column can have points: binary values, or structs of coordinates, as GeoArrow has them."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or bool(axes_of(kind))


def axes_of(kind: pa.DataType) -> list[str]:
    """The names of the coordinates of a struct that is a point; empty for another type."""
    names = [field.name for field in kind] if pa.types.is_struct(kind) else []
    return names if {"x", "y"} <= {*names} else []


def coordinates_of(file: str, name: str, column: pa.Array, centroids: bool = False, degrees: bool = True) -> Array:
    """The coordinates of a column of points, float64 [n, 2]; NaN for a null and for an empty point.

    With `centroids` a value may be any shape, whose coordinates are `degrees`, or not. Raises BadInput for the first one that is
    not a point, or has no centroid, with its row from 0.
    """
    column = column.storage if isinstance(column, pa.ExtensionArray) else column
    if pa.types.is_struct(column.type):
        axes = [pc.struct_field(column, axis).cast(pa.float64()).to_numpy(zero_copy_only=False) for axis in ("x", "y")]
        return np.stack(axes, axis=-1)
    if (plain := _plain(column.cast(pa.large_binary()))) is not None:
        return plain
    points = list[tuple[float, float]]()
    for row, value in enumerate(column.to_pylist()):
        try:
            place = centroid(shape_of(value), degrees) if centroids and value is not None else None
        except ValueError as error:
            raise BadInput(file, f"row {row}: {name} {error}") from None
        points.append(place or _point(file, name, row, value))
    return np.array(points, np.float64).reshape(-1, 2)


def _plain(column: pa.LargeBinaryArray) -> Array | None:
    """The coordinates if all values are little-endian points of two coordinates, as almost all writers write them."""
    if column.null_count or not len(column) or not pc.all(pc.equal(pc.binary_length(column), _PLAIN.itemsize)).as_py():
        return None
    ends = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    values = np.frombuffer(column.buffers()[2], np.uint8)[ends[0] : ends[-1]].view(_PLAIN)
    if not ((values["order"] == 1) & (values["type"] == 1)).all():
        return None
    return np.stack([values["x"], values["y"]], axis=-1)


def _point(file: str, name: str, row: int, value: bytes | None) -> tuple[float, float]:
    if value is None:
        return np.nan, np.nan
    try:
        order = "<" if value[0] == 1 else ">"
        (kind,) = struct.unpack_from(f"{order}I", value, 1)
        plain = (kind & ~FLAGS) % 1000  # 1001, 2001 and 3001 are points with Z, M or both
        if plain == 1:
            x, y = struct.unpack_from(f"{order}dd", value, 9 if kind & SRID else 5)
            return x, y
    except (struct.error, IndexError):
        raise BadInput(file, f"row {row}: {name} is not WKB") from None
    shape = KINDS[plain] if plain < len(KINDS) else f"of type {kind}"
    raise BadInput(file, f"row {row}: {name} is a {shape}, not a point; {WAY_OUT}")
