"""Zones: groups of vertices that have the same value in a column of the table of nodes, such as a district, or are in one area.

`shapes` has the areas, `centres` the vertices that stand for zones.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from kernels.reductions.groups import GroupSums
from pipeline.config.products.zones import ZonesConfig, has_shapes
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest.formats.parquet.types import is_text
from pipeline.steps.products.attributes import amounts_of, columns_of, of_rows, require_column
from pipeline.steps.products.zones.inside import RULE
from pipeline.steps.products.zones.shapes import Shapes
from pipeline.store.manifest import Folder
from pipeline.store.vertices import ids_of
from pipeline.tables import files as tables
from pipeline.tables.definitions import geometry_of
from pipeline.tables.points import GEOMETRY, sorted_coordinates
from pipeline.tables.row_lookup import positions_in

log = logging.getLogger(__name__)
_BYTES = 3 * (2 * 8 + 8 + 6 * 8)  # of what is known of a group: once so far, once of what is added, and once counted again


@dataclass(frozen=True)
class Zones:
    """The zones of a graph's vertices.

    Attributes:
        names: Ascending; at the end null, if a vertex has none.
        numbers (int64 [V]): That of each vertex's zone, in the order of the graph's rows.
        weights (float64 [V]): Of the vertices, in this order; 1 unless a column has them.
        shapes: The areas; None if a column of the table of nodes has the zones.
        several: Vertices in several polygons.
    """

    names: pa.Array
    numbers: Array
    weights: Array
    shapes: Shapes | None = None
    several: int = 0

    @classmethod
    def of(cls, edges: Folder, graph: Folder, keys: tuple[str, str], zone: str, weight: str | None, config: ZonesConfig) -> Self:
        """The zones that `zone` names, and the weights of a column; `keys` name both in messages.

        Raises BadConfig, also for areas of a graph without coordinates, and as `read_zones`.
        """
        key, key_of_weight = keys
        if has_shapes(zone):
            if zone in columns_of(edges):
                raise BadConfig(f"{key}: {zone!r} is a column of the table of nodes, too; rename it")
            shapes = Shapes.of(zone, config)
            column, several = shapes.zones_at(degrees_of(edges, graph, key))
        else:
            shapes, several, column = None, 0, _column(edges, graph, key, zone)
        encoded = column.dictionary_encode()
        order = pc.sort_indices(encoded.dictionary)
        places = np.empty(len(order) + 1, np.int64)
        places[order.to_numpy()], places[-1] = np.arange(len(order)), len(order)
        names = encoded.dictionary.take(order)
        names = pa.concat_arrays([names, pa.nulls(1, names.type)]) if column.null_count else names
        numbers = places[encoded.indices.fill_null(len(order)).to_numpy()]
        weights = amounts_of(edges, graph, key_of_weight, weight) if weight else np.ones(len(numbers))
        if shapes:
            text = "zones %s: %d have vertices; %d of %d vertices are in none, %d in several"
            log.info(text, zone, len(order), column.null_count, len(column), several)
        return cls(names, numbers, weights, shapes, several)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def outlines(self) -> pa.Array:
        """The areas as WKB, by number; null of no zone, and of zones of a column."""
        return self.shapes.outlines(self.names) if self.shapes else pa.nulls(len(self), pa.binary())

    @property
    def figures(self) -> dict[str, int]:
        """What the facts of a table say of areas."""
        if not self.shapes:
            return {}
        outside = int((self.numbers == len(self) - 1).sum()) if self.names.null_count else 0
        return {"without_zone": outside, "in_several_zones": self.several}

    @property
    def rules(self) -> list[str]:
        """What was checked of the zones themselves."""
        return [RULE] if self.shapes else []

    def memory_for(self, groups: int) -> int:
        """Bytes that the sums of so many groups take."""
        return _BYTES * groups


def degrees_of(edges: Folder, graph: Folder, key: str) -> Array:
    """The coordinates of the vertices, float64 [V, 2], in the order of the graph's rows; NaN where there are none.

    Raises BadConfig, for `key`, if the graph has no coordinates.
    """
    coordinates, (ids, _) = sorted_coordinates(edges), ids_of(graph)
    if coordinates is None:
        raise BadConfig(f"{key}: the graph has no coordinates; name them by `coordinates` below [graph]")
    at, known = positions_in(coordinates["vertex"].to_numpy(), ids)
    degrees = np.full((len(ids), 2), np.nan)
    degrees[known] = np.stack([coordinates[axis].to_numpy() for axis in "xy"], axis=1)[at[known]]
    return degrees


def _column(edges: Folder, graph: Folder, key: str, zone: str) -> pa.Array:
    """The zones of the vertices by a column of the table of nodes [V]. Raises BadConfig."""
    kind = require_column(edges, key, zone)
    if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)):
        raise BadConfig(f"{key}: column {zone!r} is {kind}; a zone is a text, an integer, a truth value or a date")
    column, _ = of_rows(edges, graph, zone)
    return column.cast(pa.string() if is_text(kind) else kind)


def require_finite(step: str, sums: GroupSums) -> None:
    """Raise BadInput if a sum of a step is too large."""
    if not np.isfinite(sums.sums).all():
        raise BadInput(step, "a sum of distances, or of weights, exceeds the largest float64")


def write_zones(
    folder: Path,
    schema: pa.Schema,
    columns: Sequence[pa.Array],
    sums: GroupSums,
    counted: Mapping[str, Array],
    outlines: pa.Array | None = None,
) -> int:
    """Write the rows of groups that have a pair, sorted as they are; return their number.

    Args:
        schema: Of the columns that name a group, then of `counted`, `min`, `mean` and, if there are weights, `weighted_mean`.
        columns: Those that name the groups, each [G].
        sums: Of the groups [G].
        outlines: Their areas [G], if the schema has a column of geometries.
    """
    kept = np.flatnonzero(sums.counts[:, 0])
    means = {"mean": sums.means[kept], "weighted_mean": sums.weighted_means[kept]}
    least = sums.least[kept]
    values = [column.take(pa.array(kept)) for column in columns] + [pa.array(of[kept]) for of in counted.values()]
    values.append(pa.array(least, mask=least < 0))
    values += [pa.array(mean, mask=np.isnan(mean)) for name, mean in means.items() if name in schema.names]
    if outlines is not None and GEOMETRY in schema.names:
        values.append(outlines.take(pa.array(kept)))
    return write_batch(folder, pa.RecordBatch.from_arrays(values, schema=schema))


def write_batch(folder: Path, batch: pa.RecordBatch) -> int:
    """Write all rows of a table of zones; return their number."""
    for number in range(tables.files_of(len(batch))):
        rows = batch.slice(number * tables.ROWS_PER_FILE, tables.ROWS_PER_FILE)
        tables.write_rows(folder / tables.file_name(number), batch.schema, (), [rows])
    return len(batch)


def schema_of(table: str, weight: str | None, measure: str | None, zones: Zones, weighted: bool) -> pa.Schema:
    """The columns of a table of zones; zones have the type of the column that names them."""
    plain = tables.schema(table, weight, 0, measure)
    fields = [field.with_type(zones.names.type) if field.name.endswith("zone") else field for field in plain]
    left_out = ({GEOMETRY} if not zones.shapes else set()) | (set() if weighted else {"weighted_mean"})
    schema = tables.of_fields([field for field in fields if field.name not in left_out], geometry_of(table))
    means = {name: measure for name in schema.names if name.endswith("mean") and measure}
    return tables.stating(tables.stating(schema, tables.units_of(plain)), means)


def parameters(zone: str | None, weight: str | None, zones: Zones) -> dict[str, Any]:
    """What decides about the zones, as parameters of a step's key."""
    return {"zone": zone, "zone_weight": weight} | ({"shapes": zones.shapes.digest} if zones.shapes else {})
