"""Tiles of streets beside table `arcs`, as GDAL reads them, which decodes PMTiles and vector tiles by its own code."""

import math
import random

import numpy as np
import pandas
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely

from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.tiles import write_tiles
from tests.ingest.osm.extracts import Node, Way, write

AROUND = 2 * math.pi * 6378137  # metres of Web Mercator
KEY = ["src", "dst", "way"]
PIXEL = 16  # units: shorter streets are left out below the last zoom


def bent_streets(seed, west):
    """Streets with many points that cross tiles several times, loops, one that crosses itself, and short ones."""
    chosen, nodes, ways = random.Random(seed), {}, []

    def node(x, y):
        x = west + x
        nodes[len(nodes) + 1] = Node(len(nodes) + 1, round(x - 360 if x > 180 else x, 7), round(y, 7))
        return len(nodes)

    corners = [node(chosen.uniform(0, 0.4), chosen.uniform(50, 50.3)) for _ in range(12)]
    for number in range(25):
        one, other = chosen.choices(corners, k=2)  # perhaps the same: a loop
        at, points = [(nodes[corner].lon - west) % 360 for corner in (one, other)], [one]
        for step in range(1, chosen.choice([2, 9, 40])):
            share = step / 40
            x = (1 - share) * at[0] + share * at[1] + chosen.uniform(-0.03, 0.03)
            points.append(node(x, (1 - share) * nodes[one].lat + share * nodes[other].lat + chosen.uniform(-0.03, 0.03)))
        tags = {"highway": chosen.choice(["residential", "primary"]), "oneway": chosen.choice(["yes", "no"])}
        ways.append(Way(2**33 + number, [*points, other], tags, name=chosen.choice(["Straße", "Rue d'Été", ""])))
    for _ in range(5):  # of a few metres
        x, y = chosen.uniform(0, 0.4), chosen.uniform(50, 50.3)
        ends = node(x, y), node(x + 1e-5, y), node(x + 2e-5, y + 1e-5)
        ways.append(Way(2**33 + 100 + len(ways), ends, {"highway": "service"}))
    return [*nodes.values()], ways


def plane(degrees):
    """Web Mercator in metres, by the formula of EPSG:3857."""
    lon, lat = np.radians(degrees).T
    return np.stack([6378137 * lon, 6378137 * np.log(np.tan(math.pi / 4 + lat / 2))], axis=1)


@pytest.fixture(scope="module", params=[(1, 5.0), (2, 179.8)], ids=["inland", "meridian"])
def tiled(request, tmp_path_factory):
    """The published arcs of streets, and their tiles."""
    folder = tmp_path_factory.mktemp("streets")
    write(folder / "a.osm.pbf", *bent_streets(*request.param))
    graph = {"source": str(folder / "a.osm.pbf"), "osm": {"profile": "car", "weight": "distance"}}
    published = run(run_config("test", graph=graph, output=folder / "out", stages=["wcc"], arcs=True))
    made = write_tiles(published, folder / "map.pmtiles", ["arcs"])
    return pq.read_table(published.path / "arcs"), folder / "map.pmtiles", made


def features(path, zoom, clip="NO"):
    return pyogrio.read_dataframe(path, layer="arcs", ZOOM_LEVEL=str(zoom), CLIP=clip)


def keys_of(rows):
    return [*zip(*(rows[name] for name in KEY), strict=True)]


def test_streets_are_those_of_the_table_at_each_zoom(tiled):
    table, path, made = tiled
    rows = table.to_pandas()
    lines = shapely.transform(shapely.from_wkb(rows["geometry"]), plane)
    assert {"MultiLineString", "LineString"} >= {line.geom_type for line in lines} and len(rows) > 30
    assert made.zooms[-1] == 13 and made.zooms[0] < 10
    left = 0
    for zoom in made.zooms:
        unit, last = AROUND / 4096 / 2**zoom, zoom == made.zooms[-1]
        found = features(path, zoom)
        parts = dict(iter(found.groupby(KEY))) if len(found) else {}
        for key, row, line in zip(keys_of(rows), rows.to_dict("records"), lines, strict=True):
            of_street = parts.get(key)
            if of_street is None:
                west, south, east, north = shapely.bounds(shapely.get_parts(line)).T
                assert not last and max(*(east - west), *(north - south)) < PIXEL * unit, (zoom, key)
                left += 1
                continue
            assert last or line.length > (PIXEL - 4) * unit
            for name in ("weight", "length", "name", "class"):
                values = {None if pandas.isna(value) else value for value in of_street.get(name, [None])}
                assert values == {None if pandas.isna(row[name]) else row[name]}, (zoom, key, name)
            shown = shapely.union_all(of_street.geometry.to_numpy())
            # Half a unit each way by rounding and, below the last zoom, a unit by simplifying.
            assert shapely.hausdorff_distance(shown, line, 0.05) < (0.8 + (not last)) * unit, (zoom, key)
        assert {*parts} <= {*keys_of(rows)}
    assert left


def test_streets_go_on_behind_the_edges_of_tiles(tiled):
    """What is in each tile itself, without what is drawn around it, is the whole street once."""
    table, path, made = tiled
    rows = table.to_pandas()
    lines = dict(zip(keys_of(rows), shapely.transform(shapely.from_wkb(rows["geometry"]), plane), strict=True))
    zoom = made.zooms[-1]
    unit, found = AROUND / 4096 / 2**zoom, features(path, zoom, "YES")
    crossing = 0
    for key, parts in found.groupby(KEY):
        points = shapely.get_num_coordinates(lines[key])
        assert abs(parts.geometry.length.sum() - lines[key].length) < 2 * unit * (points + 2 * len(parts)), key
        crossing += len(parts) > 2
    assert crossing > 10
