"""Prove the layout before it becomes a step's folder: the files are read back and checked against the edge list."""

import time

import numpy as np

from kernels.distributed.dealing import Dealing
from kernels.distributed.shard import Shard
from kernels.graph import OFFSET, Graph
from kernels.layout.certificate import certify_layout, certify_weights
from kernels.layout.certificate.claim import Claim
from kernels.layout.rules import ArcRules, Edges, EdgeSource
from pipeline.cluster.protocol import TaskContext
from pipeline.errors import ProofFailed
from pipeline.store.facts import CheckFacts, GraphFacts
from pipeline.store.graph import shard_rows
from pipeline.store.manifest import Folder
from pipeline.store.shards import load_shard
from pipeline.store.vertices import open_vertices


class DifferentWeights(Exception):
    """An edge that was dropped is heavier than its parallel one; the message names it."""


def prove_layout(
    graph: Folder, whole: Graph | None, edges: EdgeSource, dropped: Edges, rules: ArcRules, context: TaskContext
) -> CheckFacts:  # fmt: skip
    """Check a stored graph against the edge list, where the task computes. A collective.

    Args:
        graph: Files and facts of all ranks.
        whole: The opened graph, where there is one rank.
        edges: The part of the edge list that this rank read.
        dropped: Parallel edges that this rank says it dropped.

    Raises:
        ProofFailed: With the first broken rule, on all ranks.
        DifferentWeights: The rules refuse a dropped edge, on all ranks.
        Damaged: A file has not the length or type that the facts state.
    """
    started, ranks, facts = time.perf_counter(), context.communicator, GraphFacts.of(graph)
    own = range(facts.vertices) if ranks.size == 1 else shard_rows(graph)[ranks.rank]
    out_degrees, in_degrees = (degrees[own.start : own.stop] for degrees in open_vertices(graph)[2:])
    claim = Claim(
        facts.vertices, facts.arcs, facts.self_loops_dropped, facts.arcs_added, facts.parallel_arcs_dropped,
        out_degrees, in_degrees, dropped,
    )  # fmt: skip
    held: Graph | Shard
    if whole:
        held = whole
    else:
        dealing = Dealing.contiguous(np.array([0, *(rows.stop for rows in shard_rows(graph))], OFFSET))
        held = load_shard(graph, dealing, ranks.rank, context.backend, context.ranks_here)
    certificate = certify_layout(edges, rules, claim, held, ranks)
    if not certificate.holds:
        raise ProofFailed(f"layout: {certificate.reason}")
    if rules.alike and not (weights := certify_weights(dropped, rules, held, ranks)).holds:
        raise DifferentWeights(weights.reason)
    return CheckFacts(rules=list(certificate.rules), seconds=round(time.perf_counter() - started, 6))
