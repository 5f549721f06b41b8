"""The algorithms of examples/ on a graph that a command names."""

import subprocess
import sys

import pytest

from examples.__main__ import main, run
from graphmill import Graph
from tests.operators.algorithms import ROWS
from tests.project.test_layout import ROOT, files, imports_of


@pytest.fixture
def roads(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "roads.csv").write_text("src,dst,weight\nana,bob,3\nbob,cyd,4\nana,cyd,1\n")
    return str(tmp_path / "roads.csv")


def test_they_take_the_operators_from_the_package():
    assert not [path for path in files("examples") for module, _ in imports_of(path) if module.startswith("kernels.library")]


def test_the_command_prints_the_answer(roads):
    arguments = ["-m", "examples", "paths.top_down", roads, "bob", "--undirected", "--backend", "cpu"]
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    first, _, *rows = done.stdout.splitlines()
    assert first == "<undirected graph of 3 vertices and 6 arcs, weights int32, ids are strings, on the CPU>"
    assert sorted(row.split()[1:] for row in rows) == [["ana", "1"], ["bob", "0"], ["cyd", "1"]]
    assert not done.stderr


@pytest.mark.parametrize("name", ROWS)
def test_every_algorithm_has_its_arguments(name, capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main([name, "--help"])
    printed = capsys.readouterr().out
    assert f"usage: python -m examples {name} [-h]" in printed
    assert all(kind not in printed for kind in ("None", "Parameter"))


def test_all_are_listed(capsys):
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--help"])
    listed = capsys.readouterr().out.replace("\n", " ").split("Run one of ")[1].split(".  ")[0]
    assert {*listed.split(", ")} == {*ROWS}


def test_vertices_are_named_by_their_ids_and_numbers_are_numbers(roads, capsys):
    def answer(graph: Graph, source: int, targets: list[int], delta: float, rounds: int = 3, share: float = 0.5) -> tuple:
        return source, targets, delta, rounds, share

    run("x", lambda graph: graph.ids, [roads])
    rows = {line.split()[1]: line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]}
    assert {*rows} == {"bob", "ana", "cyd"}
    run("x", answer, [roads, "bob", "ana", "cyd", "2"])
    assert capsys.readouterr().out.splitlines()[1:] == [rows["bob"], f"[{rows['ana']}, {rows['cyd']}]", "2.0", "3", "0.5"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["bo", "2"], "vertex 'bo' is not among the 3 ids of the graph"), (["bob", "-1"], "delta -1.0 is not above 0")],
)
def test_what_a_user_can_fix_is_one_line(roads, arguments, message):
    def answer(graph: Graph, source: int, delta: float) -> None:
        raise ValueError(f"delta {delta} is not above 0")

    with pytest.raises(SystemExit, match=f"^python -m examples x: {message}"):
        run("x", answer, [roads, *arguments])
