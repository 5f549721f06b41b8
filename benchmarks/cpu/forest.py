"""`minimum_spanning_forest` and its peers. The peers get each edge once; ours reads both arcs and sorts its answer."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import networkit
import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from benchmarks.cpu.harness import OURS, Contender, Contest, Peers
from benchmarks.graphs import graph_of_arcs
from kernels.forest import minimum_spanning_forest
from kernels.graph import Array, Graph


def contests(graph: Graph, peers: Peers) -> Iterator[Contest]:
    """Race over the undirected graph; the weights of a minimum forest are unique, so answers are compared by them."""
    once = Peers(each_edge_once(graph, peers))
    undirected = networkit.graphtools.toUndirected(once.networkit)
    yield Contest(
        "mst",
        (
            Contender(OURS, partial(minimum_spanning_forest, graph), lambda forest: np.sort(forest.weights)),
            Contender("scipy", partial(minimum_spanning_tree, once.scipy), lambda matrix: np.sort(matrix.data)),
            Contender(
                "igraph",
                partial(once.igraph.spanning_tree, weights="weight", return_tree=False),
                lambda edges: np.sort(once.igraph.es[edges]["weight"]),
            ),
            Contender("networkit", partial(_networkit, undirected), partial(_weights, undirected)),
        ),
    )


def each_edge_once(graph: Graph, peers: Peers) -> Graph:
    """The graph's edges as arcs from the smaller row to the larger; the lighter one if both directions exist."""
    far = graph.out.indices.astype(np.int64)
    ends = np.minimum(peers.src, far), np.maximum(peers.src, far)
    return graph_of_arcs(*ends, graph.out.weights, graph.num_vertices, symmetric=False)


def _networkit(graph: networkit.Graph) -> Any:
    return networkit.graph.KruskalMSF(graph).run()


def _weights(graph: networkit.Graph, answer: Any) -> Array:
    return np.sort([graph.weight(*edge) for edge in answer.getForest().iterEdges()])
