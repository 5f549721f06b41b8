"""A layout that loses, adds or changes an arc, as a faulty sort or a flipped bit would: the run fails and publishes nothing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import kernels.layout.building
import kernels.layout.sharded.cleaning
from kernels.graph import Csr
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.run import RunConfig
from pipeline.errors import ProofFailed
from pipeline.run import run
from pipeline.steps import layout_files as step

SOURCE = "src,dst,weight\n" + "".join(f"{vertex},{vertex * 7 % 60 + 1},{vertex % 9 + 1}\n" for vertex in range(1, 90))


def without(csr: Csr, *arcs: int) -> Csr:
    """The rows without some arcs."""
    kept = np.ones(len(csr.indices), np.bool_)
    kept[list(arcs)] = False
    before = np.concatenate([[0], np.cumsum(kept)])
    return Csr(before[csr.offsets], csr.indices[kept], csr.weights[kept])


def losing_an_edge(csr: Csr) -> Csr:
    row = int(np.flatnonzero(np.diff(csr.offsets))[3])
    arc = int(csr.offsets[row])
    head = int(csr.indices[arc])
    if head + 1 >= len(csr.offsets):  # over ranks, of another rank
        return without(csr, arc)
    back = int(csr.offsets[head]) + np.flatnonzero(csr.indices[csr.offsets[head] : csr.offsets[head + 1]] == row)
    return without(csr, arc, *back.tolist())


def doubling_a_weight(csr: Csr) -> Csr:
    weights = csr.weights.copy()
    weights[5] *= 2
    return replace(csr, weights=weights)


def attempt(tmp_path, shards: int) -> None:
    (tmp_path / "graph.csv").write_text(SOURCE)
    graph = GraphConfig(source=str(tmp_path / "graph.csv"), directed=False)
    cluster = ClusterConfig(shards=shards)
    run(RunConfig(graph=graph, output=tmp_path / "out", stages=("wcc", "sssp"), cluster=cluster, backend="cpu"))


@pytest.mark.parametrize("shards", [0, 3])
@pytest.mark.parametrize("fault", [losing_an_edge, doubling_a_weight])
def test_a_wrong_layout_fails_the_run(fault: Callable[[Csr], Csr], shards, tmp_path, monkeypatch):
    real = kernels.layout.building.clean

    def faulty(*arguments):
        ids, arcs, loops = real(*arguments)
        return ids, fault(arcs), loops

    monkeypatch.setattr(kernels.layout.building, "clean", faulty)
    monkeypatch.setattr(kernels.layout.sharded.cleaning, "clean", faulty)
    with pytest.raises(ProofFailed, match=r"^layout: .*"):
        attempt(tmp_path, shards)
    assert not (tmp_path / "out" / "latest").exists()
    assert [path.name for path in (tmp_path / "out" / "steps").iterdir() if path.is_dir()] == ["edges"]


def test_what_is_proved_are_the_files(tmp_path, monkeypatch):
    real = step.save_direction

    def faulty(folder, number, direction, csr, save):
        weights = csr.weights.copy()
        weights[0] += 1
        return real(folder, number, direction, replace(csr, weights=weights), save)

    monkeypatch.setattr(step, "save_direction", faulty)
    with pytest.raises(ProofFailed, match="layout: "):
        attempt(tmp_path, 0)
