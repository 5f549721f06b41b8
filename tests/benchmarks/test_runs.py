"""The benchmark of whole runs, on graphs that take no time: sources, measurements, and the comparison with a script."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.runs import sources
from benchmarks.runs.answers import compare
from benchmarks.runs.bench import markdown, measure, source_of
from benchmarks.runs.cases import CASES, FOUR, RunCase
from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest
from pipeline.tables import files as tables


def test_a_run_is_measured_and_its_tables_equal_the_scripts(tmp_path):
    row = measure(RunCase("grid-12", FOUR, 0, script="pyarrow_scipy"), tmp_path)
    assert set(row.compared) == set(FOUR)
    assert set(row.compared.values()) == {"equal"}
    assert set(FOUR) <= set(row.steps) and 0 < row.kernels < row.wall
    assert "| all equal |" in markdown([row])


def test_wrong_tables_of_a_script_are_found(tmp_path):
    for table, column, ours, theirs in (("wcc", "labels", [1, 1, 3], [0, 0, 0]), ("sssp", "distance", [0, 5, 7], [0, 5, 8])):
        for folder, values in (("ours", ours), ("theirs", theirs)):
            path = tmp_path / folder / table
            path.mkdir(parents=True)
            pq.write_table(pa.table({"vertex": [1, 2, 3], column: values}), path / "part-00000.parquet")
        (tmp_path / "theirs" / table / "part-00000.parquet").rename(tmp_path / f"{table}.parquet")
    assert compare(tmp_path / "ours", tmp_path) == {"sssp": "1 of 3 differ", "wcc": "1 of 3 differ"}


def test_text_has_the_edges_of_the_parquet_file(tmp_path):
    source = source_of(RunCase("kronecker-4:text", FOUR, 0), tmp_path)
    found = ingest(GraphConfig(source=str(source)), tmp_path / "work")
    edges, arcs = (tables_.to_pylist() for tables_ in (pq.read_table(tmp_path / "kronecker-4.parquet"), tables.read(found.path)))
    both = [(edge["src"] + 1, edge["dst"] + 1, edge["weight"]) for edge in edges]
    assert [tuple(arc.values()) for arc in arcs[::2]] == both
    assert [tuple(arc.values()) for arc in arcs[1::2]] == [(dst, src, weight) for src, dst, weight in both]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_has_a_generator(case):
    kind, size = case.graph.removesuffix(":text").split("-")
    assert hasattr(sources, kind) and int(size) > 0
