"""The layers of tiles: the geometries of a table on the plane of Web Mercator, and their other columns."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.tables import files as tables
from pipeline.tables.points import GEOMETRY

NORTH = 85.0511287798066  # degrees: where the plane ends
_KINDS = ((pa.types.is_boolean, "Boolean"), (pa.types.is_integer, "Number"), (pa.types.is_floating, "Number"))


@dataclass(frozen=True)
class Layer:
    """The rows of a table that have a geometry.

    Attributes:
        shapes: GEOS's objects [n]: x and y from 0 to 1, from the west and from the north.
        rows: Their other columns.
        bounds: West, south, east and north in degrees.
    """

    name: str
    shapes: Array
    rows: pa.Table
    bounds: tuple[float, float, float, float]

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def fields(self) -> dict[str, str]:
        """The types of the columns, as TileJSON names them."""
        return {
            field.name: next((name for is_kind, name in _KINDS if is_kind(field.type)), "String") for field in self.rows.schema
        }

    @cached_property
    def _values(self) -> dict[str, list[Any]]:
        return {name: self.rows[name].to_pylist() for name in self.rows.schema.names}

    def properties(self, row: int) -> dict[str, Any]:
        """The values of a row that are not null; those that are no numbers, texts or truth values as texts."""
        values = ((name, of_rows[row]) for name, of_rows in self._values.items())
        return {
            name: value if isinstance(value, bool | int | float | str) else str(value)
            for name, value in values
            if value is not None
        }


def read_layer(table: Path) -> Layer:
    """The layer of a table. Raises as `tables.read`."""
    import shapely

    rows = tables.read(table)
    rows = rows.filter(rows[GEOMETRY].is_valid()).combine_chunks()
    shapes = shapely.from_wkb(rows[GEOMETRY].to_numpy())
    bounds = tuple(shapely.total_bounds(shapes).tolist())
    plane = shapely.transform(shapes, to_plane)
    others = rows.drop_columns([GEOMETRY])
    return Layer(table.name, plane, others, bounds)


def to_plane(degrees: Array) -> Array:
    """Places on the plane, float64 [n, 2], from 0 to 1 each way."""
    north = np.radians(np.clip(degrees[:, 1], -NORTH, NORTH))
    y = 0.5 - np.log(np.tan(math.pi / 4 + north / 2)) / (2 * math.pi)
    return np.stack([degrees[:, 0] / 360 + 0.5, y], axis=1)
