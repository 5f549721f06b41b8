"""Means by zones that are weighted by the places at the ends of a matrix, such as homes with people."""

import csv
import json
import random
from functools import partial

import h3
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadInput
from pipeline.run import run
from tests.ingest.osm.extracts import write
from tests.pipeline.products.calls import matrix_into
from tests.pipeline.turns.router import town

ZONE, ZONE_OF = "h3:10", partial(h3.latlng_to_cell, res=10)


@pytest.fixture
def graph(tmp_path, monkeypatch):
    """A town, on whose turns restrictions hold, with homes and jobs beside its streets."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    chosen, (nodes, ways, turns) = random.Random(4), town(4)
    write(tmp_path / "a.osm.pbf", nodes, ways, turns=turns)
    (tmp_path / "nodes.csv").write_text("vertex,pupils\n" + "".join(f"{node.id},{node.id % 4}\n" for node in nodes))
    text = 'source = "a.osm.pbf"\nnodes = "nodes.csv"\n[osm]\nprofile = "car"\n'
    (tmp_path / "graph.toml").write_text(text)
    for name, column, count in (("homes", "people", 40), ("jobs", "staff", 25)):
        rows = [f"{row},{chosen.uniform(0, 0.004)},{chosen.uniform(0, 0.004)},{chosen.randrange(9)}" for row in range(count)]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"id,lon,lat,{column}", *rows, ""]))
    return str(tmp_path / "graph.toml")


def amounts(folder):
    """How many people are at each vertex that stands for a home."""
    found = {}
    for row in pq.read_table(folder / "plain" / "_places").filter(pc.field("key") == "sources").to_pylist():
        people = (folder / "homes.csv").read_text().split(f"\n{row['id']},")[1].split("\n")[0].rpartition(",")[2]
        found[row["vertex"]] = found.get(row["vertex"], 0) + int(people)
    return found


@pytest.mark.parametrize("attach", ["vertices", "streets"])
def test_places_weigh_what_their_file_says(tmp_path, graph, attach):
    files = {"sources": str(tmp_path / "homes.csv"), "targets": str(tmp_path / "jobs.csv"), "places": {"attach": attach}}
    at = {node.id: ZONE_OF(node.lat, node.lon) for node in town(4)[0]} if attach == "vertices" else {}
    around = {"type": "Polygon", "coordinates": [[[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]]}
    feature = {"type": "Feature", "properties": {"id": "all"}, "geometry": around}
    (tmp_path / "all.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    zone = {"zone": ZONE if at else str(tmp_path / "all.geojson"), "zone_weight": "people", "backend": "cpu"}
    matrix_into(graph, tmp_path / "plain", backend="cpu", **files)
    matrix_into(graph, tmp_path / "zones", **zone, **files)
    people, sums = amounts(tmp_path), {}
    pairs = {(row["source"], row["target"]): row["distance"] for row in pq.read_table(tmp_path / "plain").to_pylist()}
    for (source, target), distance in pairs.items():
        if distance is not None:
            of = sums.setdefault((at.get(source, "all"), at.get(target, "all")), [0, 0])
            of[0] += people[source] * distance
            of[1] += people[source]
    rows = pq.read_table(tmp_path / "zones").to_pylist()
    assert len(rows) >= len(sums) > 10 * bool(at)
    for row in rows:
        total, weight = sums.get((row["source_zone"], row["target_zone"]), (0, 0))
        assert row["weighted_mean"] == (pytest.approx(total / weight, rel=1e-14) if weight else None)
    assert matrix_into(graph, tmp_path / "zones", **zone, **files).reused


def test_other_amounts_make_another_table(tmp_path, graph):
    asked = {"sources": str(tmp_path / "homes.csv"), "backend": "cpu", "zone": ZONE, "zone_weight": "people"}
    matrix_into(graph, tmp_path / "m", **asked)
    text = (tmp_path / "homes.csv").read_text().splitlines()
    (tmp_path / "homes.csv").write_text("\n".join([text[0], *(f"{line.rpartition(',')[0]},5" for line in text[1:]), ""]))
    assert not matrix_into(graph, tmp_path / "m", **asked).reused


def test_where_no_or_several_amounts_are_is_refused(tmp_path, graph):
    asked = {"sources": str(tmp_path / "homes.csv"), "backend": "cpu", "zone": ZONE}
    matrix_into(graph, tmp_path / "m", **asked, zone_weight="pupils")
    with pytest.raises(BadConfig, match=r"matrix\.zone_weight: 'staff': the table of nodes has the columns pupils"):
        matrix_into(graph, tmp_path / "n", **asked, zone_weight="staff")
    with pytest.raises(BadConfig, match="'people' is a column of places; zone_ends = 'centre' needs one of the table of nodes"):
        matrix_into(graph, tmp_path / "n", **asked, zone_weight="people", zone_ends="centre")
    text = (tmp_path / "homes.csv").read_text()
    (tmp_path / "homes.csv").write_text(text.replace("people", "pupils"))
    with pytest.raises(BadConfig, match=r"'pupils' is a column of .*homes\.csv and of the table of nodes; rename one of them"):
        matrix_into(graph, tmp_path / "n", **asked, zone_weight="pupils")
    (tmp_path / "homes.csv").write_text(f"{text}99,0.001,0.001,-1\n")
    with pytest.raises(BadInput, match="has people -1, not a number that is at least 0"):
        matrix_into(graph, tmp_path / "n", **asked, zone_weight="people")


def test_isochrones_by_zones_weigh_their_places(tmp_path, graph):
    isochrones = {"thresholds": [20_000, 60_000], "sources": str(tmp_path / "homes.csv"), "zone": ZONE, "zone_weight": "people"}
    config = {"source": str(tmp_path / "a.osm.pbf"), "osm": {"profile": "car"}}
    path = run(run_config("test", graph=config, output=tmp_path / "out", stages=["wcc"], isochrones=isochrones)).path
    homes = {row["id"]: row for row in csv.DictReader((tmp_path / "homes.csv").open())}
    sums = {}
    for row in pq.read_table(path / "isochrones").to_pylist():
        home = homes[str(row["source_place"])]
        of = sums.setdefault((ZONE_OF(float(home["lat"]), float(home["lon"])), row["threshold"]), [0, 0])
        of[0] += int(home["people"]) * row["vertices"]
        of[1] += int(home["people"])
    rows = {(row["zone"], row["threshold"]): row["vertices"] for row in pq.read_table(path / "isochrone_zones").to_pylist()}
    due = {key: pytest.approx(total / of, rel=1e-14) if of else None for key, (total, of) in sums.items()}
    assert len(rows) > 20 and rows == due
