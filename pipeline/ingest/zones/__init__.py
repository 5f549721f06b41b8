"""Files of zones: GeoParquet or GeoJSON with polygons, each with an id."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.config.graph import Limits
from pipeline.config.products.zones import ZonesConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.parquet import is_parquet, read_columns, reading
from pipeline.ingest.formats.parquet.footer import Footer, open_file
from pipeline.ingest.places import content_of, unique_ids
from pipeline.ingest.places.columns import Crs, crs_of, geo_of, key_of_crs, only_column
from pipeline.ingest.places.crs import to_degrees
from pipeline.ingest.places.geojson import properties_of, read_features
from pipeline.ingest.places.points import is_geometry
from pipeline.ingest.source import locate

_TABLE = "zones"
_HALF_TURN = 180.0
_AREAS = (3, 6)  # GEOS's numbers of Polygon and MultiPolygon


@dataclass(frozen=True)
class ZoneList:
    """The zones of a file, ascending by id.

    Attributes:
        ids: int64 or large_string [n], each once.
        shapes: Valid polygons in degrees, GEOS's, objects [n].
    """

    ids: pa.Array
    shapes: Array


def read_zones(file: str, config: ZonesConfig) -> ZoneList:
    """Read a file of zones.

    Raises:
        BadInput: The file is no such table, has no or several columns that may be the ids or the polygons, or has a row, from 0,
            with a missing or repeated id, or whose geometry is not a valid polygon on the globe.
        BadConfig: `crs` is no system.
    """
    import shapely

    path = locate(file).require_local()
    read = _of_parquet if is_parquet(path, file) else _of_geojson
    name, ids, shapes, crs = read(file, config)
    if not len(ids):
        raise BadInput(file, "contains no zone")
    ids = unique_ids(file, name, ids, "zone")
    _require_areas(file, ids, shapes)
    corners = shapely.get_coordinates(shapes)
    rows = np.repeat(np.arange(len(shapes)), shapely.get_num_coordinates(shapes))
    degrees = to_degrees(file, corners, crs, key_of_crs(file, crs, config.crs, _TABLE), lambda corner: f"row {rows[corner]}")
    shapes = shapely.set_coordinates(shapely.force_2d(shapes), degrees)
    for row in np.flatnonzero(~shapely.is_valid(shapes))[:1].tolist():
        reason = shapely.is_valid_reason(shapes[row])
        raise BadInput(file, f"row {row}: zone {_text(ids, row)} is not a valid polygon: {reason}; mend it (ST_MakeValid)")
    _require_narrow(file, ids, shapes)
    order = pc.sort_indices(ids)
    return ZoneList(ids.take(order), shapes[order.to_numpy()])


def _text(ids: pa.Array, row: int) -> str:
    return repr(ids[row].as_py())[:80]


def _require_areas(file: str, ids: pa.Array, shapes: Array) -> None:
    """Raise BadInput for the first row that is not an area."""
    import shapely

    wrong = ~np.isin(shapely.get_type_id(shapes), _AREAS) | shapely.is_empty(shapes)
    for row in np.flatnonzero(wrong)[:1].tolist():
        shape = shapes[row]
        what = "no geometry" if shape is None else f"an empty {shape.geom_type}" if shape.is_empty else f"a {shape.geom_type}"
        raise BadInput(file, f"row {row}: zone {_text(ids, row)} has {what}; it needs a Polygon or a MultiPolygon")


def _require_narrow(file: str, ids: pa.Array, shapes: Array) -> None:
    """Raise BadInput for the first row with a polygon that crosses the 180th meridian without being cut there."""
    import shapely

    parts, rows = shapely.get_parts(shapes, return_index=True)
    west, _, east, _ = shapely.bounds(parts).T
    for row in rows[np.flatnonzero(east - west >= _HALF_TURN)][:1].tolist():
        how = "cut it at the 180th meridian (RFC 7946)"
        raise BadInput(file, f"row {row}: zone {_text(ids, row)} spans 180 degrees of longitude or more; {how}")


def _of_parquet(file: str, config: ZonesConfig) -> tuple[str, pa.Array, Array, Crs]:
    """The name of the column of ids, ids, shapes and their system."""
    import shapely

    path = locate(file).require_local()
    with reading(file), open_file(path, file, Limits()) as parquet:
        schema = parquet.schema_arrow
        geo = geo_of(schema)
        wanted = config.geometry or geo.get("primary_column")
        geometry = only_column(file, schema.names, wanted, ("geometry",), "geometry", _TABLE)
        name = only_column(file, schema.names, config.id, ("id",), "id", _TABLE)
        if not is_geometry(schema.field(geometry).type) or pa.types.is_struct(schema.field(geometry).type):
            raise BadInput(file, f"column {geometry!r} is {schema.field(geometry).type}, not polygons as WKB")
        crs = crs_of(file, geo, geometry, config.crs, _TABLE)
        ids = read_columns(path, parquet, [name], Limits())[name].combine_chunks()
        Footer(path, parquet.schema, [geometry], Limits()).check_all_pages()
        column = parquet.read([geometry])[geometry].combine_chunks()
    column = column.storage if isinstance(column, pa.ExtensionArray) else column
    return name, ids, _parsed(file, column.to_pylist(), shapely.from_wkb, "is not WKB"), crs


def _of_geojson(file: str, config: ZonesConfig) -> tuple[str, pa.Array, Array, Crs]:
    import shapely

    features = read_features(file, content_of(file, locate(file).require_local(), "zones"))
    table = properties_of(file, features)
    name = only_column(file, table.schema.names, config.id, ("id",), "id", _TABLE)
    texts = [_text_of(file, row, feature.get("geometry")) for row, feature in enumerate(features)]
    return name, table[name].combine_chunks(), _parsed(file, texts, shapely.from_geojson, "is not a geometry"), None


def _text_of(file: str, row: int, shape: Any) -> str | None:
    try:
        return None if shape is None else json.dumps(shape, allow_nan=False)
    except ValueError:
        raise BadInput(file, f"row {row}: its geometry has a number that JSON does not have, such as NaN") from None


def _parsed(file: str, values: Sequence[Any], parse: Any, wrong: str) -> Array:
    """The shapes of values, None for None. Raises BadInput for the first one that is none, with its row."""
    import shapely

    def shapes() -> Iterator[Any]:
        for row, value in enumerate(values):
            try:
                yield None if value is None else parse(value)
            except shapely.errors.ShapelyError as error:
                raise BadInput(file, f"row {row}: its geometry {wrong}: {str(error)[:80]}") from None

    made = np.empty(len(values), object)
    made[:] = [*shapes()]
    return made
