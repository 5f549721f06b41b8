"""What the ranks take together: some bytes for each own row and ghost, and each arc, whatever the shape of the graph.

So each of R ranks takes 1/R of that of all rows and arcs, and what its ghosts take. NumPy reports every array to tracemalloc; the
bytes do not depend on the machine, and only a little on when the ranks' threads run.
"""

from functools import cache

import numpy as np
import pytest

from benchmarks.graphs import graph_of_arcs, graph_of_edges, grid, rmat
from kernels.distributed.threads import run_ranks
from kernels.forest.sharded.rooting import root_forest
from kernels.graph import Graph
from kernels.registry import BY_NAME
from tests.sharded.answers import part_of, single_rank_answers
from tests.sharded.ranks import DEADLINE
from tests.sharded.shards import even_bounds, split
from tests.sharded.test_memory import least_peak

RANKS = 4


def wide() -> Graph:
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 40_000, (2, 50_000))
    return graph_of_arcs(src, dst, rng.integers(1, 100, 50_000), 40_000, symmetric=False)


def star() -> Graph:
    leaves = np.arange(1, 30_000)
    return graph_of_edges(np.zeros_like(leaves), leaves, leaves % 100, 30_000)


GRAPHS = {"kronecker": lambda: rmat(12), "road": lambda: grid(150), "wide": wide, "star": star}
# Bytes for each own row and ghost, and for each stored arc: of a stage, and of its proof
BYTES = {
    "bfs": ((55, 4), (40, 4)),
    "sssp": ((70, 4), (70, 4)),
    "wcc": ((65, 4), (65, 4)),
    "mst": ((120, 8), (115, 6)),
    "pagerank": ((65, 6), (55, 4)),
}
ROOTING = 95


@cache
def loaded(name: str):
    graph = GRAPHS[name]()
    return graph, single_rank_answers(graph)


def taken(graph: Graph, work) -> tuple[int, int, int]:
    """Bytes that `work(shard, communicator)` takes at the peak on all ranks, shards not included; local rows; arcs."""

    def run() -> None:
        run_ranks(RANKS, lambda ranks: work(shards[ranks.rank], ranks), DEADLINE)

    bounds = even_bounds(graph, RANKS)
    shards = split(graph, bounds)
    run()  # compiles
    shards = split(graph, bounds)
    rows = graph.num_vertices + sum(shard.num_ghosts for shard in shards)
    return least_peak(run), rows, graph.num_arcs * (1 if graph.symmetric else 2)


@pytest.mark.parametrize("stage", BYTES)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_rank_takes_its_share_and_what_its_ghosts_take(name, stage) -> None:
    graph, answers = loaded(name)
    algorithm, answer = BY_NAME[stage], answers[stage]
    solve, certify = (algorithm.resolve(function) for function in ("sharded_solver", "sharded_certificate"))
    source = (answer.source,) if algorithm.has_sources else ()
    calls = (
        lambda shard, ranks: solve(shard, ranks, *source),
        lambda shard, ranks: certify(shard, ranks, part_of(answer, shard.rows)),
    )
    for (of_row, of_arc), call in zip(BYTES[stage], calls, strict=True):
        found, rows, arcs = taken(graph, call)
        assert found < of_row * rows + of_arc * arcs


@pytest.mark.parametrize("name", GRAPHS)
def test_a_rank_roots_its_share_of_a_forest(name) -> None:
    graph, answers = loaded(name)
    found, rows, _ = taken(graph, lambda shard, ranks: root_forest(shard, ranks, part_of(answers["mst"], shard.rows)))
    assert found < ROOTING * rows


def test_columns_of_all_rows_on_each_rank_would_be_detected() -> None:
    graph, answers = loaded("road")
    certify = BY_NAME["mst"].resolve("sharded_certificate")

    def gathers(shard, ranks):
        kept = [np.concatenate(ranks.gather(shard.ids)) for _ in range(2)]
        certify(shard, ranks, part_of(answers["mst"], shard.rows))
        return kept

    found, rows, arcs = taken(graph, gathers)
    of_row, of_arc = BYTES["mst"][1]
    assert found > of_row * rows + of_arc * arcs
