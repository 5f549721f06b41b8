"""Columns of geometries, and of boxes around them, beside those that are read."""

import json
from contextlib import suppress

import pyarrow as pa

_EXTENSION, _OF_SHAPES = b"ARROW:extension:name", (b"geoarrow.", b"ogc.")


def geometries_of(schema: pa.Schema) -> set[str]:
    """Names of the columns that GeoParquet's metadata or GeoArrow's extension types call geometries or boxes around them."""
    geometries = {field.name for field in schema if _name_of_type(field).startswith(_OF_SHAPES)}
    with suppress(ValueError, AttributeError, TypeError, RecursionError):  # metadata of another form calls nothing a geometry
        for name, column in json.loads((schema.metadata or {}).get(b"geo", b"{}")).get("columns", {}).items():
            boxes = column.get("covering", {}).get("bbox", {})
            geometries |= {name, *(path[0] for path in boxes.values() if isinstance(path, list) and len(path) > 1)}
    return geometries


def _name_of_type(field: pa.Field) -> bytes:
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name).encode()
    return bytes((field.metadata or {}).get(_EXTENSION, b""))
