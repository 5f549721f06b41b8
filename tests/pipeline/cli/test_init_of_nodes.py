"""`graphmill init` beside files of nodes: what it proposes, `graphmill check` accepts without an edit."""

import pytest

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


def test_a_city_needs_no_edit(folder, capsys):
    init("edges.csv", "--nearest", "hospitals.csv")
    shown = capsys.readouterr().out
    assert "nodes.csv: taken for coordinates: it is beside the source" in shown
    assert files_of(folder / "edges.toml") == {
        "graph.source": ("edges.csv", 3), "graph.coordinates": ("nodes.csv", 4), "nearest.facilities": ("hospitals.csv", 2)
    }  # fmt: skip


@pytest.mark.parametrize(("name", "delimiter"), [("places.csv", ";"), ("places.tsv", "\t"), ("places.csv", ",")])
def test_the_columns_of_named_files_are_guessed(name, delimiter, folder):
    (folder / name).write_text(NODES.replace(",", delimiter))
    (folder / "nodes.csv").unlink()
    init("edges.csv", "--coordinates", name, "--nodes", name)
    assert files_of(folder / "edges.toml") == {
        "graph.source": ("edges.csv", 3), "graph.coordinates": (name, 4), "graph.nodes": (name, 4)
    }  # fmt: skip


def test_other_files_beside_a_source_are_left_alone(folder, capsys):
    (folder / "nodes.csv").write_text("id,name\n10,a\n")  # without coordinates
    init("edges.csv", "--name", "one")
    (folder / "nodes.csv").rename(folder / "no.csv")
    init("edges.csv", "--name", "other")
    assert "taken for" not in capsys.readouterr().out
    assert load_run(folder / "one.toml").graph.coordinates is load_run(folder / "other.toml").graph.coordinates is None


@pytest.mark.parametrize(("edges", "weight"), [("1 2 0.5\n2 3 7\n", "3"), ("1 2\n2 3\n", None), ("1 2 x\n2 3 y\n", None)])
def test_a_pair_of_files_of_ldbc_has_its_vertices_and_weights(edges, weight, folder, capsys):
    (folder / "graph.e").write_text(edges)
    (folder / "graph.v").write_text("1\n2\n3\n4\n")
    init("graph.e")
    assert load_run(folder / "graph.toml").graph.columns.weight == weight
    assert files_of(folder / "graph.toml") == {"graph.source": ("graph.e", 2), "graph.nodes": ("graph.v", 4)}
    assert check(load_run(folder / "graph.toml")).vertices == 4
    assert "graph.v: each line is a vertex, also without an edge" in capsys.readouterr().out


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
