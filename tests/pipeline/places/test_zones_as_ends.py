"""Zones as sources, targets and facilities: for each of them stands the vertex nearest to its centre."""

import json
from functools import partial
from unittest.mock import patch

import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from pipeline.config.loading import load_run
from pipeline.config.products.places import PlacesConfig
from pipeline.config.products.zones import ZonesConfig
from pipeline.errors import BadConfig, BadInput, BadSource, ProofFailed
from pipeline.ingest.zones.detect import names_zones
from pipeline.inspection.check import check
from pipeline.inspection.estimate import estimate
from pipeline.run import run
from pipeline.steps.places.proof import CENTRAL
from pipeline.steps.products.zones import Zones, centres
from pipeline.steps.products.zones.central import require_central
from pipeline.steps.products.zones.shapes import Shapes
from pipeline.tables.points import on_sphere
from tests.ingest.osm.extracts import write
from tests.pipeline.products.calls import matrix_into, trees_into
from tests.pipeline.turns.router import town

CELLS = "h3:10"
WEST, EAST = shapely.box(-0.001, -0.001, 0.0021, 0.01), shapely.box(0.0021, -0.001, 0.01, 0.01)


def features(shapes):
    """GeoJSON of shapes by their ids."""
    rows = [{"type": "Feature", "id": name, "properties": {"beds": 3}, "geometry": json.loads(shapely.to_geojson(shape))}
            for name, shape in shapes.items()]  # fmt: skip
    return json.dumps({"type": "FeatureCollection", "features": rows})


@pytest.fixture
def graph(tmp_path, monkeypatch):
    """A town, on whose turns restrictions hold, with pupils at its crossings; and two halves of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    nodes, ways, turns = town(4)
    write(tmp_path / "a.osm.pbf", nodes, ways, turns=turns)
    (tmp_path / "nodes.csv").write_text("vertex,pupils\n" + "".join(f"{node.id},{node.id % 4}\n" for node in nodes))
    (tmp_path / "halves.geojson").write_text(features({"west": WEST, "east": EAST}))
    (tmp_path / "graph.toml").write_text('source = "a.osm.pbf"\nnodes = "nodes.csv"\n[osm]\nprofile = "car"\n')
    return str(tmp_path / "graph.toml")


@pytest.mark.parametrize("attach", ["vertices", "streets"])
@pytest.mark.parametrize("zone", [CELLS, "halves.geojson"])
@pytest.mark.parametrize("centre", ["pupils", None])
def test_distances_are_those_of_a_matrix_by_zones(tmp_path, graph, zone, centre, attach):
    """Of zones for which one vertex stands."""
    zone = zone if zone == CELLS else str(tmp_path / zone)
    asked = {"sources": zone, "targets": zone, "places": {"attach": attach}, "backend": "cpu"}
    matrix_into(graph, tmp_path / "ends", **asked, zones={"centre": centre} if centre else {})
    matrix_into(graph, tmp_path / "zones", zone=zone, zone_weight=centre, zone_ends="centre", backend="cpu")
    rows = pq.read_table(tmp_path / "ends").to_pylist()
    due = {(row["source_zone"], row["target_zone"]): row["min"] for row in pq.read_table(tmp_path / "zones").to_pylist()}
    assert {(row["source_place"], row["target_place"]): row["distance"] for row in rows} == due
    zones = pq.read_table(tmp_path / "zones" / "_zones").to_pylist()
    stands = {row["source_place"]: row["source"] for row in rows}
    assert stands == {row["zone"]: row["source"] for row in zones if row["source"] is not None} and len(stands) >= 2
    places = pq.read_table(tmp_path / "ends" / "_places")
    assert {*places["metres"].to_pylist()} == {0.0} and {*places["key"].to_pylist()} == {"sources", "targets"}
    if zone == CELLS:
        assert all(h3.latlng_to_cell(row["lat"], row["lon"], 10) == row["id"] for row in places.to_pylist())
    assert matrix_into(graph, tmp_path / "ends", **asked, zones={"centre": centre} if centre else {}).reused


def test_a_run_with_zones(tmp_path, graph):
    """Every product that names vertices takes them, and so do the stages."""
    text = f"""output = "out"
graph = "graph.toml"
stages = ["bfs", "sssp", "pagerank"]
sources = "{CELLS}"
zones = {{ centre = "pupils" }}
[pagerank]
seeds = "halves.geojson"
[nearest]
facilities = "{CELLS}"
[isochrones]
sources = "halves.geojson"
thresholds = [20000, 60000]
sums = ["pupils"]
zone = "halves.geojson"
[closeness]
sources = "{CELLS}"
"""
    (tmp_path / "run.toml").write_text(text)
    config = load_run(tmp_path / "run.toml")
    assert [one.how for one in check(config).files if one.key == "nearest.facilities"] == [
        "zones, for each of which the vertex nearest to its centre stands"
    ]
    guessed = estimate(config)
    assert max(guessed.seconds.values()) < 60 and max(need.needed for need in guessed.needs) < 2**32
    made = run(config)
    matrix_into(graph, tmp_path / "m", zone=CELLS, zone_weight="pupils", zone_ends="centre", backend="cpu")
    central = {row["zone"]: row["source"] for row in pq.read_table(tmp_path / "m" / "_zones").to_pylist() if row["source"]}
    rows = pq.read_table(made.path / "closeness").to_pylist()
    assert {row["vertex_place"]: row["vertex"] for row in rows} == central
    nearest = pq.read_table(made.path / "nearest").to_pylist()
    assert {row["facility_place"]: row["facility"] for row in nearest} == central
    trees_into(graph, tmp_path / "t", sources=CELLS, zones={"centre": "pupils"}, backend="cpu")
    assert {*pq.read_table(tmp_path / "t")["source"].to_pylist()} == {*central.values()}
    assert pq.read_table(tmp_path / "t", columns=["source", "vertex", "distance"]).equals(
        pq.read_table(made.path / "sssp", columns=["source", "vertex", "distance"])
    )
    isochrones = pq.read_table(made.path / "isochrone_zones").to_pylist()
    assert [(row["zone"], row["sources"]) for row in isochrones] == [("east", 1)] * 2 + [("west", 1)] * 2
    places = pq.read_table(made.path / "places")
    keys = {"sources", "pagerank.seeds", "nearest.facilities", "isochrones.sources", "closeness.sources"}
    assert {*places["key"].to_pylist()} == keys
    assert CENTRAL in made.facts["placed"]["proof"]["rules"]
    assert run(config).path == made.path or pq.read_table(run(config).path / "places").equals(places)


def test_files_of_points_stay_places(tmp_path):
    (tmp_path / "points.geojson").write_text(features({"Polygon": shapely.Point(1, 1), "b": WEST}))
    (tmp_path / "areas.json").write_text(features({"a": WEST, "b": shapely.Point(1, 1)}))
    wkb = [None, shapely.to_wkb(WEST)]
    pq.write_table(pa.table({"id": [1, 2], "geometry": pa.array(wkb, pa.binary())}), tmp_path / "areas.parquet")
    pq.write_table(pa.table({"id": [1, 2], "geom": pa.array(wkb[::-1], pa.binary())}), tmp_path / "other.parquet")
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "ids.parquet")
    files = ("points.geojson", "areas.json", "areas.parquet", "other.parquet", "ids.parquet")
    known = [names_zones(str(tmp_path / file), PlacesConfig(), ZonesConfig()) for file in files]
    assert known == [False, True, True, True, False]
    for places in (PlacesConfig(shapes="centroid"), PlacesConfig(lon="x", lat="y")):
        assert not any(names_zones(str(tmp_path / file), places, ZonesConfig()) for file in files)


@pytest.mark.parametrize(
    ("places", "zones", "expected"),
    [
        ({}, {}, (True, True)),
        ({"geometry": "entrance"}, {}, (False, True)),
        ({"geometry": "area"}, {}, (True, True)),
        ({"geometry": "elsewhere", "vertex": "elsewhere"}, {}, (True, True)),
        ({"vertex": "gate"}, {}, (False, False)),
        ({}, {"geometry": "area"}, (True, True)),
        ({}, {"geometry": "entrance"}, (False, True)),
        ({"geometry": "entrance", "vertex": "gate"}, {"geometry": "area"}, (True, False)),
    ],
)
def test_columns_that_are_named_decide(tmp_path, places, zones, expected):
    """Of a Parquet file with polygons and points, and of GeoJSON, both with vertices."""
    area, entrance = (pa.array([shapely.to_wkb(shape)], pa.binary()) for shape in (WEST, shapely.Point(1, 1)))
    columns = {name: {"encoding": "WKB", "geometry_types": []} for name in ("area", "entrance")}
    geo = {"primary_column": "area", "columns": columns}
    table = pa.table({"id": [1], "entrance": entrance, "area": area, "gate": [3]})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "a.parquet")
    (tmp_path / "a.geojson").write_text(features({"a": WEST}).replace("beds", "gate"))
    files = [str(tmp_path / name) for name in ("a.parquet", "a.geojson")]
    assert [names_zones(file, PlacesConfig(**places), ZonesConfig(**zones)) for file in files] == [*expected]
    if zones.get("geometry") == "area":  # also where points are the primary column
        other = json.dumps(geo | {"primary_column": "entrance"})
        pq.write_table(table.replace_schema_metadata({"geo": other}), tmp_path / "a.parquet")
        assert names_zones(files[0], PlacesConfig(**places), ZonesConfig(**zones))


def test_what_no_vertex_stands_for_is_refused(tmp_path, graph):
    (tmp_path / "far.geojson").write_text(features({"west": WEST, "far": shapely.box(5, 5, 6, 6)}))
    with pytest.raises(BadSource, match=r"zone 'far' has no vertex that may stand for it; leave it out or, .*centroid"):
        matrix_into(graph, tmp_path / "m", sources=str(tmp_path / "far.geojson"), backend="cpu")
    (tmp_path / "mixed.geojson").write_text(features({"west": WEST, "here": shapely.Point(0, 0)}))
    with pytest.raises(BadInput, match="row 1: zone 'here' has a Point; it needs a Polygon or a MultiPolygon"):
        matrix_into(graph, tmp_path / "m", sources=str(tmp_path / "mixed.geojson"), backend="cpu")
    with pytest.raises(BadConfig, match="sources: names no resolution of H3: write h3:0 to h3:15"):
        matrix_into(graph, tmp_path / "m", sources="h3:16", backend="cpu")
    (tmp_path / "plain.csv").write_text("src,dst,weight\n1,2,3\n")
    with pytest.raises(BadConfig, match="h3:8: the graph has no coordinates; name them by `coordinates`"):
        matrix_into(str(tmp_path / "plain.csv"), tmp_path / "n", sources="h3:8", backend="cpu")
    (tmp_path / "run.toml").write_text('output = "out"\ngraph = "graph.toml"\nzones = { centre = "pupils" }\n')
    with pytest.raises(BadConfig, match=r"zones.centre: has no effect: no zones are sources or facilities"):
        load_run(tmp_path / "run.toml")


@pytest.mark.parametrize("execute", [check, run])
def test_keys_of_zones_beside_files_of_points_are_refused(tmp_path, graph, execute):
    """Unless one of the files has zones, or options name others."""
    (tmp_path / "points.geojson").write_text(features({"a": shapely.Point(0, 0)}))
    begin = 'output = "out"\ngraph = "graph.toml"\nstages = ["bfs"]\n'
    for sources, key, refused in [("points.geojson", "centre", True), ("points.geojson", "id", True), (CELLS, "centre", False)]:
        (tmp_path / "run.toml").write_text(f'{begin}sources = "{sources}"\nzones = {{ {key} = "pupils" }}\n')
        config = load_run(tmp_path / "run.toml")
        if not refused:
            execute(config)
            execute(load_run(tmp_path / "run.toml", sources=str(tmp_path / "points.geojson")))
            continue
        with pytest.raises(BadConfig, match=rf"^zones.{key}: has no effect: there are places or .*points.geojson; name zones"):
            execute(config)
    more = 'zones = { centre = "pupils" }\n[nearest]\nfacilities = "halves.geojson"\n'
    (tmp_path / "run.toml").write_text(f'{begin}sources = "points.geojson"\n{more}')
    execute(load_run(tmp_path / "run.toml"))


@pytest.mark.parametrize("centre", [{}, {"centre": "pupils"}])
def test_no_vertex_in_any_zone(tmp_path, graph, centre):
    """Because they are elsewhere, their system is another one, or vertices have no coordinates."""
    into, missing = partial(matrix_into, backend="cpu"), r"zone 'far' has no vertex that may stand for it; leave it out"
    (tmp_path / "far.geojson").write_text(features({"far": shapely.box(5, 5, 6, 6), "further": shapely.box(7, 7, 8, 8)}))
    with pytest.raises(BadSource, match=missing):
        into(graph, tmp_path / "m", sources=str(tmp_path / "far.geojson"), zones=centre)
    wkb = pa.array([shapely.to_wkb(shapely.box(5, 5, 6, 6))], pa.binary())
    pq.write_table(pa.table({"id": ["far"], "geometry": wkb}), tmp_path / "metres.parquet")
    with pytest.raises(BadSource, match=missing):
        into(graph, tmp_path / "m", sources=str(tmp_path / "metres.parquet"), zones=centre | {"crs": "EPSG:3857"})
    (tmp_path / "edges.csv").write_text("src,dst,weight\n1,2,3\n2,1,3\n")
    nothing = pa.nulls(2, pa.float64())
    pq.write_table(pa.table({"vertex": [1, 2], "x": nothing, "y": nothing}), tmp_path / "nowhere.parquet")
    (tmp_path / "pupils.csv").write_text("vertex,pupils\n1,2\n2,3\n")
    (tmp_path / "plain.toml").write_text('source = "edges.csv"\ncoordinates = "nowhere.parquet"\nnodes = "pupils.csv"\n')
    with pytest.raises(BadSource, match="h3:8: no vertex that may stand for a zone has coordinates"):
        into(str(tmp_path / "plain.toml"), tmp_path / "n", sources="h3:8", zones=centre)


def zones_at_random(seed):
    """Zones of points: their names, areas, and the zone, degrees and weight of each point."""
    chosen = np.random.default_rng(seed)
    degrees = chosen.uniform(-1, 1, (60, 2)) + np.array([179.5 * (seed % 2), 40])
    degrees[:, 0] -= 360 * (degrees[:, 0] > 180)
    if seed % 3 == 0:
        cells = pa.array([h3.latlng_to_cell(y, x, 3) for x, y in degrees])
        names = sorted({*cells.to_pylist()})
        return names, Shapes(3), np.array([names.index(cell) for cell in cells.to_pylist()]), degrees, np.zeros(60)
    if seed % 2:
        areas = [shapely.box(178, y, 180, y + 1).union(shapely.box(-180, y, -179, y + 1)) for y in (39, 40)]
    else:
        areas = [shapely.box(-1, 39, 1, 40).difference(shapely.box(0, 39, 1, 39.7)), shapely.box(-1, 40, 1, 41)]
    numbers = (degrees[:, 1] >= 40).astype(np.int64)
    return [1, 2], Shapes(None, pa.array([1, 2]), np.array(areas)), numbers, degrees, chosen.integers(0, 3, 60) * (seed % 4 > 1.0)


@pytest.mark.parametrize("seed", range(12))
def test_another_vertex_than_the_central_one_is_refused(seed):
    """Every other vertex of a zone, however near, two for one zone, and none."""
    names, shapes, numbers, degrees, weights = zones_at_random(seed)
    zones = Zones(pa.array(names), numbers, weights, shapes)
    places = on_sphere(*degrees.T)
    apart = np.square(places - centres._centres(zones, numbers, places, weights)[numbers]).sum(axis=1)
    order = np.lexsort((apart, numbers))
    chosen = order[np.diff(numbers[order], prepend=-1) != 0]
    require_central(names, shapes, numbers, degrees, weights, chosen)
    refused = 0
    for at, number in enumerate(numbers.tolist()):
        others = [one for one in chosen.tolist() if numbers[one] != number]
        if at not in chosen:
            with pytest.raises(ProofFailed, match="another vertex is nearer to the centre"):
                require_central(names, shapes, numbers, degrees, weights, np.array([*others, at]))
            refused += 1
    assert refused == 60 - len(chosen)
    for wrong in (chosen[1:], np.append(chosen, order[-1])):
        with pytest.raises(ProofFailed, match="no vertex that stands for it, or several"):
            require_central(names, shapes, numbers, degrees, weights, wrong)


def test_a_wrong_choice_fails_the_product(tmp_path, graph):
    opposite, zones = partial(_opposite, centres._centres), str(tmp_path / "halves.geojson")
    with patch.object(centres, "_centres", opposite), pytest.raises(ProofFailed, match="another vertex is nearer"):
        matrix_into(graph, tmp_path / "m", sources=zones, backend="cpu")
    assert not [*tmp_path.glob("m/*.parquet")]


def _opposite(find, *given):
    return -find(*given)
