"""Runs on an extract: table `arcs` has streets with their lines, `init` proposes a profile, `check` counts what was left out."""

import duckdb
import geopandas
import pyarrow as pa
import pytest
from shapely.geometry import LineString, MultiLineString

from pipeline.config.effects import require_effect
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, ProofFailed
from pipeline.run import run
from pipeline.steps.derived import arcs as arcs_step
from tests.ingest.osm.extracts import Node, Way, write
from tests.pipeline.runs.commands import graphmill

NODES = [Node(1, 0, 0), Node(2, 0.001, 0), Node(3, 0.002, 0), Node(4, 0.001, 0.001), Node(5, 179.999, 1), Node(6, -179.999, 1)]
WAYS = [
    Way(10, [1, 2, 3], name="Allee"), Way(11, [1, 4, 3], highway="primary", oneway="yes"), Way(12, [3, 4, 1]),
    Way(13, [5, 6], highway="tertiary"),
]  # fmt: skip


def published(folder, **more):
    path = write(folder / "town.osm.pbf", NODES, WAYS)
    graph = {"source": str(path), "osm": {"profile": "car", "weight": "distance"}} | more
    return run(run_config("test", graph=graph, output=folder / "out", stages=["wcc"])).path


def rows_of(path):
    table = geopandas.read_parquet(sorted((path / "arcs").glob("*.parquet"))[0])
    assert table.geometry.is_valid.all()
    return table


def test_arcs_have_the_lines_and_names_of_their_streets(tmp_path):
    table = rows_of(published(tmp_path))
    shown = {(row.src, row.dst): (row.way, row["class"], row.name_, row.geometry) for _, row in table.rename(
        columns={"name": "name_"}).iterrows()}  # fmt: skip
    assert shown[1, 3] == (10, "residential", "Allee", LineString([(0, 0), (0.001, 0), (0.002, 0)]))  # the lightest of three
    assert shown[3, 1] == (10, "residential", "Allee", LineString([(0.002, 0), (0.001, 0), (0, 0)]))
    assert shown[1, 4][:2] == (11, "primary")
    crossing = shown[5, 6][3]
    assert isinstance(crossing, MultiLineString)
    assert [list(part.coords) for part in crossing.geoms] == [[(179.999, 1), (180, 1)], [(-180, 1), (-179.999, 1)]]
    assert table["length"].tolist() == (table["weight"] / 1000).tolist()


def test_parallel_arcs_have_each_their_own_street(tmp_path):
    table = rows_of(published(tmp_path, parallel="keep"))
    rows = table[(table.src == 1) & (table.dst == 4)]
    assert sorted(rows.way) == [11, 12]
    assert (table["length"] * 1000).round().tolist() == table["weight"].tolist()


def test_duckdb_reads_the_lines(tmp_path):
    path = published(tmp_path)
    lines = duckdb.sql(f"SELECT geometry::VARCHAR FROM '{path}/arcs/*.parquet' WHERE src = 1 AND dst = 3").fetchall()
    assert lines == [("LINESTRING (0 0, 0.001 0, 0.002 0)",)]


@pytest.mark.parametrize("what", ["way", "name", "length", "line", "null"])
def test_a_wrong_street_in_the_table_is_not_proved(what, tmp_path, monkeypatch):
    right = arcs_step.Streets

    class Wrong(right):
        def columns(self, street):
            columns = super().columns(street)
            values = columns["way" if what == "null" else what].to_pylist() if what != "line" else []
            if values:
                values[0] = {"way": 11, "name": "x", "length": 1.0, "null": None}[what]
                name = "way" if what == "null" else what
                columns[name] = pa.array(values, columns[name].type)
            return columns

        def lines(self, street, against):
            return super().lines(street, ~against if what == "line" else against)

    monkeypatch.setattr(arcs_step, "Streets", Wrong)
    with pytest.raises(ProofFailed, match=r"arcs: part-00000\.parquet: a row says"):
        published(tmp_path)


def test_a_unit_of_weights_has_no_effect(tmp_path):
    graph = {"source": "a.osm.pbf", "osm": {"profile": "car"}, "weight": {"unit": "s"}}
    with pytest.raises(BadConfig, match=r"graph.weight.unit: has no effect: arcs weigh milliseconds or millimetres"):
        require_effect("test", run_config("test", graph=graph, output=tmp_path / "out"))


def test_commands_take_a_profile_and_say_what_is_left(tmp_path):
    path = write(tmp_path / "town.osm.pbf", NODES, [*WAYS, Way(14, [1, 3], highway="steps")])
    said = graphmill("check", path, "--profile", "car").stdout
    assert "streets              4 ways for profile car: 6 chains between crossings and ends" in said
    assert "other ways           1: highway=steps 1" in said
    said = graphmill("init", path, "--to", tmp_path).stdout
    assert "the profile is taken for car; --profile bicycle and --profile foot are others" in said
    assert 'profile = "car"' in (tmp_path / "town.toml").read_text().split("[graph.osm]")[1]
    assert "6 chains" in graphmill("check", tmp_path / "town.toml").stdout
