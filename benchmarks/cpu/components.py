"""`wcc`, and `scc` on directed graphs, and their peers. The peers number components; ours name them by an id."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import networkit
import numpy as np
from scipy.sparse.csgraph import connected_components

from benchmarks.cpu.harness import OURS, Contender, Contest, Peers
from kernels.graph import Array, Graph
from kernels.scc import scc
from kernels.wcc import wcc


def contests(graph: Graph, peers: Peers) -> Iterator[Contest]:
    """Race for the weak components and for the strong ones, which are the same if the graph is symmetric."""
    undirected = networkit.graphtools.toUndirected(peers.networkit)
    # SciPy finds weak components with the transpose, which a symmetric graph does not need.
    scipy_way = "strong" if graph.symmetric else "weak"
    weak = partial(_networkit, networkit.components.ConnectedComponents, undirected)
    strong = partial(_networkit, networkit.components.StronglyConnectedComponents, peers.networkit)
    yield _contest(graph, peers, wcc, "wcc", scipy_way, "weak", weak)
    if not graph.symmetric:
        yield _contest(graph, peers, scc, "scc", "strong", "strong", strong)


def _contest(graph: Graph, peers: Peers, ours: Any, algorithm: str, scipy_way: str, igraph_way: str, theirs: Any) -> Contest:
    return Contest(
        algorithm,
        (
            Contender(OURS, partial(ours, graph), lambda components: _smallest(components.labels)),
            Contender(
                "scipy", partial(connected_components, peers.scipy, connection=scipy_way), lambda answer: _smallest(answer[1])
            ),
            Contender(
                "igraph",
                partial(peers.igraph.connected_components, mode=igraph_way),
                lambda answer: _smallest(np.array(answer.membership)),
            ),
            Contender("networkit", theirs, lambda answer: _smallest(np.array(answer.getPartition().getVector()))),
        ),
    )


def _networkit(algorithm: Any, graph: networkit.Graph) -> Any:
    return algorithm(graph).run()


def _smallest(labels: Array) -> Array:
    """Name each component by its first row."""
    _, first, component = np.unique(labels, return_index=True, return_inverse=True)
    return first[component]
