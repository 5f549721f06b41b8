"""Triangles and clustering coefficients over shards: the bytes, the verdicts and the reasons of one rank."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernels import triangles as single_rank
from kernels.answers import Certificate
from kernels.distributed.threads import run_ranks
from kernels.graph import Array, Graph
from kernels.triangles import certificate, sharded
from kernels.triangles.certificate import sharded as sharded_certificate
from tests.answers import uncleaned
from tests.cpu.requested.test_triangles import GRAPHS, mutants
from tests.graphs import NAMED_GRAPHS, EdgeList
from tests.sharded.answers import any_bounds
from tests.sharded.ranks import DEADLINE, SOME_SIZES, on_shards, whole
from tests.sharded.shards import even_bounds, split

pytestmark = pytest.mark.sampled
STAGES = ("triangles", "lcc")


@pytest.fixture(autouse=True, params=[7, 1 << 22], ids=["short blocks", "one block"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sharded, sharded_certificate):
        monkeypatch.setattr(module, "LEAST_BLOCK", request.param)


def verdicts(stage: str, graph: Graph, bounds: Array, answers: list[Any]) -> list[Certificate]:
    shards, certify = split(graph, bounds), getattr(sharded_certificate, f"certify_{stage}")

    def part_of(answer: Any, rows: range) -> Any:
        return replace(answer, **{name: array[rows.start : rows.stop] for name, array in vars(answer).items()})

    def run(ranks: Any) -> list[Certificate]:
        shard = shards[ranks.rank]
        return [certify(shard, ranks, part_of(answer, shard.rows)) for answer in answers]

    by_rank = run_ranks(len(shards), run, DEADLINE)
    assert all(verdict == by_rank[0] for verdict in by_rank)
    return by_rank[0]


def check(graph: Graph, bounds: Array, random: np.random.Generator) -> None:
    for stage in STAGES:
        expected = getattr(single_rank, stage)(graph)
        parts = on_shards(getattr(sharded, stage), graph, bounds)
        for name, array in vars(expected).items():
            assert whole(parts, name).tobytes() == array.tobytes()
        assert len({part.supersteps for part in parts}) == 1
        answers = [expected, *(list(mutants(expected, random))[:4] if graph.num_vertices else [])]
        one = [getattr(certificate, f"certify_{stage}")(graph, answer) for answer in answers]
        assert verdicts(stage, graph, bounds, answers) == one
        assert one[0].holds


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("size", SOME_SIZES)
def test_as_one_rank(name: str, size: int) -> None:
    graph = GRAPHS[name]()
    check(graph, even_bounds(graph, size), np.random.default_rng(size))


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    random = np.random.default_rng(len(edges.edges))
    graph = uncleaned(edges)
    check(graph, any_bounds(graph, random), random)
