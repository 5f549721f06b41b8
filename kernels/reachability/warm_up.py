"""Call everything of this package that Numba compiles; `python -m kernels` does, once per type of weights."""

import numpy as np

from kernels.graph import Graph
from kernels.reachability import METHODS, reach, reach_by_search, reachability
from kernels.reachability.certificate import certify_reachability
from kernels.reachability.certificate.answers_cpu import first_reached, first_wrong_path
from kernels.reachability.paths import first_wrong_path as first_wrong_path_of_rows
from kernels.reachability.paths import shortest_paths
from kernels.reachability.queries.witness import trace


def warm_up(graph: Graph) -> None:
    """Build, prove and query the index of a graph with the arc 0 -> 1, by each method and by each search."""
    for method in METHODS:
        certificate = certify_reachability(graph, reachability(graph, 2, 0, method))
        assert certificate.holds, certificate.reason
    src, dst, index = np.array([0]), np.array([1]), reachability(graph)
    ends = index.condensation.node[src], index.condensation.node[dst]
    paths = trace(index, *ends, np.array([0, 3]))
    apart = bool(ends[0] != ends[1])  # not in a symmetric graph, where both are one node
    assert first_wrong_path(index.condensation.children, *ends, paths) < 0
    assert (paths.lengths[0] == 2, first_reached(index, *ends) == 0) == (apart, apart)
    assert reach(index, src, dst).reachable.all() and reach_by_search(index, src, dst).all()
    (paths,) = shortest_paths(graph, src, dst)
    assert paths.nodes.tolist() == [0, 1] and first_wrong_path_of_rows(graph, src, dst, paths) < 0
