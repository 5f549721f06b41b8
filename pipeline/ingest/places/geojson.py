"""GeoJSON (RFC 7946): a FeatureCollection as a table, with their properties as columns."""

import json
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from pipeline.errors import BadInput
from pipeline.ingest.formats.parquet.types import TEXT
from pipeline.ingest.places.shapes import FAR, KINDS, WAY_OUT, centroid
from pipeline.strict_json import written

ID = "id"
_SAME = ("CRS84", "4326")  # how the name of a system of degrees ends, in a member `crs` of older files


def read_geojson(file: str, content: bytes, centroids: bool = False) -> tuple[pa.Table, Array]:
    """The properties of all features, in their order, and their coordinates, float64 [n, 2], NaN where there is no geometry.

    With `centroids` a feature may be any shape.

    A feature's `id` becomes column `id`. Values that are lists or objects, and those of a column of several types, become texts.

    Raises BadInput for another document, with the feature, from 0.
    """
    features = read_features(file, content)
    points = np.full((len(features), 2), np.nan)
    for number, feature in enumerate(features):
        points[number] = _point(file, number, feature, centroids)
    return properties_of(file, features), points


def read_features(file: str, content: bytes) -> list[dict[str, Any]]:
    """The features of a collection in degrees. Raises BadInput for another document, with the feature, from 0."""
    try:
        document = json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise BadInput(file, "is nested too deeply for GeoJSON") from None
    except ValueError as error:
        raise BadInput(file, f"is not GeoJSON: {error}") from None
    features = document.get("features")
    if document.get("type") != "FeatureCollection" or not isinstance(features, list):
        raise BadInput(file, f"is a {document.get('type')!r}, not a FeatureCollection with features")
    _require_degrees(file, document.get("crs"))
    for number, feature in enumerate(features):
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise BadInput(file, f"feature {number} is not a Feature")
    return features


def properties_of(file: str, features: Sequence[dict[str, Any]]) -> pa.Table:
    """The properties of features as columns. Raises BadInput."""
    rows = [_properties(file, number, feature) for number, feature in enumerate(features)]
    names = [*dict.fromkeys(name for row in rows for name in row)]
    return pa.table({name: _column(file, name, [row.get(name) for row in rows]) for name in names})


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _require_degrees(file: str, crs: Any) -> None:
    if crs is None:
        return
    stated = crs.get("properties", {}).get("name") if isinstance(crs, dict) and isinstance(crs.get("properties"), dict) else crs
    if not (isinstance(stated, str) and stated.endswith(_SAME)):
        raise BadInput(file, f"states crs {str(stated)[:80]!r}; GeoJSON has degrees (RFC 7946): write it so, or as GeoParquet")


def _point(file: str, number: int, feature: dict[str, Any], centroids: bool) -> tuple[float, float]:
    geometry = feature.get("geometry")
    if geometry is None:
        return np.nan, np.nan
    if not isinstance(geometry, dict) or geometry.get("type") != "Point":
        kind = geometry.get("type") if isinstance(geometry, dict) else geometry
        if kind in KINDS and not centroids:
            raise BadInput(file, f"feature {number}: is a {kind}, not a Point; {WAY_OUT}")
        try:
            return centroid(geometry, degrees=True)
        except ValueError as error:
            raise BadInput(file, f"feature {number}: {error}") from None
    axes = geometry.get("coordinates")
    if axes == []:
        return np.nan, np.nan
    numbers = axes[:2] if isinstance(axes, list) else []
    if len(numbers) != 2 or not all(type(axis) in (int, float) and abs(axis) < FAR for axis in numbers):
        raise BadInput(file, f"feature {number}: coordinates {str(axes)[:40]} are not [LON, LAT]")
    return float(numbers[0]), float(numbers[1])


def _properties(file: str, number: int, feature: dict[str, Any]) -> dict[str, Any]:
    properties = feature.get("properties")
    if properties is not None and not isinstance(properties, dict):
        raise BadInput(file, f"feature {number}: properties are not an object")
    row = dict(properties or {})
    if ID in feature:
        if ID in row and row[ID] != feature[ID]:
            raise BadInput(file, f"feature {number}: has id {str(feature[ID])[:40]!r}, and {str(row[ID])[:40]!r} as a property")
        row[ID] = feature[ID]
    return row


def _column(file: str, name: str, values: Sequence[Any]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and float in kinds:
        return pa.array(values, pa.float64())
    if kinds in ({bool}, {int}):
        try:
            return pa.array(values)
        except (OverflowError, pa.ArrowInvalid):
            raise BadInput(file, f"property {name!r} has an integer beyond 64 bits") from None
    texts = [value if value is None or isinstance(value, str) else written(value, ensure_ascii=False) for value in values]
    try:
        return pa.array(texts, TEXT)
    except UnicodeEncodeError:
        raise BadInput(file, f"property {name!r} has a text that is not Unicode") from None
