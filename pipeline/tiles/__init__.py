"""Vector tiles of a published run: one PMTiles file with a layer for each table that has geometries.

The first zoom is that at which all is in few tiles, and at the last one a unit of a tile is about a metre. Below the last zoom
lines are simplified to a unit, and what is smaller than a pixel is left out.
"""

import gzip
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import BadConfig
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder, flush
from pipeline.store.scratch import new_attempt
from pipeline.suggestions import did_you_mean
from pipeline.tables.points import GEOMETRY
from pipeline.tiles.layers import Layer, read_layer
from pipeline.tiles.pyramid import FINEST, Pyramid

_MAGIC = b"PMTiles"
_POINTS = ("coordinates", "vertices")  # a point for each vertex, which only who names these tables wants
_PER_DEGREE = 10_000_000  # units of PMTiles' header


@dataclass(frozen=True)
class Tiled:
    """What a file of tiles has."""

    features: dict[str, int]  # by layer
    tiles: int
    zooms: range
    bytes: int


def write_tiles(run: Folder, out: Path, tables: Collection[str] = (), max_zoom: int | None = None) -> Tiled:
    """Write the geometries of a published run as vector tiles.

    Args:
        out: The file, which is replaced as a whole if it has tiles.
        tables: Those that become layers; none: all with geometries but those of all vertices.
        max_zoom: The last zoom; None: `FINEST`.

    Raises:
        BadConfig: A table is not in the run, or has no geometries; or `out` is another file.
        Damaged: A file cannot be read.
    """
    from pmtiles.tile import Compression, TileType
    from pmtiles.writer import Writer

    _require_replaceable(out)
    layers = [layer for name in _chosen(run, tables) if len(layer := read_layer(run.path / name))]
    if not layers:
        raise BadConfig(f"{run.path}: has no table with geometries to draw; name coordinates of the graph, or ask for table arcs")
    pyramid = Pyramid(layers, FINEST if max_zoom is None else max_zoom)
    west, south, east, north = pyramid.bounds
    out.parent.mkdir(parents=True, exist_ok=True)
    attempt, count = new_attempt(out.parent), 0
    try:
        with attempt.open("wb") as file:
            writer = Writer(file)
            for number, tile in pyramid.tiles():
                writer.write_tile(number, gzip.compress(tile, mtime=0))
                count += 1
            header = {
                "tile_type": TileType.MVT,
                "tile_compression": Compression.GZIP,
                "min_lon_e7": round(west * _PER_DEGREE),
                "min_lat_e7": round(south * _PER_DEGREE),
                "max_lon_e7": round(east * _PER_DEGREE),
                "max_lat_e7": round(north * _PER_DEGREE),
                "center_zoom": pyramid.zooms[0],
                "center_lon_e7": round((west + east) / 2 * _PER_DEGREE),
                "center_lat_e7": round((south + north) / 2 * _PER_DEGREE),
            }
            writer.finalize(header, _metadata(run, layers, pyramid.zooms))
        flush(attempt)
        size = attempt.stat().st_size
        attempt.replace(out)
    finally:
        attempt.unlink(missing_ok=True)
    return Tiled({layer.name: len(layer) for layer in layers}, count, pyramid.zooms, size)


def _require_replaceable(out: Path) -> None:
    """Raise BadConfig unless a path is free, or has tiles."""
    if os.path.lexists(out):
        if not out.is_file():
            raise BadConfig(f"{out}: is not a file, and would be replaced; name another one")
        with out.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise BadConfig(f"{out}: is not a PMTiles file, and would be replaced; name another one")


def _chosen(run: Folder, tables: Collection[str]) -> list[str]:
    """The tables that become layers. Raises BadConfig."""
    described = RunFacts.of(run).tables
    drawn = [name for name, table in described.items() if any(column["name"] == GEOMETRY for column in table.columns)]
    for name in tables:
        if name not in drawn:
            reason = "has no geometries" if name in described else "is not a table of this run"
            raise BadConfig(
                f"{name}: {reason}; those with geometries are {', '.join(drawn) or 'none'}{did_you_mean(name, drawn)}"
            )
    return [name for name in drawn if (name in tables if tables else name not in _POINTS)]


def _metadata(run: Folder, layers: list[Layer], zooms: range) -> dict[str, object]:
    """What PMTiles says of the layers."""
    described = [{"id": layer.name, "fields": layer.fields, "minzoom": zooms[0], "maxzoom": zooms[-1]} for layer in layers]
    facts = RunFacts.of(run)
    return {"name": facts.graph.name, "description": f"graphmill run {facts.run}", "vector_layers": described}
