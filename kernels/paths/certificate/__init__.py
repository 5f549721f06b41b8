"""Proof of breadth-first and shortest-path answers: one pass over the out-arcs, in the spirit of Graph500's validation.

Why it proves the distances. Let D be the true distances, and fl(d + w) the 64-bit sum, which never falls as d grows.

* From above: d[source] = 0 and d[v] <= fl(d[u] + w) on every arc, so by induction along a shortest path d <= D. No arc leaves
  the reached vertices, so all that can be reached are.
* From below: every reached vertex but the source has a tight arc, d[v] = fl(d[u] + w), from a vertex that is strictly nearer, or
  as near and one zero-length step nearer to such a vertex or the source. So tight arcs lead back to the source without a cycle,
  d[v] is the length of a path, and d >= D. What no such path reaches is refused, so nothing but the reachable is reached.

The predecessors are then compared with the least external rank that the same tight arcs scatter to their heads.

References
----------
Graph500 benchmark specification, section "Validation". Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 24.5
(shortest-path properties).
"""

from __future__ import annotations

from typing import Any

from kernels.answers import Certificate, Paths
from kernels.arrays import is_cupy
from kernels.certificate.rules import verdict
from kernels.graph import Graph

RULES = (
    "the source has distance 0 and no predecessor",
    "an unreached vertex has distance -1 and no predecessor",
    "every out-neighbour of a reached vertex is reached, and no farther than over the arc",
    "tight arcs lead every reached vertex back to the source",
    "every predecessor is the smallest external id that the definition allows",
)


def certify_bfs(graph: Graph, paths: Paths) -> Certificate:
    """Prove that `paths` is the breadth-first answer: hops, and the unique predecessors.

    O(V + A) time, 4 V index entries of memory at most. Malformed answers do not hold; nothing is raised.
    """
    return verdict(RULES, _backend(graph).check, graph, paths, None)


def certify_sssp(graph: Graph, paths: Paths) -> Certificate:
    """Prove that `paths` is the shortest-path answer: 64-bit sums of weights, and the unique predecessors.

    O(V + A) time, 4 V index entries of memory at most. Malformed answers do not hold; nothing is raised.
    """
    return verdict(RULES, _backend(graph).check, graph, paths, graph.out.weights)


def _backend(graph: Graph) -> Any:
    if is_cupy(graph):
        from kernels.paths.certificate import cuda

        return cuda
    from kernels.paths.certificate import cpu

    return cpu
