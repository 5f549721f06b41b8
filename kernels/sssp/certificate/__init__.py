"""Proof of shortest-path answers; `kernels.paths.certificate` has the method."""

from kernels.answers import Certificate, Paths
from kernels.graph import Graph
from kernels.paths.certificate import certify


def certify_sssp(graph: Graph, paths: Paths) -> Certificate:
    """Prove that `paths` is the shortest-path answer: 64-bit sums of weights, and the unique predecessors.

    O(V + A) time, at most 4 V index entries of memory. Malformed answers do not hold; nothing is raised.
    """
    return certify(graph, paths, True)
