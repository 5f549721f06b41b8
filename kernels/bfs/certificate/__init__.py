"""Proof of breadth-first answers; `kernels.paths.certificate` has the method."""

from kernels.answers import Certificate, Paths
from kernels.graph import Graph
from kernels.paths.certificate import certify


def certify_bfs(graph: Graph, paths: Paths) -> Certificate:
    """Prove that `paths` is the breadth-first answer: hops, and the unique predecessors.

    O(V + A) time, at most 4 V index entries of memory. Malformed answers do not hold; nothing is raised.
    """
    return certify(graph, paths, False)
