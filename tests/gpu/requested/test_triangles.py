"""Triangles and clustering coefficients on the GPU: the CPU's bytes."""

# ruff: noqa: E402  (the imports below need CuPy)
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.distributed import Communicator
from kernels.distributed.assembly import to_device as shard_to_device
from kernels.distributed.threads import run_ranks
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Graph
from kernels.triangles import cuda, lcc, sharded, triangles
from kernels.triangles.certificate import certify_lcc, certify_triangles, recount
from kernels.triangles.certificate import sharded as sharded_certificate
from pipeline.tables.batches import with_arrays
from tests.answers import uncleaned
from tests.cpu.requested.test_triangles import GRAPHS
from tests.gpu.inputs import poison
from tests.gpu.shards import on_gpu_shards
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, whole
from tests.sharded.shards import even_bounds, split

STAGES = {"triangles": (triangles, certify_triangles), "lcc": (lcc, certify_lcc)}


def check(graph: Graph) -> None:
    for solve, certify in STAGES.values():
        expected = solve(graph)
        poison()
        on_device = to_device(graph)
        found = solve(on_device)
        for name, array in vars(on_host(found)).items():
            assert array.tobytes() == getattr(expected, name).tobytes()
        verdict = certify(on_device, found)
        assert verdict.holds, verdict.reason
        assert verdict == certify(graph, expected)
        for name in vars(found):
            for wrong in (getattr(expected, name) + 1, getattr(expected, name)[1:], None):
                answer = replace(expected, **{name: wrong})
                there = replace(found, **{name: None if wrong is None else cupy.asarray(wrong)})
                assert certify(on_device, there) == certify(graph, answer)


def check_without_bits(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "_bit_rows", lambda *_: 3)
    check(graph)


def check_with_hubs(graph: Graph, hubs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recount, "MOST_HUBS", hubs)
    check(graph)


def check_over_ranks(graph: Graph, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = even_bounds(graph, size)
    shards = split(graph, bounds)
    for module in (sharded, sharded_certificate):
        monkeypatch.setattr(module, "LEAST_BLOCK", 40)

    def holds(certify: Any, parts: list[Any], ranks: Communicator) -> list[bool]:
        answer = parts[ranks.rank].answer
        first = next(iter(vars(answer)))
        changed = replace(answer, **{first: getattr(answer, first) + 1})
        there = (with_arrays(one, cupy.asarray) for one in (answer, changed))
        return [certify(shard_to_device(shards[ranks.rank]), ranks, one).holds for one in there]

    for stage, (solve, _) in STAGES.items():
        parts = on_gpu_shards(getattr(sharded, stage), graph, bounds)
        for name, array in vars(solve(graph)).items():
            assert whole(parts, name).tobytes() == array.tobytes()
        certify = getattr(sharded_certificate, f"certify_{stage}")
        assert run_ranks(size, partial(holds, certify, parts), DEADLINE) == [[True, False]] * size


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500], ids=lambda edges: edges.name)
def test_named_graphs(edges):
    check(graph_of(edges, edges.ids[::-1]))
    check(uncleaned(edges))


@pytest.mark.parametrize("name", GRAPHS)
def test_as_on_the_cpu(name):
    check(GRAPHS[name]())


@pytest.mark.parametrize("name", ["crowd", "arcs"])
def test_over_ranks(name, monkeypatch):
    check_over_ranks(GRAPHS[name](), 3, monkeypatch)


def test_lists_without_bits(monkeypatch):
    check_without_bits(GRAPHS["crowd"](), monkeypatch)


@pytest.mark.parametrize("hubs", [0, 1, 70])
@pytest.mark.parametrize("name", ["crowd", "arcs"])
def test_proofs_with_few_hubs(name, hubs, monkeypatch):
    check_with_hubs(GRAPHS[name](), hubs, monkeypatch)


def test_a_row_that_a_block_reads():
    """And lists of several groups of 32."""
    random = np.random.default_rng(5)
    ends = [(hub, hub + 1 + i) for hub in range(60) for i in range(5000)]
    ends += [tuple(pair) for pair in random.integers(60, 5000, (4000, 2)).tolist()]
    for directed in (False, True):
        check(graph_of(EdgeList("hubs", tuple(ends), directed)))
