"""What a key `zone` names, and the table `[zones]` of a run's configuration."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from pipeline.config.model import CrsName, File, Model

H3 = "h3:"  # begins the name of cells
_CELLS = re.compile(r"h3:(0|[1-9]\d*)")
_FINEST = 15  # resolution of H3
_SUFFIXES = (".geojson", ".json", ".parquet", ".geoparquet")


def resolution_of(zone: str) -> int | None:
    """The resolution of the H3 cells that a key names, as `h3:8`; None if it names something else."""
    cells = _CELLS.fullmatch(zone)
    return int(cells[1]) if cells else None


def names_cells(value: object) -> bool:
    """Whether a text names cells of H3, perhaps of no resolution that there is, and no file."""
    return isinstance(value, str) and value.lower().startswith(H3)


def is_zone_file(zone: object) -> bool:
    """Whether a key names a file of polygons, by its suffix, and not a column."""
    return isinstance(zone, str) and zone.lower().endswith(_SUFFIXES)


def has_shapes(zone: str) -> bool:
    """Whether the zones that a key names are places on the globe, and not values of a column."""
    return is_zone_file(zone) or resolution_of(zone) is not None


def _known(zone: str) -> str:
    resolution = resolution_of(zone)
    if names_cells(zone) and (resolution is None or resolution > _FINEST):
        raise ValueError(f"names no resolution of H3: write h3:0 to h3:{_FINEST}")
    return zone


ZoneName = Annotated[str, Field(min_length=1), AfterValidator(_known)]  # a column of `nodes`, `h3:8`, or a file of polygons
VertexFile = Annotated[File, AfterValidator(_known)]  # of vertices, places or zones; or `h3:8`


class ZonesConfig(Model):
    """The files of zones that a run or a command names: polygons, each with an id."""

    # The column of the zones' ids, each once in a file: integers or texts; by default `id`.
    id: str | None = Field(default=None, examples=["district"])
    # The column of polygons in a Parquet file; by default GeoParquet's primary column, or `geometry`.
    geometry: str | None = Field(default=None, examples=["outline"])
    # The coordinate reference system of a Parquet file that states none, as PROJ knows it. GeoJSON has degrees.
    crs: CrsName | None = Field(default=None, examples=["EPSG:2263"])
    # Column of `nodes` that weights vertices in the centre of a zone that is a source, target or facility; by default this is the
    # centroid of its area.
    centre: str | None = Field(default=None, min_length=1, examples=["population"])
