"""Answers to pairs of vertices from a stored index, by the functions and by the command."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.reachability.queries import witness
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import run_config
from pipeline.config.run import RunConfig
from pipeline.config.stages import QueriesConfig
from pipeline.errors import BadConfig, ProofFailed
from pipeline.run import run
from pipeline.steps.reach import reach_into
from pipeline.store.manifest import check
from pipeline.tables import files as tables
from tests.pipeline.reach.inputs import layered, write_pairs
from tests.pipeline.runs.commands import graphmill

WORDS = {"same", "filter", "positive cut", "search"}


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.uint64(), pa.int16()], ids=str)
def test_all_pairs_are_answered_in_their_order(small, kind, tmp_path):
    output, ids, closure = small
    pairs = np.random.default_rng(1).permutation([(src, dst) for src in ids for dst in ids])
    columns = [pa.array(column, pa.int64()).cast(kind) for column in pairs.T]
    answers = reach_into(output, write_pairs(tmp_path / "pairs.parquet", *columns), tmp_path / "out", oracle=True)
    table = tables.read(answers.path).to_pydict()
    assert list(zip(table["src"], table["dst"], strict=True)) == [tuple(pair) for pair in pairs.tolist()]
    assert table["reachable"] == [tuple(pair) in closure for pair in pairs.tolist()]
    assert set(table["decided"]) <= WORDS
    assert all(by == "same" for src, dst, by in zip(table["src"], table["dst"], table["decided"], strict=True) if src == dst)
    facts = answers.facts
    assert (facts["rows"], facts["reachable"], facts["unknown"]) == (len(pairs), len(closure), 0)
    assert facts["decided"] == {word: table["decided"].count(word) for word in WORDS}
    assert facts["oracle"] == 1000
    searched = [reachable for reachable, by in zip(table["reachable"], table["decided"], strict=True) if by == "search"]
    assert [facts[name] for name in ("searched", "witnessed", "sampled")] == [
        len(searched), sum(searched), min(1000, len(searched) - sum(searched)),
    ]  # fmt: skip
    check(answers)


def test_a_wrong_answer_of_a_search_publishes_nothing(small, tmp_path, monkeypatch):
    output, ids, _ = small
    pairs = np.array([(src, dst) for src in ids for dst in ids]).T
    asked, true = write_pairs(tmp_path / "pairs.parquet", *map(pa.array, pairs)), witness.trace
    for wrong, word in ((0, "no path, but there is one"), (2, "path is not one of the graph")):

        def forged(*of_pairs, wrong=wrong):
            paths = true(*of_pairs)
            paths.lengths[:] = wrong
            return paths

        monkeypatch.setattr(witness, "trace", forged)
        with pytest.raises(ProofFailed, match=f"reach: whether [0-9]+ reaches [0-9]+ is not proved: .*{word}"):
            reach_into(output, asked, tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["pairs.parquet"]


def test_ids_far_apart_are_found(tmp_path):
    pq.write_table(pa.table({"src": [5, 2**62, 7 * 10**9], "dst": [2**62, 7 * 10**9, 11]}), tmp_path / "arcs.parquet")
    run(RunConfig(graph=GraphConfig(source=str(tmp_path / "arcs.parquet")), output=tmp_path / "out", stages=["reachability"]))
    pairs = write_pairs(tmp_path / "pairs.parquet", [5, 2**62, 11, 5, -(2**63)], [11, 5, 11, 6, 2**63 - 1])
    answers = tables.read(reach_into(tmp_path / "out", pairs, tmp_path / "answers", unknown="null").path)
    assert answers["reachable"].to_pylist() == [True, False, True, None, None]


def test_answers_to_the_same_pairs_are_reused(votes, tmp_path):
    first, second = write_pairs(tmp_path / "a.parquet", [3, 3], [6, 4]), write_pairs(tmp_path / "b.parquet", [3], [3])
    assert not reach_into(votes, first, tmp_path / "out").reused
    assert reach_into(votes, first, tmp_path / "out").reused
    assert not reach_into(votes, second, tmp_path / "out").reused
    assert tables.read(tmp_path / "out").to_pylist() == [{"src": 3, "dst": 3, "reachable": True, "decided": "same"}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet", "out"]


def test_an_empty_file_of_pairs_has_an_empty_answer(votes, tmp_path):
    pairs = write_pairs(tmp_path / "none.parquet", pa.array([], pa.int64()), pa.array([], pa.int64()))
    answers = reach_into(votes, pairs, tmp_path / "out", oracle=True)
    assert answers.facts["rows"] == 0
    assert pd.read_parquet(answers.path / "part-00000.parquet").columns.tolist() == ["src", "dst", "reachable", "decided"]


def test_a_run_answers_its_pairs(tmp_path):
    source = layered(tmp_path / "arcs.parquet", 5, 4)
    pairs = write_pairs(tmp_path / "pairs.parquet", [1, 1], [1, 49])
    text = f'output = "out"\nstages = ["reachability"]\n[graph]\nsource = "{source}"\n[queries]\npairs = "pairs.parquet"\n'
    (tmp_path / "run.toml").write_text(text)
    done = graphmill("run", tmp_path / "run.toml", cwd="/")
    assert done.returncode == 0, done.stderr
    assert "2 pairs: " in done.stdout
    latest = tmp_path / "out" / "latest"
    assert tables.read(latest / "reached")["src"].to_pylist() == [1, 1]
    facts = json.loads((latest / "manifest.json").read_text())["facts"]
    assert facts["tables"]["reached"]["rows"] == facts["reached"]["rows"] == 2
    assert tables.read(latest / "reached").equals(tables.read(reach_into(latest, pairs, tmp_path / "alone").path))
    with pytest.raises(BadConfig, match="queries need stage reachability"):
        run_config("test", graph={"source": source}, output="out", stages=["wcc"], queries=QueriesConfig(pairs=pairs))


def test_the_command_reach(votes, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [3, 6, 4], [6, 3, 3])
    command = ["reach", votes / "latest", pairs, "--out", tmp_path / "out"]
    done = graphmill(*command)
    assert done.returncode == 0, done.stderr
    assert "3 pairs: 3 reachable; decided by same 2, filter 0, positive cut 1, search 0" in done.stdout
    assert pd.read_parquet(done.stdout.split()[-1]).reachable.tolist() == [True] * 3
    again = graphmill(*command)
    assert "skipped" in again.stderr and again.stdout == done.stdout
    for arguments, words in (
        (["--unknown", "nil"], "unknown"),
        (["--backend", "tpu"], "backend"),
        (["--oracle", "--unknown", "null", "--no-such"], "no-such"),
    ):
        refused = graphmill(*command, *arguments)
        assert refused.returncode in (1, 2) and words in refused.stdout + refused.stderr
        assert "Traceback" not in refused.stderr
