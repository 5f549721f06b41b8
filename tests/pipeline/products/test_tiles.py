"""Tiles as the readers of PMTiles and Mapbox Vector Tiles decode them, beside the tables."""

import gzip
import json
import math

import mapbox_vector_tile
import pyarrow.parquet as pq
import pytest
import shapely
from pmtiles.reader import MmapSource, Reader, all_tiles

from pipeline.cli.command import app
from pipeline.errors import BadConfig
from pipeline.tiles import write_tiles


def tile_units(degrees, zoom, x, y):
    """Units of a tile by the formula of OpenStreetMap's wiki."""
    lon, lat = degrees
    scale = 2**zoom
    north = (1 - math.asinh(math.tan(math.radians(lat))) / math.pi) / 2
    return (lon / 360 + 0.5) * scale * 4096 - 4096 * x, north * scale * 4096 - 4096 * y


def decoded(path):
    with path.open("rb") as file:
        source = MmapSource(file)
        tiles = {
            zxy: mapbox_vector_tile.decode(gzip.decompress(data), default_options={"y_coord_down": True})
            for zxy, data in all_tiles(source)
        }
        return Reader(source).header(), Reader(source).metadata(), tiles


@pytest.fixture(scope="module")
def tiled(published, tmp_path_factory):
    path = tmp_path_factory.mktemp("tiles") / "map.pmtiles"
    return write_tiles(published, path, max_zoom=7), path


def test_each_row_is_in_each_tile_that_it_meets(published, tiled):
    made, path = tiled
    header, metadata, tiles = decoded(path)
    assert {layer["id"] for layer in metadata["vector_layers"]} == {"arcs", "isochrone_polygons", *made.features} - {"vertices"}
    assert header["max_zoom"] == 7 and (header["min_lon_e7"], header["max_lat_e7"]) == (0, 60_000_000)
    assert made.features["arcs"] == pq.read_table(published.path / "arcs").num_rows - 1  # that of the island has no coordinates
    seen = 0
    for row in pq.read_table(published.path / "arcs").to_pylist():
        if row["geometry"] is None:
            continue
        line = shapely.from_wkb(row["geometry"])
        for zxy, layers in tiles.items():
            if zxy[0] != 7:
                continue
            due = shapely.transform(line, lambda points, at=zxy: [tile_units(point, *at) for point in points])
            found = [
                shapely.geometry.shape(feature["geometry"])
                for feature in layers.get("arcs", {"features": []})["features"]
                if (feature["properties"]["src"], feature["properties"]["dst"]) == (row["src"], row["dst"])
            ]
            part = shapely.clip_by_rect(due, -64, -64, 4160, 4160)
            assert len(found) == (not part.is_empty and part.length > 1) or part.length <= 1
            for shape in found:
                assert shapely.hausdorff_distance(shape, part) < 1.5
                seen += 1
    assert seen > 100


def test_areas_are_those_of_the_table(published, tiled):
    _, _, tiles = decoded(tiled[1])
    rows = pq.read_table(published.path / "isochrone_polygons").to_pylist()
    row = next(row for row in rows if row["geometry"] is not None)
    due = shapely.from_wkb(row["geometry"])
    lowest = min(zxy for zxy, layers in tiles.items() if zxy[0] == 7)
    total = 0.0
    for zxy, layers in tiles.items():
        if zxy[0] == 7 and "isochrone_polygons" in layers:
            for feature in layers["isochrone_polygons"]["features"]:
                properties = feature["properties"]
                if (properties["source"], properties["threshold"]) == (row["source"], row["threshold"]):
                    shape = shapely.geometry.shape(feature["geometry"])
                    assert shape.is_valid
                    total += shapely.clip_by_rect(shape, 0, 0, 4096, 4096).area
    area = shapely.transform(due, lambda points: [tile_units(point, *lowest) for point in points]).area
    assert total == pytest.approx(area, rel=0.01)


def test_earlier_zooms_have_less_and_tables_may_be_chosen(published, tiled, tmp_path, capsys):
    made, path = tiled
    assert made.zooms[0] < 7 and made.zooms[-1] == 7
    again = write_tiles(published, tmp_path / "again.pmtiles", max_zoom=7)
    assert (tmp_path / "again.pmtiles").read_bytes() == path.read_bytes() and again == made
    out = tmp_path / "some.pmtiles"
    words = ["tiles", str(published.path), "--out", str(out), "--tables", "vertices,arcs", "--max-zoom", "5"]
    for _ in range(2):
        app(words, result_action="return_value", exit_on_error=False)
    assert "vertices" in capsys.readouterr().out
    _, metadata, _ = decoded(out)
    fields = {layer["id"]: layer["fields"] for layer in metadata["vector_layers"]}
    assert {*fields} == {"vertices", "arcs"} and fields["arcs"]["weight"] == "Number" and json.dumps(metadata)


def test_what_cannot_be_drawn_is_refused(published, tmp_path):
    with pytest.raises(BadConfig, match="wcc: has no geometries; those with geometries are"):
        write_tiles(published, tmp_path / "x.pmtiles", ["wcc"])
    with pytest.raises(BadConfig, match=r"arc: is not a table of this run.*did you mean 'arcs'"):
        write_tiles(published, tmp_path / "x.pmtiles", ["arc"])
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadConfig, match="is not a PMTiles file, and would be replaced"):
        write_tiles(published, tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine" and len([*tmp_path.iterdir()]) == 1
