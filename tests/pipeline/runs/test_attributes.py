"""Columns of a table of nodes have every type, and strange names: in table `vertices`, change tables, diffs and reports."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.tables import files as tables
from tests.ingest.parquet.kinds import WRITERS

NAMES = ["a.b", "<b>", "[x](http://x)|y", "ü", "old_kind", "kind", "two\nlines", 'a"b', " "]
ATTRIBUTES = (
    "int",
    "uint",
    "halffloat",
    "float",
    "double",
    "bool",
    "dec",
    "date",
    "time",
    "dur",
    "null",
    "string",
    "large_s",
    "dict",
    "text",
    "json",
)
COMMAND = "from pipeline.cli import main; main()"


def test_every_type_and_name_is_published_and_compared(tmp_path):
    kinds = {kind: column for kind, column in WRITERS["pyarrow"].kinds.items() if kind.startswith(ATTRIBUTES) and kind != "bool8"}
    columns = kinds | {name: pa.array([1, 2, 3]) for name in NAMES}
    pq.write_table(pa.table({"src": [1, 2, 3], "dst": [2, 3, 1]}), tmp_path / "edges.parquet")

    def publish(ids):
        pq.write_table(pa.table({"vertex": ids} | columns), tmp_path / "nodes.parquet")
        graph = {"source": str(tmp_path / "edges.parquet"), "nodes": str(tmp_path / "nodes.parquet")}
        return run(run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], changes={"tables": True})).path

    first, second = publish([1, 2, 3]), publish([3, 2, 1])
    found = tables.read(second / "vertices")
    assert {name: found[name].to_pylist() for name in columns} == {
        name: column.to_pylist()[::-1] for name, column in columns.items()
    }
    texts = {name for name in columns if found.schema.field(name).type == pa.string()}
    assert {"string", "large_string", "string_view", "dictionary of large_string", "json", "null"} <= texts
    changes = tables.read(second / "vertices_changes")
    assert changes["vertex"].to_pylist() == [1, 3]
    for name, column in columns.items():
        before, after = (changes[f"{mark}{name}"].to_pylist() for mark in ("old_", "new_"))
        assert (before, after) == ([column[0].as_py(), column[2].as_py()], [column[2].as_py(), column[0].as_py()])
    others = duckdb.sql(f"FROM '{second}/vertices/*.parquet'").columns, pd.read_parquet(second / "vertices").columns
    assert {*others[0]} == {*others[1]} == {*found.column_names}
    report = (second / "report.html").read_text()
    assert "1970-01-01 00:00:00.000000001Z" in report
    shown = json.loads(diff(first, second))["tables"]["vertices"]
    assert shown["changed"] == 2
    assert shown["examples"]["changed"][0]["duration[ns]"] == ["1 ns", "3 ns"]
    assert shown["examples"]["changed"][0]["timestamp[ms, tz=Europe/Berlin]"] == [
        "1970-01-01 00:00:00.001Z",
        "1970-01-01 00:00:00.003Z",
    ]
    assert shown["examples"]["changed"][0]["decimal128(38, 2)"] == ["1.00", "3.00"]


def diff(first: Path, second: Path) -> str:
    """In a process without pandas, in which Arrow cannot convert nanoseconds."""
    command = [sys.executable, "-c", COMMAND, "diff", str(first), str(second), "--json"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout
