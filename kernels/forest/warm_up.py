"""A call of everything that Numba compiles for spanning forests."""

import numpy as np

from kernels.arrays import frozen
from kernels.forest import minimum_spanning_forest
from kernels.forest.certificate import certify_forest
from kernels.forest.rooted import root_forest, wrong_vertex
from kernels.graph import Graph


def warm_up(graph: Graph) -> None:
    """Find the forest of a graph, prove it, and root it, with types as a table has them."""
    forest = minimum_spanning_forest(graph)
    certificate = certify_forest(graph, forest)
    assert certificate.holds, certificate.reason
    positions = np.argsort(graph.rows_by_id).astype(graph.rows_by_id.dtype)
    src, dst, labels = (frozen(positions[rows]) for rows in (forest.src, forest.dst, forest.labels[forest.src]))
    assert wrong_vertex(root_forest(src, dst, labels, graph.num_vertices), src, dst, labels) < 0
