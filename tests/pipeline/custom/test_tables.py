"""Stages that users write: their tables, how they are proved, when they are made again, and what is said of them."""

import json
import math
from hashlib import sha256

import duckdb
import pyarrow as pa
import pytest

from pipeline.config.loading import load_run
from pipeline.errors import BadInput, ProofFailed
from pipeline.inspection.check import check
from pipeline.steps.publication.publish import open_run
from pipeline.tables import files as tables
from tests.pipeline.custom.projects import CERTIFICATE, COLUMNS, EDGES, PROGRAM, expected, program_of_the_page, published, write
from tests.pipeline.runs.commands import graphmill


def rows_of(run, table="around"):
    """The rows of a table; NaN, which equals nothing, as None."""
    rows = tables.read(run.path / table).to_pylist()
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return write(tmp_path_factory.mktemp("own"), more="options = { times = 3 }\n[changes]\ntables = true\n")


@pytest.fixture(scope="module")
def first(project):
    return published(project)


def test_the_table_has_the_values_of_an_independent_program(first):
    assert rows_of(first) == expected(EDGES, 3)
    types = [pa.int32(), pa.int64(), pa.float64(), pa.float32(), pa.bool_(), pa.int64()]
    assert tables.read(first.path / "around").schema == pa.schema(
        [pa.field("vertex", pa.int64(), False)]
        + [pa.field(name, of, name == "first") for name, of in zip(COLUMNS, types, strict=True)]
    )


def test_a_table_of_several_files_is_one_sorted_table(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 4)
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 2)
    run = published(write(tmp_path, PROGRAM + CERTIFICATE.format("answer['degree'].sum() == graph.num_arcs")))
    assert len(tables.files(run.path / "around")) == 2 and rows_of(run) == expected(EDGES)
    assert run.facts["proofs"]["around"]["holds"]


def test_the_manifest_says_what_made_the_table_and_that_it_is_not_proved(first, project):
    program = project.with_name("around.py")
    assert first.facts["custom"]["around"] == {
        "file": str(program), "sha256": sha256(program.read_bytes()).hexdigest(), "options": {"times": 3}, "proved": "not proved",
    }  # fmt: skip
    assert "around" not in first.facts["proofs"] and first.facts["proofs"]["wcc"]["holds"]
    units = {column["name"]: (column["unit"], column["nulls"]) for column in first.facts["tables"]["around"]["columns"]}
    assert units["vertex"] == ("external id", "never") and units["first"] == ("external id", "it has none")
    assert first.facts["configuration"]["values"]["custom"][0]["file"] == str(program)


def test_the_report_shows_the_table_and_its_query(first):
    text, page = ((first.path / name).read_text() for name in ("report.md", "report.html"))
    assert "around, a stage of around.py" in text and "7 rows; is\\_end is true in 1; first has 4 vertices" in text
    assert "tables proved: 2 of 4; " in text and "around: not proved" in text and "<p>Not proved.</p>" in page
    queries = [block.partition("```")[0] for block in text.split("```sql\n")[1:] if "/around/" in block]
    assert len(queries) == 4
    for query, name in zip(queries, ("degree", "around", "mean", "half"), strict=True):
        known = [(row["vertex"], row[name]) for row in expected(EDGES, 3) if row[name] is not None]
        assert duckdb.sql(query).fetchall() == sorted(known, key=lambda row: (-row[1], row[0])), query


def test_a_changed_file_and_a_changed_graph_are_computed_again_and_nothing_else_is(first, project):
    made = {name: step["key"] for name, step in first.facts["steps"].items()}
    again = published(project)
    assert again.facts["steps"]["custom-around"]["reused"]
    program = project.with_name("around.py")
    program.write_text(PROGRAM.replace("around * options", "1 + around * options"))
    changed = published(project)
    steps = changed.facts["steps"]
    assert not steps["custom-around"]["reused"] and steps["custom-around"]["key"] != made["custom-around"]
    assert steps["wcc"]["reused"] and steps["graph"]["reused"]
    assert [row["around"] for row in rows_of(changed)] == [row["around"] + 1 for row in expected(EDGES, 3)]
    rows = rows_of(changed, "around_changes")
    assert [(row["vertex"], row["old_around"], row["new_around"], row["kind"]) for row in rows] == [
        (row["vertex"], row["around"], row["around"] + 1, "changed") for row in expected(EDGES, 3)
    ]
    program.write_text(PROGRAM)
    edges = [*EDGES, (3, 7)]
    write(project.parent, edges=edges, more="options = { times = 3 }\n[changes]\ntables = true\n")
    other = published(project)
    assert rows_of(other) == expected(edges, 3)
    compared = graphmill("diff", project.with_name("out")).stdout
    assert "around: 7 rows: 0 added, 0 removed, 7 changed" in compared


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("True", None),
        ("(answer['degree'] >= 0).all()", None),
        ("np.array(True)", None),
        ("False", "around: certify of .*around.py does not hold"),
        ("'3 rows are wrong'", "around: 3 rows are wrong"),
        ("np.False_", "around: certify of .*around.py does not hold"),
        ("None", "around.py: certify returned NoneType; it returns True, or False or a text"),
        ("1", "around.py: certify returned int"),
        ("answer['degree'] >= 0", "around.py: certify returned ndarray"),
        ("graph.nothing", "around.py: line 27: AttributeError: .*nothing"),
    ],
)
def test_a_certificate_decides(verdict, words, tmp_path):
    project = write(tmp_path, PROGRAM + CERTIFICATE.format(verdict))
    if words is None:
        run = published(project)
        assert run.facts["custom"]["around"]["proved"] == "proved by the user's certificate"
        proof = run.facts["proofs"]["around"]
        assert proof["holds"] and proof["rules"][1] == "certify of around.py holds for the table as it was read back"
        return
    with pytest.raises((ProofFailed, BadInput), match=words):
        published(project)
    assert not (tmp_path / "out" / "latest").exists()


def test_a_certificate_gets_the_answer_in_the_order_of_rows_and_the_options(tmp_path):
    certificate = """
def certify(graph, answer, options):
    assert options == {"times": 2, "names": ["a", "b"]}
    options["names"].append("changed for this call only")
    by_row = {int(id): row for row, id in enumerate(graph.ids)}
    assert set(answer) == {"degree", "around", "mean", "half", "is_end", "first"}
    assert answer["first"][by_row[7]] == by_row[250] and answer["first"].dtype == np.int64
    assert answer["degree"].dtype == np.int32 and answer["degree"][by_row[90]] == 2
    return bool(np.isnan(answer["mean"]).any() == answer["is_end"].any())
"""
    edges = EDGES[:-2]
    project = write(tmp_path, PROGRAM + certificate, edges, more='options = { times = 2, names = ["a", "b"] }\n')
    run = published(project)
    assert run.facts["custom"]["around"]["options"]["names"] == ["a", "b"]
    assert rows_of(run) == expected(edges, 2)


def test_a_run_of_changes_has_the_tables_of_a_run_over_the_changed_source(tmp_path):
    """The manifest, whose objects are sorted, has its configuration; the columns keep their order."""
    write(tmp_path)
    before = published(tmp_path / "own.toml")
    (tmp_path / "changes.csv").write_text("op,src,dst\ninsert,3,7\n")
    done = graphmill("change", "out", "changes.csv", cwd=tmp_path)
    assert done.returncode == 0 and "every answer of the other stages proved; around: not proved" in done.stdout
    changed = open_run(tmp_path / "out" / "latest")
    assert changed.path != before.path and rows_of(changed) == expected([*EDGES, (3, 7)])
    assert tables.read(changed.path / "around").schema.names == ["vertex", *COLUMNS]
    write(tmp_path, columns=dict(reversed(COLUMNS.items())))
    assert tables.read(published(tmp_path / "own.toml").path / "around").schema.names == ["vertex", *reversed(COLUMNS)]


def test_the_link_is_the_same_from_another_folder(tmp_path):
    write(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    assert "latest names it" in graphmill("run", "own.toml", cwd=tmp_path).stderr
    done = graphmill("run", "../own.toml", "--stages", "wcc,scc", cwd=tmp_path / "elsewhere")
    assert "latest names it" in done.stderr, done.stderr


TASKS = [("dig", "pour"), ("pour", "walls"), ("dig", "pipes"), ("pipes", "walls"), ("walls", "roof")]


def test_the_certificate_of_the_page_accepts_one_table_only(tmp_path):
    program, columns = program_of_the_page(), {"round": "int64"}
    run = published(write(tmp_path, program, TASKS, columns))
    names = {row["vertex"]: row["id"] for row in rows_of(run, "vertices")}
    rounds = {names[row["vertex"]]: row["round"] for row in rows_of(run)}
    assert rounds == {"dig": 0, "pour": 1, "pipes": 1, "walls": 2, "roof": 3}
    write(tmp_path, program, [*TASKS, ("roof", "pour")], columns)
    with pytest.raises(ProofFailed, match="around: some tasks wait for each other"):
        published(tmp_path / "own.toml")
    for wrong in ("rounds + 1", "rounds * 2", "rounds * 0", "rounds + (graph.ids == 0)"):
        write(tmp_path, program.replace('{"round": rounds}', f'{{"round": {wrong}}}'), TASKS, columns)
        with pytest.raises(ProofFailed, match="around: some tasks wait for each other"):
            published(tmp_path / "own.toml")
    assert open_run(tmp_path / "out" / "latest").path == run.path


def test_ids_that_are_strings_have_names_beside_them(tmp_path):
    edges = [("cy", "ann"), ("ann", "bob"), ("cy", "bob"), ("dee", "cy")]
    project = write(tmp_path, edges=edges)
    run = published(project, named=True)
    numbers = {row["id"]: row["vertex"] for row in rows_of(run, "vertices")}
    names = {number: name for name, number in numbers.items()}
    rows = rows_of(run)
    assert [row["vertex_name"] for row in rows] == [names[row["vertex"]] for row in rows]
    assert {row["vertex_name"]: row["first_name"] for row in rows} == {
        "ann": "bob", "bob": None, "cy": names[min(numbers["ann"], numbers["bob"])], "dee": "cy",
    }  # fmt: skip


@pytest.mark.parametrize("edges", [[], [(5, 5)]])
def test_a_graph_without_arcs_has_a_table(edges, tmp_path):
    program = "import numpy as np\n\ndef solve(graph, options):\n    return {'first': np.full(graph.num_vertices, -1)}\n"
    project = write(
        tmp_path, program + CERTIFICATE.format("len(answer['first']) == graph.num_vertices"), edges, {"first": "vertex"}
    )
    assert rows_of(published(project)) == [{"vertex": src, "first": None} for src, _ in edges]


def test_the_command_runs_checks_and_estimates_it_without_a_false_claim(tmp_path):
    write(tmp_path, PROGRAM.replace("def solve", "open('was_run', 'w').close()\n\ndef solve"))
    said = graphmill("check", "own.toml", cwd=tmp_path)
    assert "program, which a run would execute; its table would be not proved" in said.stdout
    assert (
        "not in them, as nothing is known before their first run: custom-around"
        in graphmill("estimate", "own.toml", cwd=tmp_path).stdout
    )
    assert not (tmp_path / "was_run").exists()
    ran = graphmill("run", "own.toml", cwd=tmp_path)
    assert (tmp_path / "was_run").exists()
    assert "edges: 7 vertices, 10 arcs; every answer of the other stages proved; around: not proved" in ran.stdout
    assert "around                           7 rows" in ran.stdout
    assert "custom-around" in graphmill("estimate", "own.toml", cwd=tmp_path).stdout
    write(tmp_path, PROGRAM + CERTIFICATE.format("True"))
    assert check(load_run(tmp_path / "own.toml")).custom["around"].proof == "proved by the user's certificate"
    ran = graphmill("run", "own.toml", cwd=tmp_path)
    assert "every answer of the other stages proved; around: proved by the user's certificate" in ran.stdout
    assert open_run(tmp_path / "out" / "latest").facts["proofs"]["around"]["holds"]


@pytest.mark.parametrize("layout", ["", "[layout]\nshards = 2\n"])  # which are joined in memory; one shard is a memory map
def test_the_functions_get_a_graph_that_they_cannot_change(layout, tmp_path):
    for line in ("graph.out.indices[0] = 0", "graph.ids[0] += 1", "graph.rows_by_id[:] = 0", "graph.out.offsets.sort()"):
        project = write(tmp_path, PROGRAM.replace("    rows =", f"    {line}\n    rows ="), more=layout)
        with pytest.raises(BadInput, match=r"around.py: line 5: ValueError: .*read-only"):
            published(project)


def test_no_call_sees_what_another_one_left(tmp_path):
    """As on workers, which do not share a module."""
    certificate = "\nCALLS = []\n\ndef certify(graph, answer, options):\n    return CALLS == [] or 'the module is kept'\n"
    project = write(tmp_path, PROGRAM.replace("    rows =", "    CALLS.append(1)\n    rows =") + certificate)
    assert published(project).facts["proofs"]["around"]["holds"]


def test_a_column_may_have_a_name_of_sql_and_values_that_are_not_finite(tmp_path):
    program = """
import numpy as np

def solve(graph, options):
    values = graph.ids.astype(float)
    values[graph.ids == 1] = np.inf
    values[graph.ids == 2] = np.nan
    return {"order": values, "labels": graph.ids, "old_order": -values}
"""
    columns = {"order": "float64", "labels": "int64", "old_order": "float64"}
    edges = [(f"p{src}", f"p{dst}") for src, dst in EDGES]
    project = write(tmp_path, program, edges, columns, "[changes]\ntables = true\n")
    run = published(project, named=True)
    text = (run.path / "report.md").read_text()
    queries = [block.partition("```")[0] for block in text.split("```sql\n")[1:] if "/around/" in block]
    assert [[row[-1] for row in duckdb.sql(query).fetchall()] for query in queries] == [
        [6, 5, 4, 3, 0], [6, 5, 4, 3, 2, 1, 0], [0, -3, -4, -5, -6],
    ]  # fmt: skip
    assert run.facts["figures"]["around: highest old_order"] == 0 and not any("labels_name" in query for query in queries)
    (tmp_path / "around.py").write_text(program.replace("-values", "np.where(graph.ids == 1, 8, -values)"))
    again = published(project, named=True)
    (row,) = tables.read(again.path / "around_changes").to_pylist()
    assert (row["old_old_order"], row["new_old_order"], row["old_labels"], row["new_labels"]) == (-math.inf, 8, 1, 1)
    assert again.facts["changes"]["tables"]["around"]["largest"] == {}
    assert json.loads(graphmill("diff", tmp_path / "out", "--json").stdout)["tables"]["around"]["changed"] == 1
