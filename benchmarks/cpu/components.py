"""`wcc`, `scc` on directed graphs, betweenness and communities, and their peers.

The peers number components; ours name them by an id. NetworKit's label propagation visits rows in random order, so communities
are not compared; igraph's takes 25 s on New York.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import networkit
import numpy as np
from scipy.sparse.csgraph import connected_components

from benchmarks.cpu.harness import OURS, Contender, Contest, Peers
from kernels.betweenness import betweenness
from kernels.betweenness.parameters import DELTA, checked, rows_of
from kernels.communities import communities
from kernels.graph import Array, Graph
from kernels.scc import scc
from kernels.wcc import wcc

SOURCES = 32  # of betweenness


def contests(graph: Graph, peers: Peers) -> Iterator[Contest]:
    """Race for the weak components and for the strong ones, which are the same if the graph is symmetric."""
    undirected = networkit.graphtools.toUndirected(peers.networkit)
    # SciPy finds weak components with the transpose, which a symmetric graph does not need.
    scipy_way = "strong" if graph.symmetric else "weak"
    weak = partial(_networkit, networkit.components.ConnectedComponents, undirected)
    strong = partial(_networkit, networkit.components.StronglyConnectedComponents, peers.networkit)
    yield _contest(graph, peers, wcc, scipy_way, "weak", weak)
    if not graph.symmetric:
        yield _contest(graph, peers, scc, "strong", "strong", strong)
    yield from requested(graph, peers)


def requested(graph: Graph, peers: Peers) -> Iterator[Contest]:
    """Race for betweenness from SOURCES sources, and for communities."""
    epsilon = min(math.sqrt(math.log(2 * graph.num_vertices / DELTA) / (2 * SOURCES)) * (1 + 1e-9), 0.99)
    asked = {"weights": False, "exact_below": 0, "epsilon": epsilon}
    sources = rows_of(checked(**asked), graph.ids).tolist()
    factor = graph.num_vertices / len(sources) / (1 if graph.directed else 2)
    yield Contest(
        "betweenness",
        (
            Contender(OURS, partial(betweenness, graph, **asked), lambda answer: _summary(answer.betweenness / factor)),
            Contender(
                "igraph",
                partial(peers.igraph.betweenness, sources=sources, targets=range(graph.num_vertices)),
                _summary,
            ),
        ),
    )
    undirected = networkit.graphtools.toUndirected(peers.networkit)
    yield Contest(
        "communities",
        (
            Contender(OURS, partial(communities, graph), lambda _: np.zeros(1)),
            Contender("networkit", partial(_networkit, networkit.community.PLP, undirected), lambda _: np.zeros(1)),
        ),
    )


def _summary(values: Sequence[float] | Array) -> Array:
    """Sum, sum of squares and largest value, to five digits, because the libraries round differently."""
    found = np.asarray(values)
    return np.array([float(f"{value:.4e}") for value in (found.sum(), (found**2).sum(), found.max())])


def _contest(graph: Graph, peers: Peers, ours: Any, scipy_way: str, igraph_way: str, theirs: Any) -> Contest:
    return Contest(
        ours.__name__,
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
