"""Stages and proofs over shards on a GPU: the files that ranks on the CPU write, wherever the arcs lie."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cupy")

from kernels.registry import BY_NAME
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.errors import ProofFailed
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store import shards as stored_shards
from pipeline.store.manifest import make
from pipeline.tables import files as tables

DATA = Path(__file__).parents[3] / "data"
GRAPHS = {"rome99.gr.gz": True, "wiki-Vote.txt.gz": True, "facebook_combined.txt.gz": False}
SHARDED = [name for name, algorithm in BY_NAME.items() if algorithm.sharded_solver]


@pytest.fixture(scope="module", params=GRAPHS)
def graph(request, tmp_path_factory):
    work = tmp_path_factory.mktemp(request.param)
    edges = ingest(GraphConfig(source=str(DATA / request.param), directed=GRAPHS[request.param]), work)
    return lay_out(edges, LayoutConfig(shards=2), Runtime(work))


@pytest.mark.parametrize(("ranks", "beside"), [(1, False), (3, False), (2, True)])
@pytest.mark.parametrize("stage", SHARDED)
def test_the_files_are_those_of_ranks_on_the_cpu(stage, ranks, beside, graph, tmp_path, monkeypatch):
    if beside:  # as where a GPU has no memory for the arcs
        monkeypatch.setattr(stored_shards, "held_by_gpu", lambda *_: False)
    first = int(tables.read(run_stage(graph, "wcc", [], Runtime(tmp_path / "ids")).path)["vertex"][0].as_py())
    cpu = run_stage(graph, stage, [first], Runtime(tmp_path / "cpu", cluster=LocalThreads(ranks)))
    gpu = run_stage(graph, stage, [first], Runtime(tmp_path / "gpu", "gpu", LocalThreads(ranks)))
    if BY_NAME[stage].exact:
        assert gpu.manifest.files == cpu.manifest.files
    else:
        found, expected = (tables.read(answer.path)["pagerank"].to_numpy() for answer in (gpu, cpu))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    proofs = [
        prove(graph, answer, False, Runtime(tmp_path / where, where, LocalThreads(ranks)))
        for answer, where in ((gpu, "gpu"), (cpu, "cpu"))
    ]
    found, expected = ([re.sub(r"\b0\.\d+|\d+e-\d+", "", rule) for rule in proof.facts["rules"]] for proof in proofs)
    assert found == expected  # but for the bounds that were found


@pytest.mark.parametrize(("ranks", "shards"), [(2, 1), (0, 3)])
def test_the_stored_shards_are_those_of_the_cpu(ranks, shards, tmp_path):
    edges = ingest(GraphConfig(source=str(DATA / "wiki-Vote.txt.gz"), directed=True), tmp_path)
    stored = [
        lay_out(edges, LayoutConfig(shards=shards), Runtime(tmp_path / backend, backend, LocalThreads(ranks)))
        for backend in ("cpu", "gpu")
    ]
    assert stored[0].manifest.files == stored[1].manifest.files


def test_a_wrong_table_is_not_proved(graph, tmp_path):
    true = run_stage(graph, "wcc", [], Runtime(tmp_path, "gpu", LocalThreads(2)))
    table = tables.read(true.path)
    labels = table["labels"].to_numpy().copy()
    labels[len(labels) // 2] = labels[0] + 1

    def write(folder):
        tables.write(folder, "wcc", None, table.set_column(1, table.schema.field(1), [labels]).combine_chunks().to_batches())
        return true.facts

    wrong = make(tmp_path / "wrong" / "wcc", "wcc", dict(true.manifest.inputs), {"wrong": 1}, write)
    with pytest.raises(ProofFailed):
        prove(graph, wrong, False, Runtime(tmp_path, "gpu", LocalThreads(2)))
