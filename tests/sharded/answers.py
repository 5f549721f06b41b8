"""Cut an answer, true or not, into the ranks' parts, and ask every rank for its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernels.answers import Certificate, Components, Forest, Paths, Ranks
from kernels.graph import Array, Graph
from kernels.sharded.certificates import (
    certify_bfs,
    certify_forest,
    certify_pagerank,
    certify_scc,
    certify_sssp,
    certify_wcc,
)
from kernels.sharded.shard import split
from kernels.sharded.threads import run_ranks
from tests.sharded.ranks import DEADLINE

CERTIFY: dict[str, Callable[..., Certificate]] = {
    "bfs": certify_bfs,
    "sssp": certify_sssp,
    "mst": certify_forest,
    "wcc": certify_wcc,
    "scc": certify_scc,
    "pagerank": certify_pagerank,
}
Answer = Paths | Forest | Components | Array


def part_of(answer: Answer, rows: range) -> Any:
    """What the owner of `rows` would have of an answer: theirs, and the edges whose first end is one, in their order."""
    own = slice(rows.start, rows.stop)
    if isinstance(answer, Paths):
        return replace(answer, distance=answer.distance[own], predecessor=answer.predecessor[own])
    if isinstance(answer, Components):
        return Components(answer.labels[own])
    if isinstance(answer, Forest):
        edges = np.flatnonzero((answer.src >= rows.start) & (answer.src < rows.stop))
        return Forest(answer.src[edges], answer.dst[edges], answer.weights[edges], answer.labels[own])
    return Ranks(answer[own], 0, 0.0)


def verdicts(
    name: str, graph: Graph, bounds: Array, answers: Sequence[Answer], place: Callable[[Any], Any] = lambda of_rank: of_rank
) -> list[Certificate]:
    """The verdict on each answer, which all ranks have to give; `place` puts shards and parts where their arrays shall lie."""
    shards = split(graph, bounds)

    def run(ranks: Any) -> list[Certificate]:
        shard = place(shards[ranks.rank])
        return [CERTIFY[name](shard, ranks, place(part_of(answer, shard.rows))) for answer in answers]

    of_ranks = run_ranks(len(shards), run, DEADLINE)
    assert all(of_rank == of_ranks[0] for of_rank in of_ranks)
    return of_ranks[0]
