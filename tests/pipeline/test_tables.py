"""The published tables: docs and code agree, and tables read back as written."""

import re
from pathlib import Path

import duckdb
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.run import STAGES
from pipeline.tables import files as tables
from pipeline.tables.definitions import TABLES
from tests.steps import STAGES as UNINDEXED
from tests.steps import path_ids, path_table

PAGE = (Path(__file__).parent.parent.parent / "docs" / "tables.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
FOLLOWED = {
    "distance": "int64, or float64 where weights are floats",
    "weight": "the source's, or int64",
    "flow": "int64, or float64 where the weights of pairs are floats",
    "zone": "that of the column",
}


def test_the_docs_describe_every_table():
    assert list(SECTIONS) == list(TABLES)
    assert {tables.table_of(stage) for stage in STAGES} < set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_the_docs_describe_every_column(table):
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", SECTIONS[table], re.MULTILINE)
    rows = [(name.removesuffix("_0"), *row) for name, *row in rows]
    assert rows == [(c.name, FOLLOWED.get(c.type, c.type), c.unit, c.nulls) for c in TABLES[table]]
    (keys,) = re.findall(r"^Sorted by (.*?)\.", SECTIONS[table], re.MULTILINE)
    assert re.findall(r"`(\w+)`", keys) == [column.name for column in TABLES[table] if column.key]


@pytest.mark.parametrize(
    ("weight", "of_weight", "of_distance"),
    [
        (None, "int64", "int64"), ("int32", "int32", "int64"), ("int64", "int64", "int64"), ("float", "float", "double"),
        ("double", "double", "double"),
    ],
)  # fmt: skip
def test_types_follow_the_weight(weight, of_weight, of_distance):
    assert str(tables.schema("mst", weight).field("weight").type) == of_weight
    assert str(tables.schema("sssp", weight).field("distance").type) == of_distance
    assert str(tables.schema("bfs", weight).field("distance").type) == "int64"
    assert {column["name"]: column["type"] for column in tables.describe("mst", tables.schema("mst", weight))}[
        "weight"
    ] == of_weight


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "bfs"
    path.mkdir()
    return path


@pytest.mark.parametrize("table", UNINDEXED)
def test_a_table_reads_back_in_pandas_duckdb_and_arrow(folder, table):
    expected = path_table(table, path_ids(50, 1000), 3)
    assert tables.write(folder, table, "int32", expected.to_batches(max_chunksize=20)) == len(expected)
    assert tables.read(folder).equals(expected)
    assert pandas.read_parquet(folder, dtype_backend="pyarrow").equals(expected.to_pandas(types_mapper=pandas.ArrowDtype))
    assert duckdb.sql(f"FROM '{folder}/*.parquet'").fetchall() == [tuple(row.values()) for row in expected.to_pylist()]


def test_equal_answers_are_equal_files(folder, tmp_path):
    other = tmp_path / "again"
    other.mkdir()
    for place in (folder, other):
        tables.write(place, "bfs", None, path_table("bfs", path_ids(500, 99), 1).to_batches())
    (first,), (second,) = tables.files(folder), tables.files(other)
    assert first.read_bytes() == second.read_bytes()


def test_the_file_states_its_order_and_has_checksums(folder):
    tables.write(folder, "bfs", None, path_table("bfs", path_ids(500, 99), 1).to_batches())
    (path,) = tables.files(folder)
    group = pq.read_metadata(path).row_group(0)
    assert [key.column_index for key in group.sorting_columns] == [0, 1]
    assert all(group.column(i).has_column_index and group.column(i).is_stats_set for i in range(4))
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 4  # in a page, far from the footer
    path.write_bytes(content)
    with pytest.raises(OSError, match="CRC"):
        tables.read(folder)


def test_an_empty_table_has_its_columns(folder):
    tables.write(folder, "mst", "double", [])
    assert tables.read(folder).schema.equals(tables.schema("mst", "double"))
    assert len(pandas.read_parquet(folder)) == 0


def test_a_null_in_a_column_without_nulls_is_refused(folder):
    nulls = pa.array([None, 1], pa.int64())
    with pytest.raises(ValueError, match=r"null|nullable"):
        tables.write(folder, "wcc", None, [pa.RecordBatch.from_arrays([nulls, nulls], schema=tables.schema("wcc", None))])


def test_parts_are_read_in_order(folder):
    whole = path_table("wcc", path_ids(40), 1)
    for part in range(2):
        tables.write(folder, "wcc", None, whole[part * 20 : part * 20 + 20].to_batches())
        (folder / "part-00000.parquet").rename(folder / f"part-0000{1 - part}.x")
    for path in folder.iterdir():
        path.rename(path.with_suffix(".parquet"))
    found = tables.read(folder)["vertex"].to_numpy()
    assert np.array_equal(found, np.concatenate([whole["vertex"].to_numpy()[20:], whole["vertex"].to_numpy()[:20]]))
