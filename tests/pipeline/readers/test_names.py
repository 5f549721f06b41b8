"""With `named`, names stand beside the numbers of vertices: in every table, query, list and artifact."""

import re

import duckdb
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli.command import app
from pipeline.errors import BadConfig, ProofFailed
from pipeline.report.results import IDS
from pipeline.steps.derived import names
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read
from pipeline.tables import files as tables
from tests.pipeline.readers.conftest import SIDE, name
from tests.reports import Page

WITHOUT_VERTICES = ("nearest_zones", "isochrone_zones", "rejected")


def test_every_column_of_ids_has_a_column_of_names(everything):
    ordered = sorted(map(name, range(SIDE * SIDE)))
    for table, described in RunFacts.of(read(everything)).tables.items():
        rows = tables.read(everything / table)
        ids = [column["name"] for column in described.columns if column["unit"].startswith("external id")]
        assert bool(ids) != (table in WITHOUT_VERTICES), table
        for column in ids:
            own = "id" if (table, column) == ("vertices", "vertex") else f"{column}_name"
            numbers, texts = ((column.combine_chunks()) for column in (rows[column], rows[own]))
            if pa.types.is_list(numbers.type):
                numbers, texts = numbers.flatten(), texts.flatten()
            assert texts.to_pylist() == [None if one is None else ordered[one] for one in numbers.to_pylist()], (table, column)


def of_none(words):
    """Whether a query is of a table without vertices."""
    return any(f"/{table}" in words for table in WITHOUT_VERTICES)


@pytest.fixture(scope="module")
def shown(everything):
    """The lists of the report, each with its query in SQL and for pandas."""
    page = Page((everything / "report.html").read_text("utf-8"))
    here = str(everything.parents[1] / "latest")
    texts = [words.replace(here, str(everything)) for words in page.words if words.startswith("SELECT ") and not of_none(words)]
    frames = [
        words.replace(here, str(everything)) for words in page.words if "pandas.read_parquet" in words and not of_none(words)
    ]
    lists = [table for table in page.tables if table and table[0] and table[0][0] in IDS][: len(texts)]  # before the first rows
    assert len(texts) == len(frames) == len(lists) == 26
    return [*zip(lists, texts, frames, strict=True)]


def test_every_query_of_the_report_has_the_names_that_are_shown(shown):
    for (columns, *due), text, _ in shown:
        named = [column for column in columns if column == "id" or (column.endswith("_name") and "_place_" not in column)]
        assert len(named) == sum(column in IDS for column in columns) > 0
        found = duckdb.sql(text)
        assert {*named} <= {*found.columns}, text
        rows = [[row[found.columns.index(column)] for column in named] for row in found.fetchall()]
        assert rows == [[row[columns.index(column)] or None for column in named] for row in due], text


def test_every_query_for_pandas_has_names(shown):
    for (columns, *due), _, frame in shown:
        *lines, last = frame.splitlines()
        scope = {"pandas": pandas}
        exec("\n".join(lines), scope)
        found = eval(last, scope)
        column = next((own for own in ("id", f"{columns[0]}_name") if own in getattr(found, "columns", ())), None)
        assert column or "  # " in last, frame  # another question
        if re.search(r"nlargest|head", last):
            assert found[column].tolist() == [row[1] for row in due], frame


@pytest.fixture
def folder(everything, tmp_path, monkeypatch):
    """With a file of pairs; commands keep what they derive from graphs here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pq.write_table(pa.table({"src": [name(0), "nobody"], "dst": [name(9), name(1)]}), tmp_path / "pairs.parquet")
    (tmp_path / "some.txt").write_text(f"{name(7)}\n{name(20)}\n")
    return tmp_path


def call(*words):
    app([*map(str, words)], result_action="return_value", exit_on_error=False)


def test_tables_of_commands_have_names_as_the_run(everything, folder):
    paths = ("--out", folder / "reached", "--witness", folder / "paths", "--unknown", "null")
    call("reach", everything, folder / "pairs.parquet", *paths)
    assert [tuple(row.values()) for row in tables.read(folder / "reached").select(["src_name", "dst_name"]).to_pylist()] == [
        (name(0), name(9)), (None, name(1)),
    ]  # fmt: skip
    (path,) = tables.read(folder / "paths").to_pylist()
    assert path["path_name"][0] == name(0) and path["path_name"][-1] == name(9) and len(path["path"]) == len(path["path_name"])
    for command, ids in (("matrix", ["source", "target"]), ("trees", ["source", "vertex", "predecessor"])):
        call(command, everything, "--sources", folder / "some.txt", "--out", folder / command)
        rows = tables.read(folder / command)
        assert {*rows["source_name"].to_pylist()} == {name(7), name(20)}
        assert [column for column in rows.schema.names if column.endswith("_name")] == [f"{column}_name" for column in ids]
        before = (folder / command / "_manifest.json").read_bytes()
        call(command, everything, "--sources", folder / "some.txt", "--out", folder / command)
        assert (folder / command / "_manifest.json").read_bytes() == before


def test_tables_of_commands_have_names_as_asked(everything, folder):
    call("matrix", everything, "--sources", folder / "some.txt", "--no-named", "--out", folder / "plain")
    assert tables.read(folder / "plain").schema.names == ["source", "target", "distance"]
    (folder / "g.csv").write_text("src,dst\nana,bob\n")
    (folder / "n.csv").write_text("src,dst\n1,2\n")
    call("matrix", folder / "g.csv", "--out", folder / "unasked")
    call("matrix", folder / "g.csv", "--named", "--out", folder / "asked")
    assert tables.read(folder / "unasked").schema.names == ["source", "target", "distance"]
    assert tables.read(folder / "asked")["target_name"].to_pylist() == ["ana", "bob", "ana", "bob"]
    with pytest.raises(BadConfig, match="named: needs a graph whose ids are strings"):
        call("matrix", folder / "n.csv", "--named", "--out", folder / "integers")


def test_a_command_with_wrong_names_writes_nothing(everything, folder, monkeypatch):
    def wrong(rows, ids, known):
        made = with_names(rows, ids, known)
        place = made.schema.get_field_index("target_name")
        return made.set_column(place, made.schema.field(place), pa.array([name(0)] * len(rows), pa.string()))

    with_names = names.with_names
    monkeypatch.setattr(names, "with_names", wrong)
    with pytest.raises(ProofFailed, match="a name does not belong to its target"):
        call("matrix", everything, "--sources", folder / "some.txt", "--out", folder / "matrix")
    assert not (folder / "matrix").exists()


def test_artifacts_have_names(everything, monkeypatch):
    from flows import artifacts

    sent = {}
    monkeypatch.setattr(artifacts, "create_table_artifact", lambda rows, key, description: sent.update({key: rows}))
    monkeypatch.setattr(artifacts, "create_markdown_artifact", lambda *_, **__: None)
    artifacts.show(read(everything))
    assert len(sent) == len(RunFacts.of(read(everything)).tables)
    for key, rows in sent.items():
        assert key.endswith(tuple(name.replace("_", "-") for name in WITHOUT_VERTICES)) or any(
            column == "id" or column.endswith("_name") for column in rows[0]
        ), key
