"""Proofs of the answers: passes over the arcs that accept the unique answer and nothing else (docs/architecture.md, "Proof").

They share no code with the algorithms, need no second answer, and read any answer, however malformed, without an exception.
"""

from kernels.certificates.components import certify_scc, certify_wcc
from kernels.certificates.forest import certify_forest
from kernels.certificates.pagerank import certify_pagerank
from kernels.certificates.paths import certify_bfs, certify_sssp
from kernels.certificates.reachability import certify_reachability

__all__ = [
    "certify_bfs",
    "certify_forest",
    "certify_pagerank",
    "certify_reachability",
    "certify_scc",
    "certify_sssp",
    "certify_wcc",
]
