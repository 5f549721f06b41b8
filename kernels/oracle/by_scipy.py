"""Oracles that use SciPy: its csgraph, and sparse matrix products for PageRank.

Limitations of csgraph that these oracles work around:

* Its spanning tree drops edges of weight 0 and breaks ties arbitrarily, so the weights given to it are the edges' positions in
  their order (weight, then external ids), from 1.
* Its search for strong components does not terminate on parallel arcs (SciPy 1.17), and a sparse matrix that merges parallel
  arcs adds their weights: components get a merged matrix, distances the stored arcs, and the spanning tree the lightest arcs.
* Its distances are doubles, so integers are compared exactly below 2^53, and to one rounding per arc from there on.
* Its predecessors depend on the order of the search. They are not compared; the certificate proves them.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra, minimum_spanning_tree

from kernels.answers import Components, Forest, Paths, ReachabilityIndex
from kernels.certificate.rules import Broken, name_of, require_array, require_source
from kernels.graph import UNREACHED, Array, Graph
from kernels.oracle.compare import compares, require_classes, require_distances
from kernels.reachability import reach

SCIPY = "SciPy"
SOURCES, DESTINATIONS = 32, 4096  # sample sizes of reachability


@compares("distances are those of scipy.sparse.csgraph.dijkstra over hops")
def bfs(graph: Graph, paths: Paths) -> None:
    """Compare hops."""
    _check_distances(graph, paths, None)


@compares("distances are those of scipy.sparse.csgraph.dijkstra, integers from 2^53 to one rounding of a double per arc")
def sssp(graph: Graph, paths: Paths) -> None:
    """Compare distances."""
    _check_distances(graph, paths, graph.out.weights)


def _check_distances(graph: Graph, paths: Paths, weights: Array | None) -> None:
    data = np.ones(graph.num_arcs) if weights is None else np.asarray(weights, np.float64)
    solved = dijkstra(matrix_of(graph, data), indices=require_source(graph, paths.source))
    solved[np.isinf(solved)] = UNREACHED
    require_distances(graph, paths, weights, solved, SCIPY)


@compares("edges and trees are those of scipy.sparse.csgraph.minimum_spanning_tree")
def forest(graph: Graph, forest: Forest) -> None:
    """Compare the edges of the forest and the labels of its trees."""
    low, high, weights = _least_edges(graph)
    src, dst = graph.rows_by_id[low], graph.rows_by_id[high]
    for name, column, solved in (("src", forest.src, src), ("dst", forest.dst, dst), ("weights", forest.weights, weights)):
        stated = require_array(name, column, len(solved), solved.dtype)
        if (stated != solved).any():
            edge = int((stated != solved).argmax())
            edge_name = f"edge {name_of(graph, src[edge])} - {name_of(graph, dst[edge])}"
            raise Broken(f"{edge_name} of weight {weights[edge]}: SciPy's edge {edge}, for which {name} is {stated[edge]}")
    _compare_labels(graph, forest.labels, src, dst, "weak")


def _least_edges(graph: Graph) -> tuple[Array, Array, Array]:
    """SciPy's minimum spanning forest, ascending: smaller and larger position of each edge's vertices [E], and weight [E]."""
    positions = graph.positions[_tails(graph)], graph.positions[graph.out.indices]
    low, high = np.minimum(*positions), np.maximum(*positions)
    weights = np.ones(graph.num_arcs, np.int64) if graph.out.weights is None else np.asarray(graph.out.weights)
    order = np.lexsort((high, low, weights))
    order = order[low[order] != high[order]]
    low, high, weights = low[order], high[order], weights[order]
    _, lightest = np.unique(low.astype(np.int64) * graph.num_vertices + high, return_index=True)
    shape = graph.num_vertices, graph.num_vertices
    edges = csr_array((lightest + 1.0, (low[lightest], high[lightest])), shape=shape)
    tree = minimum_spanning_tree(edges).data.astype(np.int64) - 1
    tree = tree[np.lexsort((high[tree], low[tree]))]
    return low[tree], high[tree], weights[tree]


@compares("labels are those of scipy.sparse.csgraph.connected_components")
def wcc(graph: Graph, components: Components) -> None:
    """Compare weak components."""
    _compare_labels(graph, components.labels, _tails(graph), graph.out.indices, "weak")


@compares("labels are those of scipy.sparse.csgraph.connected_components, strong")
def scc(graph: Graph, components: Components) -> None:
    """Compare strong components."""
    _compare_labels(graph, components.labels, _tails(graph), graph.out.indices, "strong")


def _compare_labels(graph: Graph, labels: Array, tails: Array, heads: Array, connection: str) -> None:
    shape = graph.num_vertices, graph.num_vertices
    _, component = connected_components(csr_array((np.ones(len(tails)), (tails, heads)), shape=shape), connection=connection)
    require_classes(graph, labels, component, SCIPY)


@compares(
    "which of {} vertices are reached from {} of them is as in scipy.sparse.csgraph.breadth_first_order",
    lambda graph, _, **__: (min(graph.num_vertices, DESTINATIONS), min(graph.num_vertices, SOURCES)),
)
def reachability(graph: Graph, index: ReachabilityIndex) -> None:
    """Compare a random sample of pairs."""
    random = np.random.default_rng(0)
    num_vertices = graph.num_vertices
    arcs = matrix_of(graph, np.ones(graph.num_arcs, np.int8))
    for source in random.choice(num_vertices, min(num_vertices, SOURCES), replace=False):
        solved = np.zeros(num_vertices, np.bool_)
        solved[breadth_first_order(arcs, source, return_predecessors=False)] = True
        others = random.choice(num_vertices, min(num_vertices, DESTINATIONS), replace=False)
        stated = reach(index, np.full_like(others, source), others).reachable
        if (stated != solved[others]).any():
            pair = int((stated != solved[others]).argmax())
            names = name_of(graph, source), name_of(graph, others[pair])
            raise Broken(
                f"vertex {names[0]} {'reaches' if stated[pair] else 'does not reach'} {names[1]}; SciPy's search disagrees"
            )


def _tails(graph: Graph) -> Array:
    """Tail of each out-arc [A]."""
    return np.repeat(np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype), np.diff(graph.out.offsets))


def matrix_of(graph: Graph, values: Array) -> csr_array:
    """The sparse matrix [V, V] of the out-arcs with these values [A]."""
    return csr_array((values, graph.out.indices, graph.out.offsets), shape=(graph.num_vertices, graph.num_vertices))
