"""Coordinates of vertices: sorted, and as GeoParquet 1.1 (https://geoparquet.org/releases/v1.1.0/), points encoded as WKB."""

import json
from collections.abc import Sequence
from struct import unpack, unpack_from

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.errors import Damaged
from pipeline.store.digests import digest_of_file
from pipeline.store.manifest import Folder

COORDINATES = "coordinates.parquet"  # of an edge list, in the order of the source; the published table is sorted
NODES = "nodes.parquet"  # of an edge list: `vertex`, ascending, and what a table of nodes has
GEOMETRY = "geometry"
_POINT = np.dtype([("order", "u1"), ("type", "<u4"), ("x", "<f8"), ("y", "<f8")])  # little-endian, a point


def metadata(geometry: Sequence[str]) -> dict[bytes, bytes]:
    """GeoParquet's metadata of a file whose geometries have these types, such as `Point`.

    Without `crs` coordinates are degrees of longitude and latitude (OGC:CRS84).
    """
    column = {"encoding": "WKB", "geometry_types": [*geometry]}
    return {b"geo": json.dumps({"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}}).encode()}


def sorted_coordinates(edges: Folder) -> pa.Table | None:
    """Columns `vertex`, `x` and `y` of an edge list's coordinates, ascending by vertex; None if it has none.

    Raises Damaged if the file differs from the manifest.
    """
    if COORDINATES not in edges.manifest.files:
        return None
    path = edges.path / COORDINATES
    if path.is_symlink() or not path.is_file():
        raise Damaged(f"{path}: {'is not a file' if path.is_symlink() or path.exists() else 'missing'}")
    if digest_of_file(path) != edges.manifest.files[COORDINATES].blake3:
        raise Damaged(f"{path}: its BLAKE3 digest differs from its manifest's")
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read().sort_by("vertex")


def with_geometry(coordinates: pa.Table) -> pa.Table:
    """Coordinates with a column of points."""
    return coordinates.append_column(GEOMETRY, points(coordinates["x"].to_numpy(), coordinates["y"].to_numpy()))


def points(x: Array, y: Array, known: Array | None = None) -> pa.Array:
    """Points [n] as WKB; null where `known`, bool [n], is false."""
    encoded = np.empty(len(x), _POINT)
    encoded["order"], encoded["type"], encoded["x"], encoded["y"] = 1, 1, x, y
    ends = np.arange(len(x) + 1, dtype=np.int32) * _POINT.itemsize
    valid = None if known is None or known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(x), [valid, pa.py_buffer(ends), pa.py_buffer(encoded)])


def as_text(geometry: bytes) -> str:
    """A geometry that a table has in WKB, for readers: points and lines of two as WKT, others by the number of their parts."""
    if geometry[1] == 1:
        return f"POINT ({_as_text(geometry[5:])})"
    if geometry[1] == 2 and (points := unpack_from("<I", geometry, 5)[0]) > 2:
        return f"LINESTRING of {points:,}"
    if geometry[1] == 2:
        return f"LINESTRING ({_as_text(geometry[9:25])}, {_as_text(geometry[25:])})"
    return f"{'MULTILINESTRING' if geometry[1] == 5 else 'MULTIPOLYGON'} of {unpack_from('<I', geometry, 5)[0]:,}"


def _as_text(point: bytes) -> str:
    return " ".join(f"{axis:.15g}" for axis in unpack("<dd", point))


def on_sphere(longitude: Array, latitude: Array) -> Array:
    """Unit vectors [n, 3] of places in degrees."""
    east, north = np.radians(longitude), np.radians(latitude)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=-1)


def cut_of(longitudes: Array) -> float:
    """The longitude at which the globe is cut, so that places float64 [n] that are near each other are so on the plane.

    It is -180, unless another gap between the places is wider than the one across the meridian; then it is that gap's east end.
    """
    ordered = np.unique(longitudes)
    if len(ordered) < 2:
        return -180.0
    gaps = np.diff(ordered)
    widest = int(gaps.argmax())
    return float(ordered[widest + 1]) if gaps[widest] > gap_across(ordered) else -180.0


def gap_across(ordered: Array) -> float:
    """Degrees of the gap across the meridian between ascending longitudes."""
    return float(ordered[0] + 360.0 - ordered[-1])
