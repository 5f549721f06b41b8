"""Proofs of answers that lie over many ranks: the same rules, verdicts and reasons as `kernels.certificates`.

They take a shard, its communicator, and the own rows' part of an answer as the kernels of `kernels.sharded` return it. They
share with those kernels what carries values between ranks (shards, halos, communicators), and no algorithm. A rank holds
nothing longer than its rows, ghosts, arcs and answer together.
"""

from kernels.sharded.certificates.components import certify_scc, certify_wcc
from kernels.sharded.certificates.forest import certify_forest
from kernels.sharded.certificates.pagerank import certify_pagerank
from kernels.sharded.certificates.paths import certify_bfs, certify_sssp
from kernels.sharded.certificates.reachability import certify_reachability

__all__ = [
    "certify_bfs",
    "certify_forest",
    "certify_pagerank",
    "certify_reachability",
    "certify_scc",
    "certify_sssp",
    "certify_wcc",
]
