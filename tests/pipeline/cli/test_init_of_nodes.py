"""`graphmill init` beside files of nodes: what it proposes, `graphmill check` accepts without an edit."""

import gzip
import io

import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from pipeline.cli.command import app
from pipeline.config.loading import load_run
from pipeline.inspection.check import check

EDGES = "from,to,length,maxspeed,oneway\n10,11,100,50,no\n11,12,100,30,yes\n12,13,50,,no\n"
NODES = "id,lon,lat,district\n10,8.1,53,a\n11,8.11,53,a\n12,8.12,53,b\n13,8.13,53,b\n"
HOSPITALS = "id,name,lon,lat\nH1,North,8.1,53\nH2,South,8.13,53\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in (("edges.csv", EDGES), ("nodes.csv", NODES), ("hospitals.csv", HOSPITALS)):
        (tmp_path / name).write_text(content)
    (tmp_path / "population.csv").write_text("id,lon,lat,people\nP1,8.1,53,7\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*arguments):
    app(["init", *arguments], result_action="return_value", exit_on_error=False)


def files_of(run):
    return {file.key: (file.file.rpartition("/")[2], file.rows) for file in check(load_run(run)).files}


def how_read(run):
    return {file.key: file.how for file in check(load_run(run)).files}


def test_a_city_needs_no_edit(folder, capsys):
    init("edges.csv", "--nearest", "hospitals.csv")
    shown = capsys.readouterr().out
    assert "nodes.csv: vertex id, x lon, y lat; it is beside the source (guessed); not read: district (text)" in shown
    assert not load_run(folder / "edges.toml").graph.node_columns.model_fields_set  # usual names are found when they are read
    assert files_of(folder / "edges.toml") == {
        "graph.source": ("edges.csv", 3), "graph.coordinates": ("nodes.csv", 4), "nearest.facilities": ("hospitals.csv", 2)
    }  # fmt: skip


@pytest.mark.parametrize(("name", "delimiter"), [("places.csv", ";"), ("places.tsv", "\t"), ("places.csv", ",")])
def test_the_columns_of_named_files_are_guessed(name, delimiter, folder):
    (folder / name).write_text(NODES.replace(",", delimiter))
    init("edges.csv", "--coordinates", name, "--nodes", name)
    assert files_of(folder / "edges.toml") == {
        "graph.source": ("edges.csv", 3), "graph.coordinates": (name, 4), "graph.nodes": (name, 4)
    }  # fmt: skip
    how = how_read(folder / "edges.toml")
    assert "columns 'id', 'lon', 'lat'" in how["graph.coordinates"] and "joined by 'id': 'district'" in how["graph.nodes"]


@pytest.mark.parametrize(
    ("name", "column"), [("nodes.csv.gz", "id"), ("Junctions.tsv", "Junction ID"), ("vertices.parquet", "osmid")]
)
def test_coordinates_beside_a_source_may_be_written_in_many_ways(name, column, folder, capsys):
    text = NODES.replace("id,", f"{column},", 1).replace(",", "\t" if name.endswith("tsv") else ",")
    (folder / "nodes.csv").unlink()
    if name.endswith("parquet"):
        pq.write_table(csv.read_csv(io.BytesIO(text.encode())), folder / name)
    else:
        (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    init("edges.csv")
    assert files_of(folder / "edges.toml")["graph.coordinates"] == (name, 4)
    assert f"{name}: vertex {column}, x lon, y lat" in capsys.readouterr().out


def test_of_two_files_with_coordinates_none_is_proposed(folder, capsys):
    (folder / "vertices.csv").write_text(NODES)
    init("edges.csv")
    assert load_run(folder / "edges.toml").graph.coordinates is None
    assert "nodes.csv and " in (shown := capsys.readouterr().out) and "vertices.csv have some; --coordinates names one" in shown


def test_other_files_beside_a_source_are_left_alone(folder, capsys):
    (folder / "people.csv").write_text("id;people\n10;7\n")
    without = {"one": "id,name\n10,a\n", "two": "id,lon,lat\n10,here,there\n", "three": "id;lon;lat\n10;8,1;53\n", "four": ""}
    for name, text in without.items():
        (folder / "nodes.csv").write_text(text)
        init("edges.csv", "--name", name, *(["--nodes", "people.csv"] if name == "two" else []))
    (folder / "nodes.csv").write_text(NODES)
    init("edges.csv", "--name", "five", "--nodes", "people.csv")  # is written with semicolons, which one key states
    (folder / "nodes.csv").rename(folder / "no.csv")
    init("edges.csv", "--name", "six")
    shown = capsys.readouterr().out
    assert shown.count("beside the source") == 1
    placed = [load_run(folder / f"{name}.toml").graph.coordinates for name in (*without, "five", "six")]
    assert [bool(file) for file in placed] == [False, False, True, False, False, False]


@pytest.mark.parametrize(("edges", "weight"), [("1 2 0.5\n2 3 7\n", "3"), ("1 2\n2 3\n", None), ("1 2 x\n2 3 y\n", None)])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_pair_of_files_of_ldbc_has_its_vertices_and_weights(edges, weight, suffix, folder, capsys):
    for name, text in (("graph.e", edges), ("graph.v", "1\n2\n3\n4\n")):
        (folder / f"{name}{suffix}").write_bytes(gzip.compress(text.encode()) if suffix else text.encode())
    init(f"graph.e{suffix}")
    assert load_run(folder / "graph.toml").graph.columns.weight == weight
    assert files_of(folder / "graph.toml") == {
        "graph.source": (f"graph.e{suffix}", 2), "graph.nodes": (f"graph.v{suffix}", 4)
    }  # fmt: skip
    assert check(load_run(folder / "graph.toml")).vertices == 4
    shown = capsys.readouterr().out
    assert f"graph.v{suffix}: an id on each line, which is a vertex (node_columns.declare); it is beside the source" in shown


@pytest.mark.parametrize("source", ["feed", "graph.graphml"])
def test_a_feed_and_graphml_need_no_edit(source, folder):
    for day in ("1", "2"):
        (folder / "feed" / f"day={day}").mkdir(parents=True)
        (folder / "feed" / f"day={day}" / "a.csv").write_text("at,from_user,to_user,count\n2026-01-01T08:00:00Z,ana,ben,3\n")
    keys = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    edge = '<node id="a"/><node id="b"/><edge source="a" target="b"><data key="w">1.5</data></edge>'
    (folder / "graph.graphml").write_text(
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}<graph edgedefault="undirected">{edge}</graph></graphml>'
    )
    init(source)
    checked = check(load_run(folder / f"{source.partition('.')[0]}.toml"))
    assert checked.vertices == 2 and checked.input.weight
