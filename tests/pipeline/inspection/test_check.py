"""`graphmill check`: a graph is read with all checks, and nothing is kept."""

import json
import tempfile

import pytest

from pipeline.cli.command import app
from pipeline.config.loading import run_config
from pipeline.errors import BadInput, BadSource, Refused
from pipeline.run import run
from pipeline.store.facts.run import RunFacts

CSV = "from,to,km,name\n1,2,5,a\n1,2,3,b\n2,3,1,c\n3,1,4,d\n9,9,1,e\n1,9,2,f\n"
NAMED_HOW = "csv; columns src 'from', dst 'to', weight 'km'; not read: 'name'"
NAMED = ("--src", "from", "--dst", "to", "--weight", "km", "--backend", "cpu")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a CSV file, with temporary files in another one."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "roads.csv").write_text(CSV)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def check(*arguments: object) -> None:
    app(["check", *map(str, arguments)], result_action="return_value", exit_on_error=False)


def left(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_check_says_how_a_run_would_read_the_graph_and_leaves_nothing(folder, capsys):
    check("roads.csv", *NAMED, "--json")
    found = json.loads(capsys.readouterr().out)
    graph = {"source": "roads.csv", "columns": {"src": "from", "dst": "to", "weight": "km"}}
    facts = RunFacts.of(run(run_config("here", graph=graph, output=folder / "out", stages=["bfs"], backend="cpu")))
    assert found.pop("files") == [{"key": "graph.source", "file": "roads.csv", "rows": 6, "how": NAMED_HOW}]
    assert found == {"vertices": facts.graph.vertices, "arcs": facts.graph.arcs, "input": facts.input.stored()}
    check("roads.csv", *NAMED, "--undirected", "--source", 9, "--out", folder / "none")
    printed = capsys.readouterr().out
    for words in (
        "roads: 4 vertices, 8 arcs; the graph is valid", "csv; columns src 'from', dst 'to', weight 'km'; not read: 'name'",
        "undirected, an edge is two arcs, one in each direction (stated by the configuration)", "9 (as given)",
    ):  # fmt: skip
        assert words in printed
    assert [name for name in left(folder) if not name.startswith("out/")] == ["here/roads.csv"]


def test_a_configuration_is_checked_without_its_output(folder, capsys):
    (folder / "here" / "run.toml").write_text('output = "out"\nstages = ["wcc"]\n[graph]\nsource = "roads.csv"\n')
    check("run.toml", *NAMED)
    assert "the graph is valid" in capsys.readouterr().out
    (folder / "here" / "graph.toml").write_text('source = "roads.csv"\nname = "three roads"\n')
    check("graph.toml", *NAMED)
    assert "three roads: 4 vertices" in capsys.readouterr().out
    assert left(folder) == ["here/graph.toml", "here/roads.csv", "here/run.toml"]
    app(["estimate", "graph.toml", *NAMED], result_action="return_value", exit_on_error=False)
    assert "three roads: 6 edges (counted)" in capsys.readouterr().out


def test_a_graph_that_is_not_as_expected_is_refused(folder):
    text = 'output = "out"\nstages = ["wcc"]\n[graph]\nsource = "roads.csv"\n[expect]\n'
    for limit, words in (("min_vertices = 5", "the minimum is 5"), ('columns = ["toll"]', "no column 'toll'")):
        (folder / "here" / "run.toml").write_text(text + limit + "\n")
        with pytest.raises(Refused, match=words):
            check("run.toml", *NAMED)


def test_a_graph_that_a_run_would_refuse_is_refused(folder):
    (folder / "here" / "bad.csv").write_text("src,dst\n1,2\n3,x\n")
    with pytest.raises(BadInput, match="line 3"):
        check("bad.csv", "--backend", "cpu")
    with pytest.raises(BadSource, match="77"):
        check("roads.csv", *NAMED, "--source", 77)
    assert left(folder) == ["here/bad.csv", "here/roads.csv"]
