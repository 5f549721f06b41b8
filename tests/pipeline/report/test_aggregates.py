"""Aggregates of columns in parts, against NumPy and Python's integers on the whole column."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipeline.report import findings
from pipeline.report.aggregates import bins, exact_sum, first_rows, frequencies, lower_median, values_of
from pipeline.tables import files as tables
from tests.reports import grid, run


@pytest.mark.parametrize("kind", ["small", "large", "float", "equal"])
@pytest.mark.parametrize("size", [1, 2, 101])
def test_the_median_of_parts_is_that_of_the_column(kind, size):
    random = np.random.default_rng(size)
    values = {
        "small": random.integers(0, 9, size),
        "large": random.integers(2**62, 2**63 - 1, size),
        "float": random.random(size),
        "equal": np.full(size, 7),
    }[kind]
    parts = np.array_split(values, 3)
    assert lower_median(parts, bins(parts, 10)) == np.sort(values)[(size - 1) // 2]


def test_sums_do_not_overflow():
    weights = [[2**63 - 1] * 5, [-(2**63)] * 2, [], [17]]
    column = pa.chunked_array(weights, pa.int64())
    assert exact_sum(column) == sum(sum(part) for part in weights)
    assert exact_sum(pa.chunked_array([[0.5], [0.25, 4.0]])) == 4.75
    for narrow in (pa.int8(), pa.int16(), pa.int32()):
        assert exact_sum(pa.chunked_array([[127, 0], [127, -1]], narrow)) == 253


def test_nulls_have_no_level():
    column = pa.chunked_array([[0, None, 2], [], [2, 1]], pa.int64())
    assert frequencies(values_of(column)).tolist() == [1, 1, 2]


@pytest.mark.parametrize("kind", ["few", "many", "equal", "float", "nan", "some_nan", "null", "ascending"])
@pytest.mark.parametrize("size", [0, 7, 20_000])
def test_the_first_rows_are_those_of_all_rows_sorted(kind, size):
    random = np.random.default_rng(size)
    values = pa.array({"few": random.integers(0, 9, size), "equal": np.full(size, 7), "ascending": np.arange(size)}.get(
        kind, random.integers(-(2**62), 2**62, size)))  # fmt: skip
    if kind in ("float", "nan"):
        values = pa.array(np.where(random.random(size) < (kind == "nan") / 2, np.nan, random.random(size)))
    if kind == "some_nan":
        great = np.where(np.arange(size) % 1024, 0.0, np.arange(size))  # one of each block
        great[7 : 5 * 1024 : 1024] = np.nan
        values = pa.array(great)
    if kind == "null":
        values = pc.if_else(pa.array(random.random(size) < 0.5), values, None)
    batch, order = (
        pa.record_batch({"vertex": np.arange(size), "value": values}),
        [("value", "descending"), ("vertex", "ascending")],
    )
    first, expected = first_rows(batch, order, 10), pa.Table.from_batches([batch]).sort_by(order).slice(0, 10)
    found = pa.Table.from_batches([first]).sort_by(order)
    assert found["vertex"].to_pylist() == expected["vertex"].to_pylist()


@pytest.mark.parametrize("nulls", [False, True])
def test_few_rows_are_compared(nulls, monkeypatch):
    compared, select = list[int](), pc.select_k_unstable
    monkeypatch.setattr(pc, "select_k_unstable", lambda rows, *how: compared.append(len(rows)) or select(rows, *how))
    values = np.random.default_rng(1).permutation(1 << 17)
    batch = pa.record_batch({"value": pa.array(values, mask=values % 3 == 0 if nulls else None)})
    first_rows(batch, [("value", "descending")], 10)
    assert compared[0] < 100


def test_tables_are_read_at_the_same_time_only_where_memory_is_plentiful(tmp_path, monkeypatch):
    """They show the same."""
    steps, over, found = run(tmp_path, *grid(6), stages=("bfs", "wcc"), sources=(1,)), findings.over_items, []
    answers, together = {answer.manifest.step: answer for answer in steps.answers}, list[bool]()
    monkeypatch.setattr(findings, "tables", SimpleNamespace(ROWS_PER_GROUP=8, table_of=tables.table_of))

    def noted(*items, parallel):
        together.append(parallel)
        return over(*items, parallel=parallel)

    monkeypatch.setattr(findings, "over_items", noted)
    for plentiful in (False, True):
        monkeypatch.setattr(findings, "leave_enough", lambda *_, plentiful=plentiful: plentiful)
        found.append(findings.read_and_draw(steps.edges, steps.graph, answers))
    assert together == [False, True]
    assert found[0].results == found[1].results and found[0].tops == found[1].tops and found[0].charts == found[1].charts
