"""Files of places: what spreadsheets, GeoPandas and GIS programs write, and what is refused with its row."""

import json
import math
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyproj
import pytest

from pipeline.config.loading import run_config
from pipeline.config.products.places import PlacesConfig, is_table
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest.places import count_places, read_places

BY_GEOPANDAS = Path(__file__).with_name("by_geopandas")  # written by GeoPandas 1.2.0
HOSPITALS = {
    "H1": ("Bellevue", 900, -73.9754, 40.7390),
    "H2": ("Élysée, north", 120, -73.9712, 40.7831),
    "H3": ("Harlem", None, -73.9401, 40.8145),
    "H4": (None, 40, -73.9755, 40.7391),
}


def rows(file, **config):
    read = read_places(str(file), PlacesConfig(**config))
    names = [None] * len(read) if read.names is None else read.names.to_pylist()
    return {one: (name, *of) for one, name, of in zip(read.ids.to_pylist(), names, read.degrees.tolist(), strict=True)}


def written(folder, text, name="places.csv"):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("degrees.parquet", {}),
        ("geoarrow.parquet", {}),
        ("feet.parquet", {}),
        ("unknown.parquet", {"crs": "EPSG:2263"}),
        ("places.geojson", {}),
    ],
)
def test_what_geopandas_writes(name, config):
    file = BY_GEOPANDAS / name
    read = rows(file, **config)
    for one, (title, _, lon, lat) in HOSPITALS.items():
        assert read[one][0] == title
        assert read[one][1:] == pytest.approx((lon, lat), abs=1e-9)
    more = read_places(str(file), PlacesConfig(**config)).more
    assert more.to_pydict() == {"beds": [beds for _, beds, _, _ in HOSPITALS.values()]}
    assert count_places(str(file), file) == len(HOSPITALS)


def test_geojson_of_another_system_is_refused():
    with pytest.raises(BadInput, match=r"feet\.geojson: states crs 'urn:.*2263'; GeoJSON has degrees \(RFC 7946\)"):
        rows(BY_GEOPANDAS / "feet.geojson")
    with pytest.raises(BadInput, match=r"column 'geometry' states that its crs is unknown; state it by `crs` below \[places\]"):
        rows(BY_GEOPANDAS / "unknown.parquet")


@pytest.mark.parametrize(
    ("text", "name", "config"),
    [
        ("id,name,lon,lat\n7,a,1.5,2\n8,,-3,4\n", "p.csv", {}),
        ("\ufeffLatitude;Longitude;Name;ID\r\n2;1.5;a;7\r\n4;-3;;8\r\n", "p.csv", {}),
        ("id\tx\ty\tname\n7\t1.5\t2\ta\n8\t-3\t4\t\n", "p.tsv", {}),
        ("place|name|lng|lat\n7|a| 1.5 |2\n8||-3|4\n", "p.txt", {"id": "place", "delimiter": "|"}),
        ('"id","title","lon","y","lat"\n"7","a","1.5","9","2"\n8,,-3,9,4\n', "p.csv", {"name": "title", "lat": "lat"}),
    ],
)  # fmt: skip
def test_tables_as_programs_write_them(tmp_path, text, name, config):
    file = written(tmp_path, text, name)
    assert is_table(file, PlacesConfig(**config).named)
    assert rows(file, **config) == {7: ("a", 1.5, 2.0), 8: (None, -3.0, 4.0)}


def test_one_id_in_another_form_makes_all_of_them_texts(tmp_path):
    text = "id,lon,lat\n007,1,2\n7,1,2\n"
    assert rows(written(tmp_path, text)) == {"007": (None, 1.0, 2.0), "7": (None, 1.0, 2.0)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,lon,lat\n1,2,3\n2,,3\n", r"row 1: has no coordinates \(lon and lat\)"),
        ("id,lon,lat\n1,2,3\n2,nan,3\n", "row 1: has no coordinates"),
        ("id,lon,lat\n1,2,3\n1,2,4\n", "row 1: id 1 is that of row 0, too; each place has its own id"),
        ("id,lon,lat\na,2,3\n,2,4\n", "row 1: id, the id, is null"),
        ("id,lon,lat\n1,2,3\n2,7°,4\n", "row 1: lon '7°' is not a number"),
        ("id,lon,lat\n1,2,3\n2,7,91\n", r"row 1: 7,91 is not LON,LAT in .* degrees; state the system .* by `crs`"),
        ("id,lon,lat\n1,2,3\n2,inf,9\n", "row 1: inf,9 is not LON,LAT"),
        ("id,lon,x,lat\n1,2,3,4\n", "columns 'lon', 'x' may each be the lon; name one of them by `lon` below"),
        ("id,ID,lon,lat\n1,2,3,4\n", "columns 'id', 'ID' may each be the id"),
        ("who,lon,lat\n1,2,3\n", "has no column 'id' among 'who', 'lon', 'lat'; name it by `id` below"),
        ("id,lon,lat,metres\n1,2,3,4\n", "column 'metres' has the name of a column of table places; rename it"),
        ("id,lon,lat\n1,2\n", "CSV parse error: Expected 3 columns, got 2"),
        ("id,lon,lon,lat\n1,2,3,4\n", "two columns have the name 'lon'"),
        ("id,lon,lat\n", "contains no place"),
    ],
)
def test_what_is_wrong_with_a_row_or_a_column_is_said(tmp_path, text, words):
    with pytest.raises(BadInput, match=rf"places\.csv: {words}"):
        rows(written(tmp_path, text))


def feature(x, y, **properties):
    return {"type": "Feature", "geometry": {"type": "Point", "coordinates": [x, y]}, "properties": properties}


def geojson(folder, *features, **members):
    return written(folder, json.dumps({"type": "FeatureCollection", "features": features} | members), "p.geojson")


def test_features_have_ids_of_their_own_or_as_a_property(tmp_path):
    tags = {"phone": "5", "beds": {"a": 1}}
    file = geojson(tmp_path, feature(1, 2, lon=9, **tags) | {"id": "n/1"}, feature(3, 4, phone=6) | {"id": "n/2"})
    assert rows(file) == {"n/1": (None, 1.0, 2.0), "n/2": (None, 3.0, 4.0)}
    more = read_places(str(file), PlacesConfig()).more.to_pydict()
    assert more == {"phone": ["5", "6"], "beds": ['{"a": 1}', None]}
    assert rows(geojson(tmp_path, feature(1, 2, id=5, name="x")))[5] == ("x", 1.0, 2.0)
    polygon = feature(1, 2, id=1) | {"geometry": {"type": "Polygon", "coordinates": []}}
    for features, words in (
        ([feature(1, 2, id=1), feature(1, 2, id=2) | {"geometry": None}], "row 1: has no coordinates"),
        ([polygon], "feature 0: is a Polygon, not a Point"),
        ([feature(1, 2, id=1) | {"id": 2}], "feature 0: has id '2', and '1' as a property"),
        ([feature(1, "2", id=1)], r"feature 0: coordinates \[1, '2'\] are not \[LON, LAT\]"),
        ([feature(1, 2)], "has no column 'id'"),
        ([{"type": "Point"}], "feature 0 is not a Feature"),
    ):
        with pytest.raises(BadInput, match=words):
            rows(geojson(tmp_path, *features))
    with pytest.raises(BadInput, match="is not GeoJSON: "):
        rows(written(tmp_path, '{"type": "FeatureCollection", ', "p.geojson"))


def geoparquet(folder, geometries, **column):
    described = {"encoding": "WKB", "geometry_types": ["Point"]} | column
    geo = {"version": "1.1.0", "primary_column": "place", "columns": {"place": described}}
    table = pa.table({"id": [*range(len(geometries))], "place": pa.array(geometries, pa.binary())})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), folder / "p.parquet")
    return folder / "p.parquet"


def test_points_of_any_writer(tmp_path):
    """Big-endian, with Z and M, EWKB with an SRID; and shapes that are no points."""
    nan = math.nan
    points = [
        struct.pack("<BIdd", 1, 1, 5, 6), struct.pack(">BIdd", 0, 1, 5, 6), struct.pack("<BIddd", 1, 1001, 5, 6, 7),
        struct.pack("<BIdddd", 1, 3001, 5, 6, 7, 8), struct.pack("<BIIdd", 1, 0x20000001, 4326, 5, 6),
        struct.pack("<BIddd", 1, 0x80000001, 5, 6, 7),
    ]  # fmt: skip
    assert rows(geoparquet(tmp_path, points)) == dict.fromkeys(range(len(points)), (None, 5.0, 6.0))
    assert rows(geoparquet(tmp_path, points[:1] * 3)) == dict.fromkeys(range(3), (None, 5.0, 6.0))
    for geometry, words in (
        (None, r"row 1: has no coordinates \(place\)"),
        (struct.pack("<BIdd", 1, 1, nan, nan), "row 1: has no coordinates"),
        (struct.pack("<BII", 1, 3, 0), "row 1: place is a Polygon, not a point; write a point of it"),
        (b"\x01\x01", "row 1: place is not WKB"),
        (b"", "row 1: place is not WKB"),
    ):
        with pytest.raises(BadInput, match=words):
            rows(geoparquet(tmp_path, [points[0], geometry]))
    nested = pa.table({"id": [1], "lon": [2.0], "lat": [3.0], "name": [{"de": "x"}]})
    pq.write_table(nested, tmp_path / "n.parquet")
    with pytest.raises(BadInput, match="'name'"):
        rows(tmp_path / "n.parquet")
    pq.write_table(nested.set_column(3, "name", pa.array([b"\xff"]).cast(pa.string(), safe=False)), tmp_path / "n.parquet")
    with pytest.raises(BadInput, match=r"row 0: name b'\\xff' is not UTF-8"):
        rows(tmp_path / "n.parquet")
    system = pyproj.CRS("EPSG:32632").to_json_dict()
    metres = struct.pack("<BIdd", 1, 1, 500_000, 5_200_000)
    ((_, lon, lat),) = rows(geoparquet(tmp_path, [metres], crs=system)).values()
    assert (lon, lat) == pytest.approx((9.0, 46.953), abs=1e-3)  # 500 km is the central meridian of zone 32


def test_projected_columns(tmp_path):
    """New York's feet, as EPSG:2263 has them; degrees in this system are refused, because they are nowhere near."""
    file = written(tmp_path, "id,x,y\n1,991067.117980272,208515.192638854\n")
    assert rows(file, crs="EPSG:2263")[1][1:] == pytest.approx((-73.9754, 40.7390), abs=1e-8)
    with pytest.raises(BadInput, match=r"row 0: 991067\.118,208515\.1926 is not LON,LAT in .* state the system"):
        rows(file)
    with pytest.raises(BadInput, match=r"row 0: -73\.9754,40\.739 is .* in degrees, where NAD83 .* is not used, nor are"):
        rows(written(tmp_path, "id,lon,lat\n1,-73.9754,40.7390\n"), crs="EPSG:2263")
    with pytest.raises(BadConfig, match=r"places\.crs: 'EPSG:99999' is not a coordinate reference system"):
        rows(file, crs="EPSG:99999")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7\n8\n", False), ("7.44,46.94\n7.45,46.95\n", False), ("6,30\n", False), ("vertex\n7\n", False),
        ("Doe, John\n", False), ("id,lon,lat\n", True), ("id;vertex\n", True), ('{"type": "FeatureCollection"}', True),
    ],
)  # fmt: skip
def test_which_text_is_a_table(tmp_path, text, expected):
    file = written(tmp_path, text)
    assert is_table(file) == expected
    config = run_config("test", graph={"source": "g.csv"}, output=tmp_path, sources=str(file))
    assert isinstance(config.sources, str) == expected


def test_many_rows_are_read_as_few_are(tmp_path):
    points = np.random.default_rng(2).uniform(-80, 80, (5000, 2))
    lines = [f"p{row},{x!r},{y!r}\n" for row, (x, y) in enumerate(points.tolist())]
    read = read_places(str(written(tmp_path, "id,lon,lat\n" + "".join(lines))), PlacesConfig())
    assert np.array_equal(read.degrees, points)
    assert read.ids.to_pylist() == [f"p{row}" for row in range(5000)]
