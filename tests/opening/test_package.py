"""The package `graphmill`: installed, loaded on first use, and the same names as those of the operators."""

import subprocess
import sys
import tomllib
from importlib import import_module

import pytest
from setuptools import find_packages

import graphmill
from tests.cpu.test_examples import run as run_examples
from tests.project.test_layout import ROOT

HERE = """
import sys
before = {*sys.modules}
import graphmill
print(*{name.partition(".")[0] for name in {*sys.modules} - before})
"""


def test_its_import_loads_nothing_else(tmp_path):
    """From any folder."""
    loaded = subprocess.run([sys.executable, "-c", HERE], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "graphmill" in loaded.split()
    assert not {"kernels", "pipeline", "numpy", "pyarrow"} & {*loaded.split()}


def test_a_wheel_has_every_package():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]["include"]
    installed = {*find_packages(ROOT, include=patterns)}
    top = {name for name in installed if "." not in name}
    assert top == {"flows", "graphmill", "kernels", "pipeline"}
    folders = {path.parent.relative_to(ROOT) for name in top for path in (ROOT / name).rglob("*.py")}
    assert installed == {".".join(folder.parts) for folder in folders}


def test_its_names_are_what_their_modules_define():
    assert {*graphmill.__all__} <= {*dir(graphmill)}
    operators = import_module("kernels.library.operators")
    assert {*operators.__all__} <= {*graphmill.__all__}
    for name in graphmill.__all__:
        assert getattr(graphmill, name) is getattr(import_module(graphmill._MODULES.get(name, operators.__name__)), name)
    with pytest.raises(AttributeError, match="module 'graphmill' has no attribute 'opne'"):
        graphmill.opne  # noqa: B018


def test_the_example_of_its_function_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(ROOT)
    run_examples(graphmill.open)


def test_user_functions_call_updates_by_the_name_of_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n3,2\n2,4\n")
    opened = graphmill.open(tmp_path / "g.csv", backend="cpu")
    least = opened.graph.ids.copy()

    def smaller(row, neighbour):
        return graphmill.atomic_min(least, neighbour, least[row])

    everything = graphmill.Frontier.everything(opened.graph)
    graphmill.repeat_advance(everything, smaller)
    assert dict(zip(opened.ids().tolist(), least.tolist(), strict=True)) == {1: 1, 2: 1, 3: 3, 4: 1}
