"""Deep graphs: kernels that give up, and the CPU's answers and proofs in their place."""

# ruff: noqa: E402  (the imports below need the emulator)
import json
from threading import Lock

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from benchmarks.deep import families
from benchmarks.one_gpu.contests import equal
from kernels.betweenness import betweenness
from kernels.betweenness.certificate import certify_betweenness
from kernels.bfs import bfs, cpu
from kernels.bfs.certificate import certify_bfs
from kernels.cores import cores
from kernels.cores.certificate import certify_cores
from kernels.gpu import deep
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from kernels.reachability import METHODS, reachability
from kernels.reachability.certificate import certify_reachability
from kernels.scc import scc
from kernels.scc.certificate import certify_scc
from kernels.sssp import sssp
from kernels.sssp.certificate import certify_sssp
from pipeline.config.loading import run_config
from pipeline.run import run
from tests.emulator.test_kernels import weighted
from tests.pipeline.changes.histories import differing

SIZE = 90
PATHS = [(bfs, certify_bfs), (sssp, certify_sssp)]


def graph_of(make, directed=False, unit=1) -> Graph:
    random, ends = np.random.default_rng(4), make(SIZE)
    return weighted(random.permutation(ends.max() + 1)[ends], directed, random, unit)


@pytest.fixture(autouse=True)
def little_patience(monkeypatch):
    monkeypatch.setattr(deep, "LEAST_ROUNDS", 10)
    monkeypatch.setattr(deep, "ROUND_WORK", 10**6)


def taken(call, *arguments):
    """How often the CPU takes over, and what a call returns."""
    with deep.counting() as count:
        answer = call(*arguments)
    return count.times, answer


@pytest.mark.parametrize("make", [families.path, families.broom], ids=["few arcs", "a hub"])
@pytest.mark.parametrize(("solve", "certify"), PATHS, ids=["bfs", "sssp"])
def test_the_cpu_takes_searches_over(make, solve, certify):
    graph = graph_of(make)
    (end, *_) = np.flatnonzero(np.diff(graph.out.offsets) == 1)
    on_device = to_device(graph)
    times, found = taken(solve, on_device, int(end))
    assert times == 1
    assert isinstance(found.distance, cupy.ndarray)
    equal(found, solve(graph, end))
    times, verdict = taken(certify, on_device, found)
    assert (times, verdict.holds) == (0, True)


def test_the_cpu_takes_arcs_of_length_zero_over():
    graph = graph_of(families.path, unit=100)
    on_device, expected = to_device(graph), sssp(graph, 0)
    assert taken(sssp, on_device, 0)[0] == 1
    times, verdict = taken(certify_sssp, on_device, to_device(expected))
    assert (times, verdict.holds) == (1, True)
    expected.predecessor[:] = 0
    times, verdict = taken(certify_sssp, on_device, to_device(expected))
    assert (times, verdict) == (1, certify_sssp(graph, expected))
    assert not verdict.holds


@pytest.mark.parametrize("make", [families.path, families.cycle], ids=["many classes", "one class"])
def test_the_cpu_takes_the_proof_of_strong_components_over(make):
    graph = graph_of(make, directed=True)
    on_device, expected = to_device(graph), scc(graph)
    equal(scc(on_device), expected)
    times, verdict = taken(certify_scc, on_device, to_device(expected))
    assert (times, verdict.holds) == (1, True)
    expected.labels[:] = np.arange(SIZE) if make is families.cycle else graph.rows_by_id[0]
    wrong = certify_scc(graph, expected)
    assert not wrong.holds
    assert certify_scc(on_device, to_device(expected)) == wrong


def test_signatures_jump_along_deep_graphs(monkeypatch):
    ends = families.cycle(3000)
    random = np.random.default_rng(4)
    graph = weighted(random.permutation(len(ends))[ends], True, random)
    monkeypatch.setattr(deep, "LEAST_ROUNDS", 1500)  # without jumps they take four times as many
    times, found = taken(scc, to_device(graph))
    assert times == 0
    equal(found, scc(graph))
    monkeypatch.setattr(deep, "LEAST_ROUNDS", 1)
    times, found = taken(scc, to_device(graph))
    assert times == 1
    equal(found, scc(graph))


def test_symmetric_graphs_need_no_search_to_prove_strong_components():
    graph = graph_of(families.path)
    on_device, found = to_device(graph), scc(graph)
    times, verdict = taken(certify_scc, on_device, to_device(found))
    assert (times, verdict.holds) == (0, True)
    found.labels[:] = np.arange(SIZE)
    assert certify_scc(on_device, to_device(found)) == certify_scc(graph, found)
    assert not certify_scc(graph, found).holds


def test_the_cpu_takes_core_numbers_and_their_proof_over():
    graph = graph_of(families.path)
    times, found = taken(cores, to_device(graph))
    equal(found, cores(graph))
    assert (times, taken(certify_cores, to_device(graph), found)) == (1, (1, certify_cores(graph, cores(graph))))


@pytest.mark.parametrize("weights", [False, True])
def test_the_cpu_takes_betweenness_and_its_proof_over(weights):
    graph = graph_of(families.cycle)
    options = {"sources": graph.ids[:1].tolist(), "weights": weights}
    times, found = taken(lambda on_device: betweenness(on_device, **options), to_device(graph))
    equal(found, betweenness(graph, **options))
    times_of_proof, verdict = taken(lambda on_device: certify_betweenness(on_device, found, **options), to_device(graph))
    assert verdict.holds
    # each search of hops for the levels, and then the rest
    assert (times, times_of_proof) == (2, 2)


@pytest.mark.parametrize("method", METHODS)
def test_the_cpu_takes_an_index_and_its_proof_over(method):
    graph = graph_of(families.path, directed=True)
    times, found = taken(lambda on_device: reachability(on_device, 3, 7, method), to_device(graph))
    equal(found, reachability(graph, 3, 7, method))
    verdicts = taken(certify_reachability, to_device(graph), found)
    assert (times, verdicts[0], verdicts[1].holds) == (2, 1, True)  # the condensation and its labels; the strong components


@pytest.mark.parametrize(("solve", "certify"), PATHS, ids=["bfs", "sssp"])
def test_few_rounds_and_wide_ones_are_left_to_the_gpu(monkeypatch, solve, certify):
    others = np.arange(1, 1 + 64 * 14)
    spider = np.stack([np.maximum(others - 64, 0), others], 1)  # 64 legs of 14 vertices
    on_device = to_device(graph_of(lambda size: spider))
    source = int(cupy.flatnonzero(cupy.diff(on_device.out.offsets) == 64)[0])
    times, found = taken(solve, on_device, source)
    assert (times, int(cupy.count_nonzero(found.distance < 0))) == (0, 0)
    monkeypatch.setattr(deep, "LEAST_ROUNDS", SIZE)
    path = graph_of(families.path)
    assert taken(solve, to_device(path), 0)[0] == 0


def test_other_threads_have_the_gpu_while_the_cpu_computes(monkeypatch):
    graph, lock = graph_of(families.path), Lock()
    locked, search = [], cpu.search
    monkeypatch.setattr(cpu, "search", lambda *given: [locked.append(lock.locked()), search(*given)][1])
    with deep.holding(lock):
        bfs(to_device(graph), 0)
        locked.append(lock.locked())
    assert [*locked, lock.locked()] == [False, True, False]


def test_a_run_states_where_the_cpu_took_over(tmp_path):
    file = tmp_path / "path.csv"
    file.write_text("src,dst\n" + "".join(f"{src},{dst}\n" for src, dst in families.path(SIZE)))
    asked = {"graph": {"source": str(file), "directed": True}, "stages": ["bfs", "scc", "wcc"]}
    runs = [run(run_config("test", output=tmp_path / on, backend=on, **asked)) for on in ("cpu", "gpu")]
    manifests = (json.loads((of.path / "manifest.json").read_text()) for of in runs)
    of_cpu, of_gpu = (
        {name: step["on_cpu"] for name, step in one["facts"]["steps"].items() if "on_cpu" in step} for one in manifests
    )
    assert (of_cpu, of_gpu) == ({}, {"bfs": 1, "scc": 1, "proof-scc": 1})
    assert differing(*(of.path for of in runs)) == []
