"""Stages that users write, on local workers: they get the text of the program, and its errors come back with their lines."""

import os
from dataclasses import replace

import pytest

from pipeline.config.custom import CustomConfig
from pipeline.errors import BadInput
from pipeline.steps.custom import table
from pipeline.steps.custom.program import UserProgram, read_program
from pipeline.steps.runtime import Runtime
from pipeline.tables import files as tables
from tests.cluster.local.test_local import few_rows, grid  # noqa: F401

PROGRAM = """\
import os
from graphmill import Frontier, compute
import numpy as np

def solve(graph, options):
    process, degrees = np.zeros(graph.num_vertices, np.int64), np.zeros(graph.num_vertices, np.int64)
    process[:] = os.getpid()

    def count(row, degree):
        degrees[row + options_shift] = degree

    options_shift = options["shift"]
    compute(Frontier.everything(graph), count)
    return {"process": process, "degree": degrees}

def certify(graph, answer, options):
    return os.getpid() != options["here"] or "it is certified in the process of the run"
"""


@pytest.fixture
def program(tmp_path, monkeypatch) -> UserProgram:
    """A program whose file is gone when workers run it."""
    file = tmp_path / "degrees.py"
    file.write_text(PROGRAM)
    read = read_program(str(file))
    file.unlink()
    monkeypatch.setattr(table, "read_program", lambda _: read)
    return read


def stage(shift):
    columns = {"process": "int64", "degree": "int64"}
    return CustomConfig(name="degrees", file="degrees.py", columns=columns, options={"shift": shift, "here": os.getpid()})


def test_workers_run_the_text_of_a_program(program, grid, cluster, tmp_path):  # noqa: F811
    made = table.tabulate_custom(grid, stage(0), Runtime(tmp_path, cluster=cluster))
    rows = tables.read(made.path)
    assert len(tables.files(made.path)) == 1 and len(rows) == grid.facts["vertices"]
    assert os.getpid() not in set(rows["process"].to_pylist())
    assert sum(rows["degree"].to_pylist()) == grid.facts["arcs"]
    assert made.facts["proved"] == "proved by the user's certificate"
    assert [path.name for path in tmp_path.iterdir()] == ["custom-degrees"]


def test_an_error_on_a_worker_names_the_line_of_the_program(program, grid, cluster, tmp_path):  # noqa: F811
    with pytest.raises(BadInput, match=r"degrees.py: line 10: index 21000 is not in 0..20999, the entries of degrees"):
        table.tabulate_custom(grid, stage(1), Runtime(tmp_path, cluster=cluster))
    assert not [*tmp_path.iterdir()]
    wrong = replace(program, text=program.text.replace("options[", "option["))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(BadInput, match=r"degrees.py: line 12: NameError: name 'option'"):
        patch.setattr(table, "read_program", lambda _: wrong)
        table.tabulate_custom(grid, stage(0), Runtime(tmp_path, cluster=cluster))
