"""Centroids of shapes in files of places, against those of GEOS."""

import json
import random

import geopandas
import pyarrow.parquet as pq
import pytest
import shapely
from shapely.affinity import rotate, translate

from pipeline.config.products.places import PlacesConfig
from pipeline.errors import BadInput
from pipeline.ingest.places import read_places

HOUSE = shapely.Polygon([(0, 0), (4, 0), (4, 3), (0, 3)], [[(1, 1), (1, 2), (2, 2), (2, 1)]])
SHAPES = {
    "polygon": HOUSE,
    "other way round": shapely.reverse(HOUSE),
    "polygon with heights": shapely.force_3d(HOUSE, 9),
    "two polygons": shapely.MultiPolygon([HOUSE, translate(HOUSE, 9, 5).buffer(-0.2)]),
    "line": shapely.LineString([(0, 0), (1, 0), (1, 5)]),
    "lines": shapely.MultiLineString([[(0, 0), (1, 0)], [(5, 5), (9, 9), (9, 5)]]),
    "points": shapely.MultiPoint([(0, 0), (1, 0), (1, 5)]),
    "areas before others": shapely.GeometryCollection([HOUSE, shapely.Point(70, 7), shapely.LineString([(8, 8), (9, 9)])]),
    "no area": shapely.Polygon([(0, 0), (2, 2), (4, 4), (0, 0)]),
    "no length": shapely.LineString([(3, 4), (3, 4)]),
    "point": shapely.Point(5, 6),
    "far from zero": translate(rotate(HOUSE, 20), 170, 60),
    "random": shapely.Polygon([(random.Random(n).random(), n) for n in range(50)] + [(-9, 20)]),
}


def places_in(path, **config):
    return read_places(str(path), PlacesConfig(shapes="centroid", **config)).degrees.tolist()


@pytest.mark.parametrize("form", ["geojson", "geoparquet"])
def test_centroids_are_those_of_geos(tmp_path, form):
    frame = geopandas.GeoDataFrame({"id": [*SHAPES]}, geometry=[*SHAPES.values()], crs="OGC:CRS84")
    path = tmp_path / f"p.{form}"
    frame.to_parquet(path) if form == "geoparquet" else frame.to_file(path, driver="GeoJSON")
    for (name, shape), place in zip(SHAPES.items(), places_in(path), strict=True):
        assert place == pytest.approx([shape.centroid.x, shape.centroid.y], rel=1e-12, abs=1e-12), name


def test_centroids_in_metres_are_converted(tmp_path):
    """Also where the outline is wider than 180 metres."""
    square = shapely.box(2_600_000, 1_199_000, 2_600_400, 1_199_200)
    geopandas.GeoDataFrame({"id": [1]}, geometry=[square], crs="EPSG:2056").to_parquet(tmp_path / "p.parquet")
    ((lon, lat),) = geopandas.GeoSeries([square.centroid], crs="EPSG:2056").to_crs("OGC:CRS84").get_coordinates().to_numpy()
    assert places_in(tmp_path / "p.parquet") == [pytest.approx([lon, lat], abs=1e-9)]


@pytest.mark.parametrize(
    ("geometry", "words"),
    [
        (shapely.MultiPolygon([shapely.box(179, 0, 180, 1), shapely.box(-180, 0, -179, 1)]), "spans 180 degrees of longitude"),
        (shapely.Polygon(), "has no coordinates"),
        ({"type": "Circle", "coordinates": [1, 2]}, "is a Circle, which is no shape"),
        ({"type": "Polygon", "coordinates": 5}, "coordinates 5 are not a list"),
        ({"type": "Polygon", "coordinates": [[[1, "2"]]]}, r"coordinates .* are not \[X, Y\]"),
        ({"type": "GeometryCollection"}, "coordinates None are not a list"),
    ],
)
def test_what_has_no_centroid_is_refused(tmp_path, geometry, words):
    given = geometry if isinstance(geometry, dict) else json.loads(shapely.to_geojson(geometry))
    features = [{"type": "Feature", "id": 7, "geometry": given, "properties": {}}]
    (tmp_path / "p.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    with pytest.raises(BadInput, match=rf"p\.geojson: (feature|row) 0: {words}"):
        places_in(tmp_path / "p.geojson")
    if not isinstance(geometry, dict):
        geopandas.GeoDataFrame({"id": [7]}, geometry=[geometry], crs="OGC:CRS84").to_parquet(tmp_path / "p.parquet")
        with pytest.raises(BadInput, match=rf"row 0: (geometry )?{words}"):
            places_in(tmp_path / "p.parquet")


@pytest.mark.parametrize("damage", ["cut", "longer", "kind"])
def test_damaged_binary_is_refused(tmp_path, damage):
    geopandas.GeoDataFrame({"id": [1]}, geometry=[HOUSE], crs="OGC:CRS84").to_parquet(tmp_path / "p.parquet")
    table = pq.read_table(tmp_path / "p.parquet")
    whole = HOUSE.wkb
    wrong = {"cut": whole[:-9], "longer": whole + b"\0", "kind": b"\1\x63" + whole[2:]}[damage]
    damaged = table.set_column(1, "geometry", [[wrong]]).replace_schema_metadata(table.schema.metadata)
    pq.write_table(damaged, tmp_path / "p.parquet")
    with pytest.raises(BadInput, match=r"row 0: geometry is (not WKB|of type 99)"):
        places_in(tmp_path / "p.parquet")


def test_shapes_are_refused_unless_centroids_are_asked_for(tmp_path):
    geopandas.GeoDataFrame({"id": [1]}, geometry=[HOUSE], crs="OGC:CRS84").to_parquet(tmp_path / "p.parquet")
    with pytest.raises(BadInput, match=r'row 0: geometry is a Polygon, not a point; .* set shapes = "centroid" below \[places\]'):
        read_places(str(tmp_path / "p.parquet"), PlacesConfig())
