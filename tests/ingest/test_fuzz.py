"""Mutated files of every format and compression: none is read wrongly, ends in a traceback, or takes over five seconds of CPU."""

import io
import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.ingest.formats import rows
from tests.ingest.fuzz import programs, seeds, uses
from tests.ingest.fuzz.judge import CPU_SECONDS, judged, verdict
from tests.ingest.thrift import field, footer_of, with_footer

INPUTS = [2_000, pytest.param(100_000, marks=[pytest.mark.nightly, pytest.mark.timeout(4 * 3600)])]


def judged_afresh(numbers, folder):
    """As `judged`, which forks, in a process of its own: in a fork of one that has used Polars, Polars waits for ever."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(judged, numbers, folder).result()


@pytest.mark.parametrize("inputs", INPUTS)
def test_no_mutated_input_is_a_fault(inputs, tmp_path):
    counts, faults = judged_afresh(range(inputs), tmp_path)
    assert faults == {}
    assert counts.total() == inputs
    assert min(counts["accepted"], counts["refused"]) > inputs / 4  # both outcomes are tested


def test_inputs_that_were_faults_once(tmp_path):
    """A flag of gzip, null counts that cancel out, zeros between zstd frames, an unknown encoding, a mark in METIS."""
    assert judged_afresh([30155148, 30172452, 30190515, 30398376, 502750], tmp_path)[1] == {}


FAULTS = {
    "wrong rows": "accepted, but wrong",
    "another format": "wrongly accepted",
    "a traceback": "uncaught",
    "no end": "slow",
    "much memory": "large",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_judge_finds_a_fault(fault, tmp_path, monkeypatch):
    right = rows.LineLayout.read

    def wrong(self, data):
        if fault == "wrong rows":
            return right(self, b"4 3\n" + data[4:])
        if fault == "another format":
            return right(self, data.replace(b";", b" "))
        while fault == "no end":
            pass
        if fault == "much memory":
            return right(self, data) if b"x" * 2**27 else None
        raise ZeroDivisionError

    monkeypatch.setattr(rows.LineLayout, "read", wrong)
    if fault == "no end":
        monkeypatch.setattr("tests.ingest.fuzz.judge.CPU_SECONDS", CPU_SECONDS / 5)
    monkeypatch.setattr("tests.ingest.fuzz.judge.MEMORY", 2**26)
    content = b"1;2\n3 4\n" if fault == "another format" else b"1 2\n3 4\n"
    monkeypatch.setattr("tests.ingest.fuzz.judge.made", lambda _number: ("snap", b"", content))
    counts, faults = judged([1], tmp_path)
    assert counts == {FAULTS[fault]: 1}
    assert faults[1].startswith(FAULTS[fault])


@pytest.mark.parametrize("form", seeds.TEXT)
def test_seeds_are_valid(form, tmp_path):
    found = [verdict(form, b"", seeds.text(form, random.Random(number)), tmp_path) for number in range(10)]
    assert set(found) == {"accepted"}


def test_seeds_of_programs_are_valid(tmp_path):
    for number in range(24):
        content = programs.parquet(random.Random(number))
        assert verdict("parquet", content, content, tmp_path) == "accepted", number


@pytest.mark.parametrize("checked", [True, False])
def test_the_judge_finds_weights_that_are_lost_with_their_name(checked, tmp_path, monkeypatch):
    sink = io.BytesIO()
    pq.write_table(pa.table({"src": [1, 2], "dst": [2, 3], "weight": [5, 6]}), sink, store_schema=False)
    footer = footer_of(sink.getvalue())
    field(field(footer, 2)[2][1][3], 4)[2] = b"weigjt"
    if not checked:
        monkeypatch.setattr("pipeline.ingest.formats.parquet.footer.check_names", lambda _footer, _columns: None)
    found = verdict("parquet", sink.getvalue(), with_footer(sink.getvalue(), footer), tmp_path)
    assert found == ("refused" if checked else "wrongly accepted: names {'weight'} are not in the schema")


@pytest.mark.parametrize("use", ["pairs", "changes of integers", "nodes", "coordinates"])
def test_the_judge_finds_a_wrong_value_in_every_use(use, tmp_path, monkeypatch):
    table = pa.table({"op": ["insert"], "src": [1], "dst": [2], "vertex": [3], "x": [4.0], "y": [5.0]})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    right = uses.pairs if use == "pairs" else uses._USES[use][1]

    def wrong(*arguments):
        return [(row[0], 9, *row[2:]) if len(row) > 1 else (9,) for row in right(*arguments)]

    if use == "pairs":
        monkeypatch.setattr(uses, "pairs", wrong)
    else:
        monkeypatch.setitem(uses._USES, use, (uses._USES[use][0], wrong))
    found = verdict("parquet", sink.getvalue(), sink.getvalue(), tmp_path)
    assert "accepted, but wrong" in found
    assert use in found
