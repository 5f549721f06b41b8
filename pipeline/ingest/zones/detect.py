"""Which files that may have vertices or places have zones."""

import struct

import pyarrow.parquet as pq

from pipeline.config.graph import Limits
from pipeline.config.products.places import PlacesConfig, begins_geojson
from pipeline.config.products.zones import ZonesConfig, is_zone_file, names_cells
from pipeline.ingest.formats.parquet import is_parquet, reading
from pipeline.ingest.formats.parquet.footer import open_file
from pipeline.ingest.places import content_of
from pipeline.ingest.places.columns import geo_of
from pipeline.ingest.places.geojson import read_features
from pipeline.ingest.places.points import is_geometry
from pipeline.ingest.places.shapes import FLAGS, KINDS
from pipeline.ingest.source import locate

_AREAS = ("Polygon", "MultiPolygon")
_FEW = 1024  # rows of Parquet that are read at once


def names_zones(named: str, places: PlacesConfig, zones: ZonesConfig) -> bool:
    """Whether what names vertices names zones: cells of H3, or a file whose first geometry is an area.

    It names places if `places` takes centroids of shapes, or names columns of coordinates; and if it names a column of vertices
    or points that the file has, unless `zones` names one of areas. Raises BadInput for a file that is not there, or damaged.
    """
    if names_cells(named) or places.centroids or places.lon or places.lat:
        return names_cells(named)
    path = locate(named).require_local()
    if not is_zone_file(named):
        return False
    return _has_areas(named, places, zones) if is_parquet(path, named) else _kind_in_geojson(named, places.vertex) in _AREAS


def _kind_in_geojson(file: str, vertex: str | None) -> str | None:
    """The kind of the first geometry; None if there is none, or if features have a property `vertex`."""
    content = content_of(file, locate(file).require_local())
    if not begins_geojson(content) or not any(f'"{kind}"'.encode() in content for kind in _AREAS):
        return None
    features = read_features(file, content)
    if vertex and any(vertex in (feature.get("properties") or ()) for feature in features):
        return None
    shapes = (feature.get("geometry") for feature in features)
    return next((str(shape.get("type")) for shape in shapes if isinstance(shape, dict)), None)


def _has_areas(file: str, places: PlacesConfig, zones: ZonesConfig) -> bool:
    """Whether the column of a Parquet file that has the zones, if it has zones, has areas."""
    with reading(file), open_file(locate(file).require_local(), file, Limits()) as parquet:
        schema = parquet.schema_arrow
        binary = [field.name for field in schema if is_geometry(field.type) and len(schema) > 1]
        if zones.geometry in binary:
            return _kind_in(parquet, zones.geometry) in _AREAS
        if places.vertex in schema.names:
            return False
        usual = next((name for name in (geo_of(schema).get("primary_column"), "geometry", *binary) if name in binary), None)
        named = [places.geometry] if places.geometry in schema.names else []
        return all(name in binary and _kind_in(parquet, name) in _AREAS for name in (*named, usual))


def _kind_in(parquet: pq.ParquetFile, column: str | None) -> str | None:
    """The kind of the first geometry in a column."""
    for batch in parquet.iter_batches(_FEW, columns=[column]):
        for value in batch.column(0).drop_null()[:1].to_pylist():
            return _kind_of(value)
    return None


def _kind_of(value: object) -> str | None:
    """The kind of a geometry as WKB; None for anything else."""
    if not isinstance(value, bytes) or len(value) < 5:
        return None
    (kind,) = struct.unpack_from("<I" if value[0] == 1 else ">I", value, 1)
    plain = (kind & ~FLAGS) % 1000
    return KINDS[plain] if plain < len(KINDS) else None
