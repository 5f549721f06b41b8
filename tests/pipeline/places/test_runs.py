"""Runs and commands with files of places: table `places`, products with a row for each place, paths, and what changed."""

import json
import math

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli.command import app
from pipeline.comparison.difference import difference
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadInput, BadSource, ProofFailed
from pipeline.inspection.check import check
from pipeline.inspection.estimate import estimate
from pipeline.inspection.path import shortest_path
from pipeline.run import run
from pipeline.steps.places import proof
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read
from pipeline.tables import files as tables
from tests.pipeline.places.test_nearest import haversine
from tests.pipeline.products.calls import matrix_into, trees_into

# A street of four crossings in Berne, in both directions, and another one that is not connected.
CROSSINGS = {1: (7.44, 46.94), 2: (7.45, 46.94), 3: (7.46, 46.95), 4: (7.47, 46.95), 8: (7.48, 46.96), 9: (7.49, 46.96)}
EDGES = [(1, 2), (2, 3), (3, 4), (8, 9)]
# Two places at crossing 1, one at 4.
PLACES = {"B": ("Burg", 7.4401, 46.94, 20), "A": ("Insel, neu", 7.44, 46.9401, None), "C": (None, 7.4701, 46.95, 7)}
AT = {"A": 1, "B": 1, "C": 4}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def graph(folder, named=False):
    shown = (lambda vertex: f"x{vertex}") if named else str
    (folder / "e.csv").write_text("src,dst\n" + "".join(f"{shown(a)},{shown(b)}\n" for a, b in EDGES))
    (folder / "xy.csv").write_text("vertex,x,y\n" + "".join(f"{shown(v)},{x!r},{y!r}\n" for v, (x, y) in CROSSINGS.items()))
    return {"source": str(folder / "e.csv"), "coordinates": str(folder / "xy.csv"), "directed": False}


def csv_of(folder, places=PLACES, name="h.csv"):
    lines = [
        f'{one},"{title or ""}",{lon!r},{lat!r},{"" if beds is None else beds}\n'
        for one, (title, lon, lat, beds) in places.items()
    ]
    (folder / name).write_text("id,name,lon,lat,beds\n" + "".join(lines))
    return str(folder / name)


def run_of(folder, out="out", named=False, **asked):
    content = {"graph": graph(folder, named), "output": folder / out, "stages": ["wcc"], "backend": "cpu"}
    return run(run_config("test", **content | asked))


def rows(folder, *columns):
    table = pq.read_table(folder)
    return [tuple(row.values()) for row in table.select([*columns] if columns else table.schema.names).to_pylist()]


def test_a_table_of_places_and_products_with_a_row_for_each_place(tmp_path, capsys):
    file = csv_of(tmp_path)
    collection = {
        "type": "Feature",
        "id": 5,
        "geometry": {"type": "Point", "coordinates": [7.45, 46.94]},
        "properties": {"pupils": 3},
    }
    (tmp_path / "s.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [collection]}))
    published = run_of(
        tmp_path, sources=file, stages=["bfs"], nearest={"facilities": file, "count": 3}, closeness={"sources": file},
        isochrones={"thresholds": [1, 2], "sources": str(tmp_path / "s.geojson"), "vertices": True, "polygons": True},
    )  # fmt: skip
    table = pd.read_parquet(published.path / "places")
    assert [*table.columns[:8]] == ["key", "id", "name", "vertex", "lon", "lat", "metres", "component"]
    facilities = table[table.key == "nearest.facilities"]
    assert facilities.id.tolist() == ["A", "B", "C"]
    for row in facilities.itertuples():
        _, lon, lat, _ = PLACES[row.id]
        apart = {vertex: haversine((lon, lat), at) for vertex, at in CROSSINGS.items()}
        assert (row.vertex, row.lon, row.lat, row.component) == (min(apart, key=apart.__getitem__), lon, lat, 1)
        assert row.metres == pytest.approx(apart[row.vertex], abs=1e-5)
    assert table.groupby("key").size().to_dict() == {
        "closeness.sources": 3, "isochrones.sources": 1, "nearest.facilities": 3, "sources": 3,
    }  # fmt: skip
    assert facilities.beds.isna().tolist() == [True, False, False]
    names = {one: title for one, (title, *_) in PLACES.items()}
    near = rows(published.path / "nearest", "vertex", "rank", "facility", "facility_place", "facility_place_name", "distance")
    expected = []
    for vertex in CROSSINGS:
        reached = sorted((abs(vertex - at), at, one) for one, at in AT.items()) if vertex < 5 else []
        ranked = [(at, one, names[one], apart) for apart, at, one in reached] or [(None,) * 4] * 3
        expected += [(vertex, rank, *values) for rank, values in enumerate(ranked, 1)]
    assert near == expected
    isochrones = rows(published.path / "isochrones", "source", "source_place", "threshold", "vertices")
    assert isochrones == [(2, 5, 1, 3), (2, 5, 2, 4)]
    assert "source_place_name" not in pq.read_schema(published.path / "isochrones" / "part-00000.parquet").names
    assert rows(published.path / "isochrone_vertices", "source_place", "vertex") == [(5, vertex) for vertex in (1, 2, 3, 4)]
    assert rows(published.path / "isochrone_polygons", "source_place", "threshold") == [(5, 1), (5, 2)]
    assert rows(published.path / "closeness", "vertex", "vertex_place", "reached") == [(1, "A", 4), (1, "B", 4), (4, "C", 4)]
    assert {source for (source,) in rows(published.path / "bfs", "source")} == {1, 4}
    facts = RunFacts.of(published)
    assert facts.placed.files["sources"] == 3 and facts.places is None
    described = {column["name"]: column["unit"] for column in facts.tables["nearest"].columns}
    assert described["facility_place"] == "the id of a place at `facility`, as in its file"
    assert {column["name"]: column["unit"] for column in facts.tables["places"].columns}["beds"] == "as in the file of places"
    page = (published.path / "report.html").read_text("utf-8")
    assert "facility Insel, neu, Burg" in page
    assert ">A (Insel, neu)<" in page
    assert ">Insel, neu<" in page


def test_two_places_at_one_vertex_stay_two_at_both_ends_of_a_matrix(tmp_path):
    published, file = run_of(tmp_path), csv_of(tmp_path)
    (tmp_path / "ids.txt").write_text("4\n2\n")
    made = matrix_into(str(published.path), tmp_path / "m", sources=file, targets=file, backend="cpu")
    columns = ["source", "source_place", "source_place_name", "target", "target_place", "target_place_name", "distance"]
    names = {one: title for one, (title, *_) in PLACES.items()}
    expected = [(AT[a], a, names[a], AT[b], b, names[b], abs(AT[a] - AT[b])) for a in "ABC" for b in "ABC"]
    assert rows(tmp_path / "m" / "part-00000.parquet", *columns) == expected
    assert pd.read_parquet(tmp_path / "m").shape == (9, 7)
    beside = pd.read_parquet(tmp_path / "m" / "_places")
    assert beside[beside.key == "targets"].id.tolist() == ["A", "B", "C"]
    assert matrix_into(str(published.path), tmp_path / "m", sources=file, targets=file, backend="cpu").reused
    matrix_into(str(published.path), tmp_path / "n", sources=str(tmp_path / "ids.txt"), targets=file, backend="cpu")
    assert rows(tmp_path / "n" / "part-00000.parquet", "source", "target", "target_place", "distance") == [
        (2, 1, "A", 1), (2, 1, "B", 1), (2, 4, "C", 2), (4, 1, "A", 3), (4, 1, "B", 3), (4, 4, "C", 0),
    ]  # fmt: skip
    matrix_into(str(published.path), tmp_path / "o", sources=file, targets=str(tmp_path / "ids.txt"), cutoff=1, backend="cpu")
    assert rows(tmp_path / "o" / "part-00000.parquet", "source_place", "target") == [("A", 2), ("B", 2), ("C", 4)]
    trees = trees_into(str(published.path), tmp_path / "t", sources=file, backend="cpu")
    assert (
        trees.manifest.files["part-00000.parquet"]
        == trees_into(
            str(published.path),
            tmp_path / "u",
            sources=csv_of(tmp_path, {"A": PLACES["A"], "C": PLACES["C"]}, "two.csv"),
            backend="cpu",
        ).manifest.files["part-00000.parquet"]
    )
    csv_of(tmp_path, PLACES | {"C": ("new name", *PLACES["C"][1:])})
    assert not matrix_into(str(published.path), tmp_path / "m", sources=file, targets=file, backend="cpu").reused
    assert made.manifest.parameters["placed"]


@pytest.mark.parametrize("named", [False, True])
def test_a_stated_vertex_comes_before_coordinates(tmp_path, named):
    """It may be far from the nearest one, but not beyond the limit; a place without it is snapped."""
    shown = (lambda vertex: f"x{vertex}") if named else str
    (tmp_path / "h.csv").write_text(f"id,vertex,lon,lat\n1,{shown(2)},7.44,46.94\n2,,7.44,46.94\n3,{shown(9)},,\n")
    published = run_of(tmp_path, named=named, closeness={"sources": str(tmp_path / "h.csv")})
    table = pq.read_table(published.path / "places").to_pylist()
    numbers = [[*CROSSINGS].index(vertex) for vertex in (2, 1, 9)] if named else [2, 1, 9]
    assert [row["vertex"] for row in table] == numbers
    assert [row["metres"] for row in table] == [pytest.approx(haversine(CROSSINGS[1], CROSSINGS[2]), abs=1e-5), 0, None]
    assert [row["lon"] for row in table] == [7.44, 7.44, None]
    with pytest.raises(
        BadSource, match=r"h\.csv: row 0: 1 at 7\.44,46\.94 is 759 m from vertex .*, which the file states; the limit is 700 m"
    ):
        run_of(tmp_path, named=named, closeness={"sources": str(tmp_path / "h.csv")}, snap_limit=700)
    (tmp_path / "h.csv").write_text(f"id,vertex\n1,{shown(2)}\nb,{shown(77)}\n")
    with pytest.raises(BadInput, match=rf"row 1: 'b' is at vertex '{shown(77)}', which is not in the graph"):
        run_of(tmp_path, named=named, closeness={"sources": str(tmp_path / "h.csv")})


def test_names_of_vertices_and_of_places_are_beside_each_other(tmp_path):
    published = run(
        run_config(
            "test", graph=graph(tmp_path, named=True), output=tmp_path / "out", stages=["bfs"], backend="cpu", named=True,
            nearest={"facilities": csv_of(tmp_path)}, sources=csv_of(tmp_path),
        )
    )  # fmt: skip
    columns = ["vertex", "vertex_name", "rank", "facility", "facility_name", "facility_place", "facility_place_name", "distance"]
    assert pq.read_schema(published.path / "nearest" / "part-00000.parquet").names == columns
    assert rows(published.path / "nearest", "vertex_name", "facility_name", "facility_place")[0] == ("x1", "x1", "A")
    assert rows(published.path / "places", "id", "vertex_name", "component_name")[0] == ("A", "x1", "x1")
    assert [step["vertex"] for step in shortest_path(published, "A", "C").vertices] == [0, 1, 2, 3]
    assert [step["id"] for step in shortest_path(published, "place:B", "x2").vertices] == ["x1", "x2"]


def test_a_place_too_far_away_is_refused_with_its_row(tmp_path):
    far = PLACES | {"D": ("far", 7.44, 46.99, 1)}
    asked = {"nearest": {"facilities": csv_of(tmp_path, far)}}
    words = r"h\.csv: row 3: 'D' at 7\.44,46\.99 is 4,\d{3} m from the nearest vertex of the largest .*; the limit is 1,000 m"
    config = run_config("test", graph=graph(tmp_path), output=tmp_path / "out", backend="cpu", **asked)
    for ask in (run, check):
        with pytest.raises(BadSource, match=words):
            ask(config)
    assert not (tmp_path / "out" / "latest").exists()
    assert len(rows(run_of(tmp_path, **asked, snap_limit=6000).path / "places")) == 4
    island = {"I": (None, *CROSSINGS[8], None)}
    asked = {"nearest": {"facilities": csv_of(tmp_path, island)}}
    with pytest.raises(BadSource, match=r'8 of a smaller component is 0\.0 m away: snap_to = "any" takes it'):
        run_of(tmp_path, **asked)
    assert rows(run_of(tmp_path, **asked, snap_to="any").path / "places", "vertex", "component") == [(8, 8)]


def test_columns_are_named_and_systems_stated(tmp_path):
    (tmp_path / "h.csv").write_text("nr;e;n\n1;2600000;1199000\n")  # Berne, in the Swiss grid of 1995
    (tmp_path / "p.csv").write_text("vertex,x,y\n1,2600010,1199010\n2,2601000,1199000\n")
    (tmp_path / "two.csv").write_text("src,dst\n1,2\n")
    places = {"id": "nr", "lon": "e", "lat": "n", "crs": "EPSG:2056"}
    config = {"graph": {"source": str(tmp_path / "two.csv"), "coordinates": str(tmp_path / "p.csv"), "crs": "EPSG:2056"}}
    config |= {"output": tmp_path / "out", "backend": "cpu", "closeness": {"sources": str(tmp_path / "h.csv")}}
    published = run(run_config("test", **config, places=places))
    (row,) = pq.read_table(published.path / "places").to_pylist()
    assert (row["vertex"], row["lon"]) == (1, pytest.approx(7.4386, abs=1e-4))
    assert row["metres"] == pytest.approx(math.hypot(10, 10), rel=0.01)
    with pytest.raises(BadInput, match=r"x 2600010\.0 is not in -180\.\.180 degrees"):
        run(run_config("test", **config | {"graph": config["graph"] | {"crs": None}}, places=places))
    del config["closeness"]
    (tmp_path / "run.toml").write_text('output = "o"\n[graph]\nsource = "two.csv"\n[places]\nid = "nr"\n')
    with pytest.raises(BadConfig, match=r"places\.id: has no effect: no file of places is named"):
        app(["run", str(tmp_path / "run.toml")], result_action="return_value", exit_on_error=False)


def test_changes_are_those_of_places(tmp_path):
    file = csv_of(tmp_path)
    asked = {"closeness": {"sources": file}, "publish_as": "latest"}
    first = run_of(tmp_path, **asked)
    csv_of(tmp_path, {"A": PLACES["A"], "D": PLACES["B"], "C": ("Nord", *PLACES["C"][1:])})
    second = run_of(tmp_path, **asked, changes={"tables": True})
    assert rows(second.path / "closeness_changes", "vertex", "vertex_place", "kind") == [
        (1, "B", "removed"), (1, "D", "added"), (4, "C", "changed"),
    ]  # fmt: skip
    assert rows(second.path / "places_changes", "id", "old_name", "new_name", "kind")[:2] == [
        ("B", "Burg", None, "removed"), ("C", None, "Nord", "changed"),
    ]  # fmt: skip
    (tmp_path / "ids.txt").write_text("1\n4\n")
    third = run_of(tmp_path, closeness={"sources": str(tmp_path / "ids.txt")}, publish_as="latest", changes={"tables": True})
    assert difference(second, third).not_compared == {"closeness": "only the old run has a row for each place"}
    assert "vertex_place is gone" in third.facts["changes"]["not_compared"]["closeness"]
    assert first.path != third.path


def test_an_id_of_a_vertex_and_of_a_place_is_refused_unless_it_is_said(tmp_path):
    for name, one, vertex in (("s", 2, 3), ("t", 2, 4), ("u", 4, 4)):
        (tmp_path / f"{name}.csv").write_text(f"id,lon,lat\n{one},{CROSSINGS[vertex][0]},{CROSSINGS[vertex][1]}\n")
    table = {
        "closeness": {"sources": str(tmp_path / "s.csv")},
        "isochrones": {"thresholds": [1], "sources": str(tmp_path / "t.csv")},
    }
    published = run_of(tmp_path, stages=["bfs"], sources=[1], **table, nearest={"facilities": str(tmp_path / "u.csv")})

    def end(text):
        return shortest_path(published, "1", text).vertices[-1]["vertex"]

    for text, vertex in (
        ("vertex:2", 2), ("closeness.sources:2", 3), ("isochrones.sources:2", 4), ("4", 4), ("place:4", 4), ("7.4601,46.95", 3),
    ):  # fmt: skip
        assert end(text) == vertex
    for text, words in (
        ("2", r"'2' may be vertex:2 \(vertex 2\) and closeness\.sources:2 \(vertex 3\) and isochrones\.sources:2 \(vertex 4\)"),
        ("place:2", r"may be closeness\.sources:2 \(vertex 3\) and isochrones\.sources:2"),
        ("77", "'77' is neither a vertex of the graph nor a place of this run"),
        ("7.4,46.0", r"7\.4,46\.0 is 105 km from the nearest vertex; the limit is 1,000 m \(snap_limit of the run\)"),
        ("7.4,146.0", "as a place its latitude 146.0 is not in"),
    ):
        with pytest.raises(BadSource, match=words):
            end(text)


def test_a_vertex_that_is_not_the_nearest_is_not_published(tmp_path, monkeypatch):
    true = proof.haversine
    monkeypatch.setattr(proof, "haversine", lambda one, other: true(one, other) + (1.0 if len(other) < 4 else 0.0))
    with pytest.raises(ProofFailed, match=r"place 'B' at 7\.4401,46\.94 is not 7\.59\d* m from vertex 1"):
        run_of(tmp_path, closeness={"sources": csv_of(tmp_path)})
    monkeypatch.setattr(proof, "haversine", lambda one, other: true(one, other) - (1.0 if len(other) == 4 else 0.0))
    with pytest.raises(ProofFailed, match=r"is .* m from its vertex, and .* m from another one"):
        run_of(tmp_path, closeness={"sources": csv_of(tmp_path)})
    monkeypatch.undo()
    assert not (tmp_path / "out" / "latest").exists()


def test_a_file_of_places_is_estimated_by_its_rows(tmp_path):
    config = run_config("test", graph=graph(tmp_path), output=tmp_path / "out", closeness={"sources": csv_of(tmp_path)})
    assert "closeness" in estimate(config).seconds


def test_the_manifest_of_a_run_without_such_files_has_no_new_facts(tmp_path):
    (tmp_path / "ids.txt").write_text("1\n")
    published = run_of(tmp_path, closeness={"sources": str(tmp_path / "ids.txt")})
    assert not {"placed", "places"} & read(published.path).facts.keys()
    assert pq.read_schema(tables.files(published.path / "closeness")[0]).names[:2] == ["vertex", "reached"]
    pq.write_table(pa.table({"id": [4]}), tmp_path / "ids.parquet")
    other = run_of(tmp_path, out="other", closeness={"sources": str(tmp_path / "ids.parquet")})
    assert rows(other.path / "closeness", "vertex") == [(4,)]


def test_pairs_of_coordinates_are_those_of_the_nearest_vertices(tmp_path):
    """In every table of pairs; a column of ids comes before coordinates, and other columns are kept."""

    def axes(end, *vertices):
        return {f"{end}_{axis}": [CROSSINGS[one][at] + 1e-4 for one in vertices] for at, axis in enumerate(("lon", "lat"))}

    ids = pa.table({"src": [1, 4, 8, 1], "dst": [4, 2, 9, 3]})
    pq.write_table(ids, tmp_path / "ids.parquet")
    pq.write_table(pa.table({"day": [1, 2, 3, 4], **axes("dst", 4, 2, 9, 3), **axes("src", 1, 4, 8, 1)}), tmp_path / "xy.parquet")
    made = []
    for name in ("ids", "xy"):
        file = str(tmp_path / f"{name}.parquet")
        config = {"stages": ["reachability", "max_flow"], "queries": {"pairs": file}, "max_flow": {"pairs": file}}
        asked = config | {"flows": {"pairs": file}, "snap_to": "any", "publish_as": name}
        check(run_config("test", graph=graph(tmp_path), output=tmp_path / "out", backend="cpu", **asked))
        published = run_of(tmp_path, **asked)
        made.append([pq.read_table(published.path / table) for table in ("reached", "max_flow", "flows")])
    assert all(one.equals(other) for one, other in zip(*made, strict=True))
    pq.write_table(pa.table({**axes("src", 1, 1), **axes("dst", 4, 8)}), tmp_path / "xy.parquet")
    with pytest.raises(BadSource, match=r"xy\.parquet: row 1: dst 7\.4801,46\.9601 is 1,\d{3} m from .*; the limit is 1,000 m"):
        run_of(tmp_path, flows={"pairs": str(tmp_path / "xy.parquet")})
    null = {"src_lon": [7.44], "src_lat": [46.94], "dst_lon": [7.44], "dst_lat": pa.array([None], pa.float64())}
    pq.write_table(pa.table(null), tmp_path / "xy.parquet")
    with pytest.raises(BadInput, match=r"xy\.parquet: row 0: dst_lon or dst_lat is null"):
        run_of(tmp_path, flows={"pairs": str(tmp_path / "xy.parquet")})
