"""What is refused of stages that users write: the message names the file, and the line where there is one."""

from functools import partial

import pytest

from pipeline.config.loading import load_run
from pipeline.errors import GraphmillError
from pipeline.ingest import ingest
from pipeline.inspection.check import check
from pipeline.steps.custom.table import tabulate_custom
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from tests.pipeline.custom.projects import COLUMNS, PROGRAM, write
from tests.pipeline.runs.commands import graphmill

RETURNED = "import numpy as np\n\ndef solve(graph, options):\n    return {}\n"


def counting(line):
    """The program with another line in its first user function."""
    return PROGRAM.replace("degrees[row] = degree", line)


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """The stored graph of a project."""
    folder = tmp_path_factory.mktemp("graph")
    config = load_run(write(folder))
    return lay_out(ingest(config.graph, folder), config.layout, Runtime(folder))


def solve(graph, work, config):
    """The step of a project's own stage on that graph."""
    work.mkdir()
    return tabulate_custom(graph, config.custom[0], Runtime(work))


def refused(how, project):
    with pytest.raises(GraphmillError) as raised:
        how(load_run(project))
    return str(raised.value).replace(f"{project.parent}/", "")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("def solve(graph, options):\n    return (\n", "around.py: line 2: is not Python: '(' was never closed"),
        ("def solve(graph options):\n    pass\n", "around.py: line 1: is not Python: "),
        (
            "async def solve(graph, options):\n    pass\n",
            "around.py: defines no function solve; a custom stage needs `def ",
        ),
        ("# coding: no-such\n", "around.py: is not Python: unknown encoding"),
        (
            "def solve(graph, options):\n    return '\0'\n",
            "around.py: is not Python: source code string cannot contain null",
        ),
        (PROGRAM + "#" * 2**20, "around.py: has more than 1,048,576 bytes, the limit of a custom stage's file"),
        (None, "around.py: "),
    ],
)
def test_a_file_is_refused_before_the_graph_is_read(program, words, tmp_path):
    project = write(tmp_path, program or "")
    if program is None:
        (tmp_path / "around.py").unlink()
    (tmp_path / "edges.csv").unlink()
    assert refused(check, project).startswith(words)
    ran = graphmill("run", "own.toml", cwd=tmp_path)
    assert ran.returncode == 1 and ran.stderr.splitlines()[-1].startswith(f"graphmill: {words}")
    assert not [path for path in (tmp_path / "out").rglob("*") if path.name.startswith(("edges", "latest"))]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("1 / 0\n" + RETURNED, "around.py: line 1: ZeroDivisionError: division by zero"),
        ("import no_such_module\n" + RETURNED, "around.py: line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        (RETURNED.replace("{}", "options['rounds']"), "around.py: line 4: KeyError: 'rounds'"),
        (RETURNED.replace("{}", "np.zeros(-1)"), "around.py: line 4: ValueError: negative dimensions"),
        (RETURNED.replace("{}", "exit(3)"), "around.py: line 4: SystemExit: 3"),
        ("solve = 5\n" + RETURNED + "solve = 5\n", "around.py: defines no function solve"),
        (RETURNED.replace("graph, options", "graph"), "around.py: TypeError: solve() takes 1 positional argument"),
        (counting("degrees[row] = degree // (degree - 2)"), "around.py: line 9: 2 // 0 divides by zero (count, row 0); row 0 is"),
        (counting("degrees[row] = print(degree)"), "around.py: line 9: the call print is not supported"),
        (counting("degrees[row + 4] = degree"), "around.py: line 9: index "),
        (PROGRAM.replace("advance(rows,", "advance(5,"), "around.py: line 20: AttributeError"),
    ],
)
def test_an_error_of_the_program_names_its_line(program, words, graph, tmp_path):
    assert refused(partial(solve, graph, tmp_path / "steps"), write(tmp_path, program)).startswith(words)
    assert not [*(tmp_path / "steps").iterdir()]


@pytest.mark.parametrize(
    ("returned", "kind", "words"),
    [
        ("5", "int64", "solve returned int, not a dictionary of arrays by their columns"),
        ("None", "int64", "solve returned NoneType, not a dictionary"),
        ("{}", "int64", "solve returned nothing; the columns of around are score"),
        ("{'score': graph.ids, 'extra': graph.ids}", "int64", "solve returned extra, score; the columns of around are score"),
        ("{'score': graph.ids.tolist()}", "int64", "solve returned list for score, not an array"),
        ("{'score': graph.ids[1:]}", "int64", "solve returned an array of shape (6,) for score; the graph has 7 vertices"),
        ("{'score': graph.ids[:, None]}", "int64", "solve returned an array of shape (7, 1) for score"),
        ("{'score': graph.ids * 1.0}", "int64", "solve returned float64 for score, which a column of type int64 cannot hold"),
        ("{'score': graph.ids}", "int32", "solve returned int64 for score, which a column of type int32 cannot hold"),
        ("{'score': graph.ids}", "bool", "solve returned int64 for score, which a column of type bool cannot hold"),
        ("{'score': graph.ids > 1}", "vertex", "solve returned bool for score, which a column of type vertex cannot hold"),
        ("{'score': graph.ids.astype('u8')}", "int64", "solve returned uint64 for score"),
        ("{'score': graph.ids.astype(object)}", "int64", "solve returned object for score"),
        ("{'score': graph.ids.astype('M8[s]')}", "int64", "solve returned datetime64[s] for score"),
        ("{'score': graph.ids + 2**53}", "float64", "solve returned 9007199254740995 for score, which a column of type float64"),
        (
            "{'score': -graph.ids - 2**53}",
            "float64",
            "solve returned -9007199254740995 for score, which a column of",
        ),
        ("{'score': np.ma.masked_less(graph.ids, 9)}", "int64", "solve returned a masked array for score"),
        ("{'score': np.arange(7) + 1}", "vertex", "solve returned 7 for score of row 6; it must be the row of a vertex, or -1"),
        ("{'score': np.arange(7) - 2}", "vertex", "solve returned -2 for score of row 0; it must be the row of a vertex, or -1"),
    ],
)
def test_what_cannot_be_a_table_of_these_columns_is_refused(returned, kind, words, graph, tmp_path):
    project = write(tmp_path, RETURNED.replace("{}", returned), columns={"score": kind})
    said = refused(partial(solve, graph, tmp_path / "steps"), project)
    assert said.startswith("around.py: ") and words in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('name = "wcc"', "custom: wcc: is the name of something that a run may have already; choose another one"),
        ('name = "reachability"', "custom: reachability: is the name of something"),
        ('name = "reachability_index"', "custom: reachability_index: is the name of something"),
        ('name = "vertices"', "custom: vertices: is the name of something"),
        ('name = "around_changes"', "custom: around_changes: is the name of something"),
        ('name = "Around"', "custom.0.name: must be a lower-case letter"),
        ('name = "../x"', "custom.0.name: must be a lower-case letter"),
        ("columns = {}", "custom.0.columns: "),
        ('columns = { score = "text" }', "custom.0.columns.score: Input should be 'vertex', 'int64'"),
        ('columns = { Vertex = "int64" }', "custom.0.columns: column 'Vertex': the table has a column of this name"),
        ('columns = { a = "int64", A = "int64" }', "custom.0.columns: column 'A': the table has a column of this name"),
        ('columns = { id = "int64" }', "custom.0.columns: column 'id': the name has a meaning in other tables"),
        ('columns = { vertex_name = "int64" }', "custom.0.columns: column 'vertex_name': with `named = true`"),
        ('columns = { b_name = "int64", b = "vertex" }', "custom.0.columns: column 'b_name': with `named = true`"),
        ('columns = { "a b" = "int64" }', "custom.0.columns: column 'a b': a name has up to 64 letters"),
        ("options = { when = 2024-01-01 }", "custom.0.options: option 'when': must be a number, a text, true, false, or a list"),
        ("options = { limit = inf }", "custom.0.options: option 'limit': inf is not finite"),
        ("option = { a = 1 }", "custom.0.option: unknown key"),
        ('file = "https://example.org/around.py"', "https://example.org/around.py: is a URL; it must be a file of this machine"),
        ('[[custom]]\nname = "around"\nfile = "around.py"\ncolumns = { a = "int64" }', "custom: around is given twice"),
    ],
)
def test_a_configuration_is_refused(line, words, tmp_path):
    project = write(tmp_path)
    key = line.partition(" = ")[0]
    kept = [old for old in project.read_text().splitlines() if not old.startswith(f"{key} =")]
    project.write_text("\n".join([*kept, line, ""]))
    said = refused(check, project)
    assert words in said


def test_the_columns_of_the_tests_are_those_that_a_stage_can_have():
    assert set(COLUMNS.values()) == {"vertex", "int64", "int32", "float64", "float32", "bool"}
