"""Divide an answer, correct or not, into the ranks' parts, and collect every rank's verdict."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernels import bfs, forest, pagerank, scc, sssp, wcc
from kernels.answers import Certificate, Components, Forest, Paths, Scores
from kernels.bfs import certificate as bfs_certificate
from kernels.bfs.certificate.sharded import certify_bfs
from kernels.distributed.threads import run_ranks
from kernels.forest import certificate as forest_certificate
from kernels.forest.certificate.sharded import certify_forest
from kernels.graph import Array, Graph
from kernels.pagerank import certificate as pagerank_certificate
from kernels.pagerank.certificate.sharded import certify_pagerank
from kernels.scc import certificate as scc_certificate
from kernels.scc.certificate.sharded import certify_scc
from kernels.sssp import certificate as sssp_certificate
from kernels.sssp.certificate.sharded import certify_sssp
from kernels.wcc import certificate as wcc_certificate
from kernels.wcc.certificate.sharded import certify_wcc
from tests.sharded.ranks import DEADLINE, SIZES, bounds_of
from tests.sharded.shards import split

CERTIFY: dict[str, Callable[..., Certificate]] = {
    "bfs": certify_bfs,
    "sssp": certify_sssp,
    "mst": certify_forest,
    "wcc": certify_wcc,
    "scc": certify_scc,
    "pagerank": certify_pagerank,
}
SINGLE_RANK = {
    "bfs": bfs_certificate.certify_bfs,
    "sssp": sssp_certificate.certify_sssp,
    "mst": forest_certificate.certify_forest,
    "wcc": wcc_certificate.certify_wcc,
    "scc": scc_certificate.certify_scc,
    "pagerank": pagerank_certificate.certify_pagerank,
}
OUT_OF_ORDER = "so edges repeat or do not ascend"
Answer = Paths | Forest | Components | Scores


def part_of(answer: Answer, rows: range) -> Any:
    """The owner's part of an answer: the values of `rows`, and in order the edges whose `src` is one of them."""
    own = slice(rows.start, rows.stop)
    if isinstance(answer, Paths):
        return replace(answer, distance=answer.distance[own], predecessor=answer.predecessor[own])
    if isinstance(answer, Components):
        return Components(answer.labels[own])
    if isinstance(answer, Forest):
        edges = np.flatnonzero((answer.src >= rows.start) & (answer.src < rows.stop))
        return Forest(answer.src[edges], answer.dst[edges], answer.weights[edges], answer.labels[own])
    return Scores(answer.scores[own])


def verdicts(
    name: str, graph: Graph, bounds: Array, answers: Sequence[Answer], place: Callable[[Any], Any] = lambda part: part
) -> list[Certificate]:
    """The verdict on each answer, which must be equal on all ranks; `place` moves shards and parts to the host or device."""
    shards = split(graph, bounds)

    def run(ranks: Any) -> list[Certificate]:
        shard = place(shards[ranks.rank])
        return [CERTIFY[name](shard, ranks, place(part_of(answer, shard.rows))) for answer in answers]

    by_rank = run_ranks(len(shards), run, DEADLINE)
    assert all(found == by_rank[0] for found in by_rank)
    return by_rank[0]


def any_bounds(graph: Graph, rng: np.random.Generator) -> Array:
    cuts = rng.integers(0, graph.num_vertices + 1, rng.choice(SIZES) - 1)
    return bounds_of(cuts.tolist(), graph.num_vertices)


def can_be_wrong_over_ranks(graph: Graph, mutant: Paths | Forest | Components) -> bool:
    """Whether the mutant stays wrong when it is divided: ranks order only their own edges, so a wrong global order is lost."""
    if not isinstance(mutant, Forest):
        return True
    return not forest_certificate.certify_forest(graph, mutant).reason.endswith(OUT_OF_ORDER)


def single_rank_answers(graph: Graph) -> dict[str, Any]:
    source = int(np.diff(graph.out.offsets).argmax())
    return {
        "bfs": bfs.bfs(graph, source),
        "sssp": sssp.sssp(graph, source),
        "mst": forest.minimum_spanning_forest(graph),
        "wcc": wcc.wcc(graph),
        "scc": scc.scc(graph),
        "pagerank": pagerank.pagerank(graph),
    }


def changed(name: str, truth: Any, rng: np.random.Generator) -> Iterator[Any]:
    """Yield the answer with one value changed, for each of its arrays except a forest's endpoints."""
    for field, array in vars(truth).items():
        if hasattr(array, "dtype") and field not in ("src", "dst"):
            other = array.copy()
            other[rng.integers(len(array))] += 1
            yield replace(truth, **{field: other})
