"""Random graphs for the GPU's tests, graphs with int64 rows, and memory filled with a pattern instead of old answers."""

# ruff: noqa: E402  (the imports below need CuPy)
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.graph import Csr, Graph
from tests.graphs import EdgeList, graph_of


def poison(num_bytes: int = 1 << 24) -> None:
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.full(num_bytes, 0xCB, cupy.uint8)


def random_edges(seed: int, num_vertices: int, num_edges: int, directed: bool, skew: float = 1) -> EdgeList:
    """Random edges, with more small ids for a larger `skew`; ids have gaps, and rows are in random order."""
    random = np.random.default_rng(seed)
    ends = (num_vertices * random.random((num_edges, 2)) ** skew).astype(np.int64) * 3
    return EdgeList("random", tuple(map(tuple, ends.tolist())), directed, tuple(range(0, 3 * num_vertices, 3)))


# Directed or not, and with hubs or without.
SKEWED = [
    replace(random_edges(skew, 300, 2500, directed, skew), name=f"{skew}-{'arcs' if directed else 'edges'}")
    for directed in (True, False)
    for skew in (1, 3)
]


def shuffled(edges: EdgeList, dtype: type = np.int64) -> Graph:
    return graph_of(edges, np.random.default_rng(1).permutation(edges.ids).tolist(), dtype)


def with_wide_rows(graph: Graph) -> Graph:
    """The same graph with int64 rows, as from 2^31 vertices."""

    def wide(csr: Csr) -> Csr:
        return replace(csr, indices=csr.indices.astype(np.int64))

    out = wide(graph.out)
    return Graph(graph.ids, graph.rows_by_id.astype(np.int64), out, out if graph.symmetric else wide(graph.into), graph.directed)
