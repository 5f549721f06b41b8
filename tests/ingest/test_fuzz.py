"""Mutated files of every format and compression: none is read wrongly, ends in a traceback, or takes over five seconds of CPU."""

import random

import pytest

from pipeline.ingest.formats import rows
from tests.ingest.fuzz import seeds
from tests.ingest.fuzz.judge import CPU_SECONDS, judged, verdict

INPUTS = [2_000, pytest.param(100_000, marks=[pytest.mark.nightly, pytest.mark.timeout(4 * 3600)])]


@pytest.mark.parametrize("inputs", INPUTS)
def test_no_mutated_input_is_a_fault(inputs, tmp_path):
    counts, faults = judged(range(inputs), tmp_path)
    assert faults == {}
    assert counts.total() == inputs
    assert min(counts["accepted"], counts["refused"]) > inputs / 4  # both outcomes are tested


def test_inputs_that_were_faults_once(tmp_path):
    """A flag of gzip, null counts that cancel out, zeros between zstd frames, an encoding that is not defined."""
    assert judged([30155148, 30172452, 30190515, 30398376], tmp_path)[1] == {}


FAULTS = {
    "wrong rows": "accepted, but wrong",
    "another format": "wrongly accepted",
    "a traceback": "uncaught",
    "no end": "slow",
    "much memory": "large",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_judge_finds_a_fault(fault, tmp_path, monkeypatch):
    right = rows.Rows.read

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

    monkeypatch.setattr(rows.Rows, "read", wrong)
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
