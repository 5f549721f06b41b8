"""`graphmill init` with tables of nodes and coordinates, facilities and times within which they are reached."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli.command import app
from pipeline.cli.init.beside import look_beside
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import load_run
from pipeline.errors import BadConfig, BadInput
from pipeline.inspection.check import check

STREETS = "source,target,length,maxspeed\n1,2,100,50\n2,1,100,50\n"


def graph_of(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return {name: str(folder / f"{name}.csv") for name in texts}


def init(folder, *words):
    app(
        ["init", str(folder / "streets.csv"), "--to", str(folder), *map(str, words)],
        result_action="return_value",
        exit_on_error=False,
    )
    return load_run(folder / "streets.toml")


def test_tables_beside_the_graph_are_read_as_they_are_written(tmp_path, capsys):
    nodes = "id;name;people;area;lat\n1;Käthe;1.200;2,5;8\n2;Zoë;7;1.000,25;9\n".encode("cp1252")
    files = graph_of(tmp_path, streets=STREETS, coordinates="id;lon;lat\n1;8,5;49,25\n2;8,6;49,5\n", nodes=nodes)
    (tmp_path / "facilities.csv").write_text("id,name,lon,lat\nA,Anna,8.5,49.25\n")
    beside = ("--coordinates", files["coordinates"], "--nodes", files["nodes"], "--nearest", tmp_path / "facilities.csv")
    config = init(tmp_path, *beside, "--isochrones", "30s,1.5min, 1h", "--reject", "0.01")
    written = config.graph.node_columns
    assert (written.delimiter, written.encoding, written.decimal, written.thousands) == (";", "cp1252", ",", ".")
    asked = config.isochrones
    assert asked.thresholds == (30_000, 90_000, 3_600_000)
    assert (asked.sums, asked.direction, asked.polygons) == (("people", "area"), "to", True)
    assert config.nearest.facilities == asked.sources and config.reject.limit == 0.01
    assert check(config).vertices == 2  # as it is
    shown = capsys.readouterr().out
    assert "vertex id, x lon, y lat" in shown
    assert "vertex id; joined to table vertices: name (text), people (integer), area (number), lat (integer)" in shown


def test_numbers_of_parquet_are_summed(tmp_path):
    pq.write_table(pa.table({"osmid": [1], "jobs": [1.5], "town": ["x"]}), tmp_path / "n.parquet")
    beside = look_beside(GraphConfig(source="g.csv", nodes=str(tmp_path / "n.parquet")), placed=False)
    assert beside.sums == ("jobs",) and "vertex osmid" in beside.shown["nodes"]
    assert not beside.graph.node_columns.model_fields_set


def test_coordinates_in_the_table_of_nodes_are_not_summed(tmp_path):
    (tmp_path / "n.csv").write_text("id,easting,northing,jobs\n1,8.5,49.5,3\n")
    both = {"nodes": str(tmp_path / "n.csv"), "coordinates": str(tmp_path / "n.csv")}
    beside = look_beside(GraphConfig(source="g.csv", **both, node_columns={"x": "easting", "y": "northing"}), placed=False)
    assert beside.sums == ("jobs",)
    assert beside.shown["nodes"].endswith("x easting, y northing; joined to table vertices: jobs (integer)")


@pytest.mark.parametrize(
    ("coordinates", "nodes", "words"),
    [
        ("id,lon,lat\n1,8,49\n", "id;people\n1;5\n", r"nodes.csv: has another delimiter than .*coordinates.csv"),
        ("id;lon;lat\nZoë;8;49\n", "id;name\nZoë;é\n".encode("cp1252"), "has another encoding than"),
        ("id,x1,y1\n1,8,49\n", "id,people\n1,5\n", "no column 'x', .*; name it by `x` below"),
    ],
)  # fmt: skip
def test_tables_that_one_key_cannot_describe_are_refused(coordinates, nodes, words, tmp_path):
    files = graph_of(tmp_path, coordinates=coordinates, nodes=nodes)
    with pytest.raises(BadInput, match=words):
        look_beside(GraphConfig(source="g.csv", **files), placed=False)


@pytest.mark.parametrize(
    ("text", "words"), [("5 miles", "'5 miles' is not a distance"), ("5min", "not known to be travel times"), ("9,5", "ascend")]
)
def test_wrong_isochrones_are_refused(text, words, tmp_path):
    graph_of(tmp_path, streets="source,target,length\n1,2,100\n", facilities="id,vertex\nA,1\n")
    with pytest.raises(BadConfig, match=words):
        init(tmp_path, "--nearest", tmp_path / "facilities.csv", "--isochrones", text)
    with pytest.raises(BadConfig, match="needs --nearest"):
        init(tmp_path, "--isochrones", "5")
    assert not (tmp_path / "streets.toml").exists()


def test_a_list_of_vertices_declares_them(tmp_path):
    (tmp_path / "streets.csv").write_text("1 2 0.5\n2 3 5.0\n")
    (tmp_path / "g.v").write_text("1\n2\n3\n9\n")
    config = init(tmp_path, "--nodes", tmp_path / "g.v", "--format", "snap", "--weight", "3")
    assert config.graph.node_columns.declare and check(config).vertices == 4


def test_ids_may_have_another_name_in_each_table(tmp_path):
    """Reading finds both; one key could not state them."""
    files = graph_of(tmp_path, streets=STREETS, coordinates="id,lon,lat\n1,8,49\n2,8,50\n", nodes="vertex,people\n1,5\n")
    config = init(tmp_path, "--coordinates", files["coordinates"], "--nodes", files["nodes"])
    assert config.graph.node_columns.vertex is None and check(config).vertices == 2
