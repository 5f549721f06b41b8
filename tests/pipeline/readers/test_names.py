"""With `named`, names stand beside the numbers of vertices: in every table, query, list and artifact."""

import re

import duckdb
import pandas
import pyarrow as pa
import pytest

from pipeline.report.results import IDS
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import read
from pipeline.tables import files as tables
from tests.pipeline.readers.conftest import SIDE, name
from tests.reports import Page


def test_every_column_of_ids_has_a_column_of_names(everything):
    names = sorted(map(name, range(SIDE * SIDE)))
    for table, described in RunFacts.of(read(everything)).tables.items():
        rows = tables.read(everything / table)
        ids = [column["name"] for column in described.columns if column["unit"].startswith("external id")]
        assert ids, table
        for column in ids:
            own = "id" if (table, column) == ("vertices", "vertex") else f"{column}_name"
            numbers, texts = ((column.combine_chunks()) for column in (rows[column], rows[own]))
            if pa.types.is_list(numbers.type):
                numbers, texts = numbers.flatten(), texts.flatten()
            assert texts.to_pylist() == [None if one is None else names[one] for one in numbers.to_pylist()], (table, column)


@pytest.fixture(scope="module")
def shown(everything):
    """The lists of the report, each with its query in SQL and for pandas."""
    page = Page((everything / "report.html").read_text("utf-8"))
    here = str(everything.parents[1] / "latest")
    texts = [words.replace(here, str(everything)) for words in page.words if words.startswith("SELECT ")]
    frames = [words.replace(here, str(everything)) for words in page.words if "pandas.read_parquet" in words]
    lists = [table for table in page.tables if table and table[0] and table[0][0] in IDS][: len(texts)]  # before the first rows
    assert len(texts) == len(frames) == len(lists) == 18
    return [*zip(lists, texts, frames, strict=True)]


def test_every_query_of_the_report_has_the_names_that_are_shown(shown):
    for (columns, *due), text, _ in shown:
        named = [column for column in columns if column == "id" or column.endswith("_name")]
        assert len(named) == sum(column in IDS for column in columns) > 0
        found = duckdb.sql(text)
        assert {*named} <= {*found.columns}, text
        rows = [[row[found.columns.index(column)] for column in named] for row in found.fetchall()]
        assert rows == [[row[columns.index(column)] or None for column in named] for row in due], text


def test_every_query_for_pandas_has_names(shown):
    for (columns, *due), _, frame in shown:
        *lines, last = frame.splitlines()
        names = {"pandas": pandas}
        exec("\n".join(lines), names)
        found = eval(last, names)
        column = next((name for name in ("id", f"{columns[0]}_name") if name in getattr(found, "columns", ())), None)
        assert column or "  # " in last, frame  # another question
        if re.search(r"nlargest|head", last):
            assert found[column].tolist() == [row[1] for row in due], frame
