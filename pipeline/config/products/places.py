"""The table `[places]` of a run's configuration, and which files are tables of places."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.config.graph import Delimiter
from pipeline.config.model import CrsName, Model
from pipeline.config.sources import BOM

ID, NAME, VERTEX, GEOMETRY = "id", "name", "vertex", "geometry"  # the columns by default
LONGITUDES, LATITUDES = ("lon", "lng", "long", "longitude", "x"), ("lat", "latitude", "y")
_HEAD = 2**16  # bytes that a header line has at most
_PARQUET = b"PAR1"


class PlacesConfig(Model):
    """The files of places that a run or a command names: their columns, and the system of their coordinates."""

    # The column of the places' ids, each once in a file: integers or texts; by default `id`.
    id: str | None = Field(default=None, examples=["hospital"])
    # The column of the places' names; by default `name`, if there is one.
    name: str | None = Field(default=None, examples=["title"])
    # The column of degrees of longitude, or of whatever `crs` states; by default `lon`, `lng`, `long`, `longitude` or `x`.
    lon: str | None = Field(default=None, examples=["easting"])
    lat: str | None = Field(default=None, examples=["northing"])  # of latitude; by default `lat`, `latitude` or `y`
    # The column of points in a Parquet file; by default GeoParquet's primary column, or `geometry`. It comes before `lon` and
    # `lat`, unless these are named here.
    geometry: str | None = Field(default=None, examples=["geom"])
    # The column of a vertex that stands for the place, wherever it has a value; by default `vertex`, if there is one.
    vertex: str | None = Field(default=None, examples=["crossing"])
    # The character between the fields of a CSV file, `tab` for a tab; by default a comma, in TSV a tab, or the one in the header.
    delimiter: Delimiter | None = Field(default=None, examples=[";"])
    # The coordinate reference system of the coordinates, as PROJ knows it; by default degrees (WGS 84). GeoJSON has degrees, and
    # GeoParquet states its own.
    crs: CrsName | None = Field(default=None, examples=["EPSG:2263"])
    # What geometries may be: `points`; or any shape, such as the outline of a hospital, of which the `centroid` is taken, in the
    # plane of the file's own coordinates.
    shapes: Literal["points", "centroid"] = "points"
    # What stands for a place: the nearest of the `vertices`; or a new vertex at its foot, the nearest point of the `streets` that
    # are open, which is divided there. Sources and ends of pairs that are places are attached, too.
    attach: Literal["vertices", "streets"] = "vertices"

    @property
    def centroids(self) -> bool:
        """Whether the centroid of a shape stands for it."""
        return self.shapes == "centroid"

    @property
    def named(self) -> set[str]:
        """The names that are given."""
        return {name for name in (self.id, self.name, self.lon, self.lat, self.geometry, self.vertex) if name}


def begins_geojson(head: bytes) -> bool:
    """Whether a file that begins with `head` is a JSON object."""
    return head.removeprefix(BOM).lstrip()[:1] == b"{"


def is_table(path: Path, named: Collection[str] = ()) -> bool:
    """Whether a file is Parquet or GeoJSON, or a text whose first line names columns of places, and is not one vertex.

    Such columns are those that are `named` by a configuration, a longitude and a latitude, or a vertex beside others. A file that
    cannot be read is none.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).removeprefix(BOM)
    except (OSError, ValueError):
        return False
    return head.startswith(_PARQUET) or begins_geojson(head) or _names_columns(head, named)


def _names_columns(head: bytes, named: Collection[str]) -> bool:
    line = head.lstrip(b"\r\n").partition(b"\n")[0].decode(errors="replace")
    fields = [field.strip().strip('"') for field in re.split(r"[,;\t|]", line)]
    lowered = {field.lower() for field in fields}
    located = not lowered.isdisjoint(LONGITUDES) and not lowered.isdisjoint(LATITUDES)
    return len(fields) > 1 and (located or VERTEX in lowered or not {*fields}.isdisjoint(named))
