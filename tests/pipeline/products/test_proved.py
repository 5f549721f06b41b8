"""What a run says of its proofs: every table is counted, what is not proved is named, and so is the solver of each oracle."""

import logging
import re
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.oracle import why_not_on_gpu
from kernels.registry import BY_NAME
from pipeline.config.loading import run_config
from pipeline.run import run
from pipeline.steps import verify
from pipeline.steps.publication.proved import proof_of_table
from pipeline.steps.runtime import Runtime
from pipeline.store import manifest
from pipeline.store.facts import CheckFacts
from pipeline.store.facts.run import RunFacts
from tests.reports import Page

COPIED = {"vertices", "coordinates"}


def test_the_report_counts_all_tables_and_names_those_without_a_proof(published):
    facts = RunFacts.of(published)
    tables = set(facts.tables)
    assert tables > COPIED and len(tables) > 8
    for text in (Page((published.path / "report.html").read_text()).text, (published.path / "report.md").read_text()):
        assert re.search(rf"tables proved:? {len(tables) - 2} of {len(tables)}\b", text)
        for table in COPIED:
            assert f"{table}: copied from " in text
    assert {table for table in tables if not proof_of_table(table, facts.proofs, facts.custom or {}).holds} == COPIED


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "g.csv").write_text("src,dst,weight\n1,2,5\n2,3,1\n3,1,4\n3,4,1\n")
    pq.write_table(pa.table({"src": [1, 2], "dst": [4, 1]}), tmp_path / "pairs.parquet")
    stages = [*BY_NAME]
    return run_config(
        "test", graph={"source": str(tmp_path / "g.csv")}, output=tmp_path / "out", stages=stages, oracle=True, backend="cpu",
        max_flow={"pairs": str(tmp_path / "pairs.parquet")},
    )  # fmt: skip


def test_the_solver_of_each_oracle_and_the_size_of_its_sample_are_stated(asked, caplog):
    caplog.set_level(logging.INFO)
    published = run(asked)
    proofs = RunFacts.of(published).proofs
    page = Page((published.path / "report.html").read_text()).text
    assert set(proofs) == set(asked.stages)
    for stage, proof in proofs.items():
        assert proof.oracle and proof.oracle.solver == "SciPy" and f"{stage}: the oracle is SciPy" in caplog.text
    assert page.count("Oracle, SciPy: agrees") == len(proofs)
    for stage, words in (
        ("max_flow", "values of 2 of 2 pairs are"),
        ("closure", "what 4 of 4 vertices reach"),
        ("reachability", "which of 4 vertices are reached from 4 of them"),
    ):
        assert proofs[stage].oracle.rules[0].startswith(words)
    assert "WARNING" not in caplog.text.replace("CuPy", "")


@pytest.mark.parametrize(
    ("installed", "stage", "solver", "reason"),
    [
        (False, "bfs", "SciPy", "cuGraph (pylibcugraph) is not installed, or there is no GPU"),
        (True, "closure", "SciPy", "cuGraph does not solve this"),
        (True, "bfs", "cuGraph", ""),
    ],
)
def test_on_a_gpu_an_oracle_that_is_not_cugraph_is_warned_of(installed, stage, solver, reason, published, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    where = []

    def require(_prove, _graph, _table, runtime, _code):
        where.append(runtime.backend)
        return CheckFacts(rules=["r"], seconds=0.0)

    monkeypatch.setattr("kernels.oracle.solves_on_gpu", lambda arcs: installed and arcs > 0)
    monkeypatch.setattr(verify, "_require", require)
    steps = published.path.parents[1] / "steps"
    table = SimpleNamespace(algorithm=BY_NAME[stage])
    found = verify._ask_oracle(manifest.read(steps / "graph"), table, Runtime(steps, "gpu"), None)
    assert found.solver == solver and where == ["cpu" if reason else "gpu"]
    said = [record for record in caplog.records if "the oracle is" in record.message]
    assert [record.levelname for record in said] == ["WARNING" if reason else "INFO"]
    assert said[0].message == f"{stage}: the oracle is {solver}" + (f" on the CPU: {reason}" if reason else "")


def test_a_graph_without_arcs_is_left_to_scipy(monkeypatch):
    monkeypatch.setattr("kernels.oracle.solves_on_gpu", lambda arcs: arcs > 0)
    assert why_not_on_gpu("bfs", 0) == "the graph has no arc, which cuGraph requires" and not why_not_on_gpu("bfs", 1)
