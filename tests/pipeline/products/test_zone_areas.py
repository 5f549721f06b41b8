"""Zones that are areas: H3 cells and polygons of files, beside shapely, h3, GeoPandas, and the same zones as a column."""

import json

import geopandas
import h3
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from pipeline.config.loading import load_run, run_config
from pipeline.config.products.places import PlacesConfig
from pipeline.config.products.zones import ZonesConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest.places import read_places
from pipeline.ingest.zones import read_zones
from pipeline.inspection.check import check
from pipeline.run import run
from pipeline.steps.products.zones.shapes import Shapes
from tests.pipeline.products.calls import matrix_into
from tests.pipeline.products.conftest import SIDE, network, write_network

# Two squares that share the side x = 3, a zone in a corner that overlaps one of them, and nothing above y = 5.
SQUARES = {"west": (-1, -1, 3, 5), "east": (3, -1, 7, 5), "corner": (5, 3, 7, 5)}


def zone_of(x, y):
    """In a few lines: the smallest id of the squares that cover a point, boundaries included."""
    return min((name for name, (a, b, c, d) in SQUARES.items() if a <= x <= c and b <= y <= d), default=None)


def texts(frame):
    """The zones of a frame, None for none."""
    return [zone if isinstance(zone, str) else None for zone in frame["zone"]]


@pytest.fixture
def squares(tmp_path):
    """The squares as GeoJSON."""
    features = [
        {"type": "Feature", "properties": {"code": name}, "geometry": json.loads(shapely.to_geojson(shapely.box(*box)))}
        for name, box in SQUARES.items()
    ]
    (tmp_path / "squares.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return str(tmp_path / "squares.geojson")


@pytest.fixture
def graph(tmp_path, monkeypatch):
    """A graph's file, whose nodes have people and, as a column, the zones that the squares would give."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    config = write_network(tmp_path)
    rows = [(v, v % 5, zone_of(v % SIDE, v // SIDE) if v < SIDE**2 else None) for v in sorted(network())]
    columns = dict(zip(("vertex", "people", "square"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "zoned.parquet")
    text = f'source = "{config.source}"\ncoordinates = "{config.coordinates}"\nnodes = "zoned.parquet"\ndirected = true\n'
    (tmp_path / "graph.toml").write_text(text)
    return str(tmp_path / "graph.toml")


def test_polygons_group_as_a_column_of_the_same_zones(tmp_path, graph, squares):
    asked = {"zone_weight": "people", "backend": "cpu"}
    made = matrix_into(graph, tmp_path / "areas", **asked, zone=squares, zones={"id": "code"})
    matrix_into(graph, tmp_path / "column", **asked, zone="square")
    assert pq.read_table(tmp_path / "areas").equals(pq.read_table(tmp_path / "column"))
    assert made.facts["without_zone"] == 7 + 2 and made.facts["in_several_zones"] == 6 + 6
    zones = geopandas.read_parquet(tmp_path / "areas" / "_zones")
    assert zones.crs == "OGC:CRS84" and texts(zones) == ["corner", "east", "west", None]
    assert zones["vertices"].tolist() == [sum(zone_of(v % SIDE, v // SIDE) == name for v in range(SIDE**2)) + 2 * (not name)
                                          for name in texts(zones)]  # fmt: skip
    assert zones.geometry[1].equals(shapely.box(*SQUARES["east"])) and zones.geometry[3] is None
    again = matrix_into(graph, tmp_path / "areas", **asked, zone=squares, zones={"id": "code"})
    assert again.reused


def test_cells_are_those_of_h3(tmp_path, graph):
    matrix_into(graph, tmp_path / "m", zone="h3:3", backend="cpu")
    zones = geopandas.read_parquet(tmp_path / "m" / "_zones")
    due = pandas.Series([h3.latlng_to_cell(v // SIDE, v % SIDE, 3) for v in range(SIDE**2)]).value_counts().sort_index()
    assert texts(zones) == [*due.index, None] and zones["vertices"].tolist() == [*due, 2]
    assert all(zones.geometry[at].equals(shapely.Polygon([(x, y) for y, x in h3.cell_to_boundary(cell)]))
               for at, cell in enumerate(due.index))  # fmt: skip


def test_a_zone_may_be_one_vertex(tmp_path, graph, squares):
    """The one nearest to the mean place of its people, against NumPy; its distances are those of the matrix."""
    asked = {"zone": squares, "zones": {"id": "code"}, "backend": "cpu", "zone_ends": "centre"}
    matrix_into(graph, tmp_path / "m", **asked, zone_weight="people")
    matrix_into(graph, tmp_path / "plain", backend="cpu")
    zones = pq.read_table(tmp_path / "m" / "_zones").to_pydict()
    due = []
    for name in sorted(SQUARES):
        inside = [v for v in range(SIDE**2) if zone_of(v % SIDE, v // SIDE) == name]
        east, north = np.radians(np.array([(v % SIDE, v // SIDE) for v in inside], float).T)
        vectors = np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=1)
        centre = np.average(vectors, axis=0, weights=[v % 5 for v in inside])
        apart = np.linalg.norm(vectors - centre / np.linalg.norm(centre), axis=1)
        due.append(inside[int(np.argmin(apart))])
    assert zones["source"] == zones["target"] == [*due, None]
    rows = {(row["source_zone"], row["target_zone"]): row for row in pq.read_table(tmp_path / "m").to_pylist()}
    plain = {(row["source"], row["target"]): row["distance"] for row in pq.read_table(tmp_path / "plain").to_pylist()}
    names = dict(zip(sorted(SQUARES), due, strict=True))
    assert {key: row["min"] for key, row in rows.items()} == {(a, b): plain[names[a], names[b]] for a in names for b in names}
    assert (
        all(row["pairs"] == 1 for row in rows.values())
        and "weighted_mean" not in pq.read_schema(tmp_path / "m" / "part-00000.parquet").names
    )
    matrix_into(graph, tmp_path / "centroid", **asked)
    source = pq.read_table(tmp_path / "centroid" / "_zones")["source"].to_pylist()
    assert source[1] == 2 * SIDE + 5  # the centroid of `east` is (5, 2)


@pytest.mark.parametrize("weighted", [True, False])
def test_products_of_a_run_by_zones(tmp_path, graph, squares, weighted):
    text = f"""output = "out"
graph = "graph.toml"
stages = ["wcc"]
zones = {{ id = "code" }}
[nearest]
facilities = "facilities.csv"
count = 2
zone = "squares.geojson"
[isochrones]
thresholds = [2, 5]
sums = ["people"]
zone = "squares.geojson"
{'zone_weight = "people"' if weighted else ""}
"""
    (tmp_path / "run.toml").write_text(text)
    config = load_run(tmp_path / "run.toml")
    assert any("squares.geojson" in str(file) for file in config.files)
    assert any(squares in str(one.file) and "3 zones" in one.how for one in check(config).files)
    made = run(config)
    nearest = geopandas.read_parquet(made.path / "nearest_zones")
    assert texts(nearest) == ["corner"] * 2 + ["east"] * 2 + ["west"] * 2 + [None] * 2
    assert nearest.geometry[5].equals(shapely.box(*SQUARES["west"])) and nearest.geometry[6] is None
    assert {*nearest.geometry.geom_type[:6]} == {"Polygon"}
    rows, found = pandas.read_parquet(made.path / "isochrones"), geopandas.read_parquet(made.path / "isochrone_zones")
    rows["zone"] = [zone_of(v % SIDE, v // SIDE) if v < 49 else None for v in rows["source"]]
    rows["weight"] = [v % 5 if weighted else 1 for v in rows["source"]]
    due = [
        (zone, threshold, len(group), *(np.average(group[name], weights=group["weight"]) for name in ("vertices", "people")))
        for (zone, threshold), group in rows.groupby(["zone", "threshold"], dropna=False)
    ]
    assert texts(found) == [zone if zone == zone else None for zone, *_ in due] and len(found) == 8
    for row, (_, threshold, sources, *means) in zip(found.itertuples(), due, strict=True):
        assert (row.threshold, row.sources) == (threshold, sources)
        assert [row.vertices, row.people] == pytest.approx(means, rel=1e-14)
    assert "Isochrones by zones" in (made.path / "report.html").read_text()


def test_sources_that_are_places_are_in_the_zones_of_their_coordinates(tmp_path, graph, squares):
    """A place just across a boundary is in the zone where it is, not in that of its vertex."""
    (tmp_path / "schools.csv").write_text("id,lon,lat\na,3.0001,1\nb,2.9999,1\nc,0,0\n")
    content = {"graph": write_network(tmp_path).model_dump(), "output": tmp_path / "out", "stages": ["wcc"]}
    asked = {"thresholds": [3], "sources": str(tmp_path / "schools.csv"), "zone": squares}
    made = run(run_config("test", **content, isochrones=asked, zones={"id": "code"}))
    rows = pq.read_table(made.path / "isochrone_zones").to_pydict()
    assert rows["zone"] == ["east", "west"] and rows["sources"] == [1, 2]


def test_files_are_read_as_geopandas_writes_them(tmp_path):
    frame = geopandas.GeoDataFrame(
        {"id": [3, 1]}, geometry=[shapely.box(700_000, 4_500_000, 700_100, 4_500_100), shapely.box(0, 0, 1, 1)][:1] * 2, crs=32632
    )
    frame.to_parquet(tmp_path / "utm.parquet")
    zones = read_zones(str(tmp_path / "utm.parquet"), ZonesConfig())
    due = frame.to_crs("OGC:CRS84").geometry
    assert zones.ids.to_pylist() == [1, 3] and all(shapely.equals_exact(zones.shapes, due.values, 1e-9))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("POINT (1 2)", "row 0: zone 'a' has a Point; it needs a Polygon or a MultiPolygon"),
        (None, "row 0: zone 'a' has no geometry"),
        ("POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))", "row 0: zone 'a' is not a valid polygon: Self-intersection"),
        ("POLYGON ((-170 0, 170 0, 170 1, -170 0))", "row 0: zone 'a' spans 180 degrees of longitude or more; cut it"),
        ("POLYGON ((0 0, 200 0, 200 95, 0 0))", "row 0: 200,0 cannot be converted to degrees"),
    ],
)
def test_shapes_that_are_no_zones_are_refused(tmp_path, shape, words):
    table = pa.table({"id": ["a"], "geometry": pa.array([shape and shapely.to_wkb(shapely.from_wkt(shape))], pa.binary())})
    pq.write_table(table, tmp_path / "z.parquet")
    with pytest.raises(BadInput, match=words):
        read_zones(str(tmp_path / "z.parquet"), ZonesConfig(crs="OGC:CRS84"))


def test_ambiguous_files_and_keys_are_refused(tmp_path, graph, squares):
    with pytest.raises(BadInput, match="has no column 'id' among 'code'"):
        read_zones(squares, ZonesConfig())
    pq.write_table(pa.table({"id": [1], "geometry": [b"x"]}), tmp_path / "z.parquet")
    with pytest.raises(BadInput, match=r"no GeoParquet, and so states no crs; state it by `crs` below \[zones\]"):
        read_zones(str(tmp_path / "z.parquet"), ZonesConfig())
    with pytest.raises(BadConfig, match="zone: names no resolution of H3: write h3:0 to h3:15"):
        matrix_into(graph, tmp_path / "m", zone="h3:16")
    with pytest.raises(BadConfig, match="zone_ends needs zone"):
        matrix_into(graph, tmp_path / "m", zone_ends="centre")
    content = {"graph": {"source": "x.csv"}, "output": tmp_path, "nearest": {"facilities": "f", "zone": "h3:8"}}
    from pipeline.config.effects import idle_keys

    assert next(idle_keys(run_config("test", **content, zones={"id": "code"})))[0] == "zones.id"
    (tmp_path / "plain.toml").write_text(f'source = "{tmp_path}/e.parquet"\n')
    with pytest.raises(BadConfig, match=r"matrix\.zone: the graph has no coordinates"):
        matrix_into(str(tmp_path / "plain.toml"), tmp_path / "m", zone="h3:8", backend="cpu")


def test_a_cell_across_the_180th_meridian_is_cut_there():
    cell = h3.latlng_to_cell(65, 179.999, 5)
    outline = shapely.from_wkb(Shapes(5).outlines(pa.array([cell, None]))[0].as_py())
    assert outline.geom_type == "MultiPolygon" and outline.is_valid and outline.bounds[::2] == (-180, 180)
    assert outline.area == pytest.approx(0.0578, abs=0.01)
    pole = h3.latlng_to_cell(89.9999, 0, 0)
    assert Shapes(0).outlines(pa.array([pole])).null_count == 1


def test_a_wrong_crs_is_blamed_on_what_states_it(tmp_path):
    """A file's own, or the configuration's."""
    area, point = (pa.array([shapely.to_wkb(shape)], pa.binary()) for shape in (shapely.box(0, 0, 1, 1), shapely.Point(0, 0)))
    path, described = tmp_path / "z.parquet", {"encoding": "WKB", "geometry_types": [], "crs": {"type": "Nonsense"}}
    for read, config, shapes in ((read_zones, ZonesConfig, area), (read_places, PlacesConfig, point)):
        table = pa.table({"id": [1], "geometry": shapes})
        geo = json.dumps({"primary_column": "geometry", "columns": {"geometry": described}})
        pq.write_table(table.replace_schema_metadata({"geo": geo}), path)
        with pytest.raises(BadConfig, match=r"^.*z\.parquet: its crs: .*Nonsense.* is not a coordinate reference system"):
            read(str(path), config(crs="EPSG:2263"))
        pq.write_table(table, path)
        with pytest.raises(BadConfig, match=r"^(zones|places)\.crs: 'EPSG:1' is not a coordinate reference system"):
            read(str(path), config(crs="EPSG:1"))
