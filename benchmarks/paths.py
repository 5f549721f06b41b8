"""`bfs` and `sssp` against the peers: ours returns distances and unique predecessors, theirs what comes nearest to both.

SciPy's `breadth_first_order` returns an order and any predecessors, but no distances; igraph's `bfs` the same and where the
layers start; igraph's `distances` no predecessors.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import networkit
import numpy as np
from scipy.sparse.csgraph import breadth_first_order, dijkstra

from benchmarks.harness import OURS, Contender, Contest, Peers
from kernels.bfs import bfs
from kernels.graph import UNREACHED, Array, Graph
from kernels.sssp import sssp


def contests(graph: Graph, peers: Peers) -> Iterator[Contest]:
    """Race from the row of highest out-degree; `sssp` where the graph has weights."""
    source = int(np.argmax(np.diff(graph.out.offsets)))
    yield Contest(
        "bfs",
        (
            Contender(OURS, partial(bfs, graph, source), lambda paths: paths.distance),
            Contender("scipy", partial(breadth_first_order, peers.scipy, source), partial(_levels_of_order, graph.num_vertices)),
            Contender("igraph", partial(peers.igraph.bfs, source), partial(_levels_of_layers, graph.num_vertices)),
            Contender("networkit", partial(_networkit, networkit.distance.BFS, peers, source), _distances),
        ),
    )
    if peers.weighted:
        yield Contest(
            "sssp",
            (
                Contender(OURS, partial(sssp, graph, source), lambda paths: paths.distance),
                Contender(
                    "scipy",
                    partial(dijkstra, peers.scipy, indices=source, return_predecessors=True),
                    lambda answer: _finite(answer[0]),
                ),
                Contender(
                    "igraph",
                    partial(peers.igraph.distances, source, weights="weight"),
                    lambda answer: _finite(np.array(answer[0])),
                ),
                Contender("networkit", partial(_networkit, networkit.distance.Dijkstra, peers, source), _distances),
            ),
        )


def _networkit(algorithm: Any, peers: Peers, source: int) -> Any:
    return algorithm(peers.networkit, source, storePaths=True).run()


def _distances(answer: Any) -> Array:
    return _finite(np.array(answer.getDistances()))


def _finite(distances: Array) -> Array:
    return np.where(distances < np.finfo(np.float64).max, distances, UNREACHED)


def _levels_of_order(num_vertices: int, answer: tuple[Array, Array]) -> Array:
    """Levels from the order in which SciPy finds the vertices, and their predecessors."""
    levels = np.full(num_vertices, UNREACHED)
    levels[answer[0][0]] = 0
    for vertex in answer[0][1:]:
        levels[vertex] = levels[answer[1][vertex]] + 1
    return levels


def _levels_of_layers(num_vertices: int, answer: tuple[list[int], list[int], list[int]]) -> Array:
    """Levels from igraph's order of vertices and the places where its layers start."""
    order, starts, _ = answer
    levels = np.full(num_vertices, UNREACHED)
    levels[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return levels
