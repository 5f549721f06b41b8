"""Proof of breadth-first and shortest-path answers: one pass over the arcs, in the spirit of Graph500's validation.

Why it proves the distances. Let D be the true distances, and fl(d + w) the 64-bit sum, which does not decrease as d grows.

* Upper bound: d[source] = 0 and d[v] <= fl(d[u] + w) on every arc, so by induction along a shortest path d <= D. No arc leaves
  the reached vertices, so everything that can be reached is.
* Lower bound: every reached vertex except the source has a tight arc, d[v] = fl(d[u] + w), from a vertex that is strictly nearer,
  or from one that is equally near and one zero-length step nearer to such a vertex or the source. So tight arcs lead back to the
  source without a cycle, d[v] is the length of a path, and d >= D. A vertex without such a path is refused, so only reachable
  vertices are reached.

Of the same tight arcs, the tail that comes first in external-id order is then compared with the stated predecessor.

References: Graph500 benchmark specification, section "Validation". Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms,
24.5 (shortest-path properties).
"""

from typing import Any

from kernels.answers import Certificate, Paths
from kernels.arrays import is_cupy
from kernels.certificate.rules import verdict
from kernels.graph import Csr, Graph

RULES = (
    "the source has distance 0 and no predecessor",
    "an unreached vertex has distance -1 and no predecessor",
    "every out-neighbour of a reached vertex is reached, and no farther than over the arc",
    "tight arcs lead every reached vertex back to the source",
    "every predecessor is the smallest external id that the definition allows",
)


def certify(graph: Graph, paths: Paths, weighted: bool) -> Certificate:
    """Prove that `paths` is the answer for the weights of the arcs or, if not `weighted`, for hops."""
    return verdict(RULES, backend_of(graph).check, graph, paths, weighted)


def backend_of(arrays: Graph | Csr) -> Any:
    """The module that checks these arrays: `cpu` or `cuda`."""
    if is_cupy(arrays):
        from kernels.paths.certificate import cuda

        return cuda
    from kernels.paths.certificate import cpu

    return cpu
