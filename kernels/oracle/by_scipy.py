"""SciPy's csgraph, and sparse products for PageRank, answer again.

Traps of csgraph that are walked around. Its spanning tree drops edges of weight 0 and breaks ties as it likes, so it runs on the
places of the edges in their order, from 1. Its strong components do not end on parallel arcs (SciPy 1.17), and a sparse matrix
that merges them adds their weights: components get a merged matrix, distances the arcs as they are stored, the spanning tree the
lightest. Its distances are doubles, so integers are compared exactly below 2^53 and to one rounding an arc above. Its
predecessors depend on the order of the search; they are the certificate's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra, minimum_spanning_tree

from kernels.answers import Components, Forest, Paths
from kernels.certificate.rules import Broken, name_of, require_array, require_source
from kernels.graph import UNREACHED, Array, Graph
from kernels.oracle.compare import require_classes, require_distances, require_ranks
from kernels.pagerank.certificate import DAMPING, FARTHEST
from kernels.reachability import reach

SCIPY = "SciPy"
STEPS = 150  # 0.85^150 is below 1e-10
SOURCES, DESTINATIONS = 32, 4096  # of reachability, drawn at random


def _check_bfs(graph: Graph, paths: Paths) -> None:
    _check_distances(graph, paths, None)


def _check_sssp(graph: Graph, paths: Paths) -> None:
    _check_distances(graph, paths, graph.out.weights)


def _check_distances(graph: Graph, paths: Paths, weights: Array | None) -> None:
    data = np.ones(graph.num_arcs) if weights is None else np.asarray(weights, np.float64)
    arcs = csr_array((data, graph.out.indices, graph.out.offsets), shape=(graph.num_vertices, graph.num_vertices))
    solved = dijkstra(arcs, indices=require_source(graph, paths.source))
    solved[np.isinf(solved)] = UNREACHED
    require_distances(graph, paths, weights, solved, SCIPY)


def _check_forest(graph: Graph, forest: Forest) -> None:
    low, high, weights = _least_edges(graph)
    src, dst = graph.rows_by_id[low], graph.rows_by_id[high]
    for name, column, solved in (("src", forest.src, src), ("dst", forest.dst, dst), ("weights", forest.weights, weights)):
        stated = require_array(name, column, len(solved), solved.dtype)
        if (stated != solved).any():
            edge = int((stated != solved).argmax())
            edge_name = f"edge {name_of(graph, src[edge])} - {name_of(graph, dst[edge])}"
            raise Broken(f"{edge_name} of weight {weights[edge]}: SciPy has it, in place {edge}, where {name} is {stated[edge]}")
    _compare_labels(graph, forest.labels, src, dst, "weak")


def _least_edges(graph: Graph) -> tuple[Array, Array, Array]:
    """SciPy's minimum spanning forest: ranks of both ends [E], the smaller first, ascending, and the weights [E]."""
    ends = graph.positions[_tails(graph)], graph.positions[graph.out.indices]
    low, high = np.minimum(*ends), np.maximum(*ends)
    weights = np.ones(graph.num_arcs, np.int64) if graph.out.weights is None else np.asarray(graph.out.weights)
    order = np.lexsort((high, low, weights))
    order = order[low[order] != high[order]]
    low, high, weights = low[order], high[order], weights[order]
    _, place = np.unique(low.astype(np.int64) * graph.num_vertices + high, return_index=True)
    shape = graph.num_vertices, graph.num_vertices
    edges = csr_array((place + 1.0, (low[place], high[place])), shape=shape)
    tree = minimum_spanning_tree(edges).data.astype(np.int64) - 1
    tree = tree[np.lexsort((high[tree], low[tree]))]
    return low[tree], high[tree], weights[tree]


def _check_wcc(graph: Graph, components: Components) -> None:
    _compare_labels(graph, components.labels, _tails(graph), graph.out.indices, "weak")


def _check_scc(graph: Graph, components: Components) -> None:
    _compare_labels(graph, components.labels, _tails(graph), graph.out.indices, "strong")


def _compare_labels(graph: Graph, labels: Any, near: Array, far: Array, connection: str) -> None:
    shape = graph.num_vertices, graph.num_vertices
    _, component = connected_components(csr_array((np.ones(len(near)), (near, far)), shape=shape), connection=connection)
    require_classes(graph, labels, component, SCIPY)


def _check_pagerank(graph: Graph, ranks: Any) -> None:
    degrees = np.diff(graph.out.offsets)
    arcs = csr_array((np.ones(graph.num_arcs), graph.out.indices, graph.out.offsets), shape=(graph.num_vertices,) * 2)
    brings, stuck = arcs.T, degrees == 0
    solved = np.full(graph.num_vertices, 1 / max(graph.num_vertices, 1))
    for _ in range(STEPS):
        base = (1 - DAMPING + DAMPING * solved[stuck].sum()) / max(graph.num_vertices, 1)
        solved = base + DAMPING * (brings @ (solved / np.maximum(degrees, 1)))
    require_ranks(graph, ranks, solved, SCIPY)


def _check_reachability(graph: Graph, index: Any) -> None:
    random = np.random.default_rng(0)
    num_vertices = graph.num_vertices
    arcs = csr_array((np.ones(graph.num_arcs, np.int8), graph.out.indices, graph.out.offsets), shape=(num_vertices, num_vertices))
    for source in random.choice(num_vertices, min(num_vertices, SOURCES), replace=False):
        solved = np.zeros(num_vertices, np.bool_)
        solved[breadth_first_order(arcs, source, return_predecessors=False)] = True
        others = random.choice(num_vertices, min(num_vertices, DESTINATIONS), replace=False)
        stated = reach(index, np.full_like(others, source), others).reachable
        if (stated != solved[others]).any():
            place = int((stated != solved[others]).argmax())
            names = name_of(graph, source), name_of(graph, others[place])
            raise Broken(f"vertex {names[0]}: {names[1]} is {'' if stated[place] else 'not '}reached, and SciPy says otherwise")


def _tails(graph: Graph) -> Array:
    """Row that each out-arc leaves [A]."""
    return np.repeat(np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype), np.diff(graph.out.offsets))


STAGES: dict[str, tuple[str, Callable[..., None]]] = {
    "bfs": ("distances are those of scipy.sparse.csgraph.dijkstra over hops", _check_bfs),
    "sssp": (
        "distances are those of scipy.sparse.csgraph.dijkstra, integers from 2^53 to one rounding of a double an arc",
        _check_sssp,
    ),
    "mst": ("edges and trees are those of scipy.sparse.csgraph.minimum_spanning_tree", _check_forest),
    "wcc": ("labels are those of scipy.sparse.csgraph.connected_components", _check_wcc),
    "scc": ("labels are those of scipy.sparse.csgraph.connected_components, strong", _check_scc),
    "pagerank": (f"ranks are within {FARTHEST:.2g} in sum of {STEPS} products with a scipy.sparse.csr_array", _check_pagerank),
    "reachability": (
        f"{DESTINATIONS} vertices are reached or not from each of {SOURCES} as by scipy.sparse.csgraph.breadth_first_order",
        _check_reachability,
    ),
}
