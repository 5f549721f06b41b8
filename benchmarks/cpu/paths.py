"""`bfs` and `sssp` and their peers. Ours return distances and unique predecessors, the peers the closest equivalents.

SciPy's `breadth_first_order` returns an order and arbitrary predecessors, but no distances: it is timed with a compiled loop
that adds them. igraph's `bfs` returns an order, arbitrary predecessors and the starts of the layers; its `distances` returns no
predecessors.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import networkit
import numpy as np
from scipy.sparse.csgraph import breadth_first_order, dijkstra

from benchmarks.cpu.harness import OURS, Contender, Contest, Peers
from kernels.bfs import bfs
from kernels.cpu.compiled import njit
from kernels.graph import UNREACHED, Array, Graph
from kernels.sssp import sssp


def contests(graph: Graph, peers: Peers) -> Iterator[Contest]:
    """Race from the row of highest out-degree; `sssp` if the graph has weights."""
    source = int(np.argmax(np.diff(graph.out.offsets)))
    yield Contest(
        "bfs",
        (
            Contender(OURS, partial(bfs, graph, source), lambda paths: paths.distance),
            Contender("scipy", partial(_scipy_levels, peers, source), lambda levels: levels),
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


def _scipy_levels(peers: Peers, source: int) -> Array:
    order, predecessors = breadth_first_order(peers.scipy, source)
    levels = np.full(len(predecessors), UNREACHED)
    _follow(order, predecessors, levels)
    return levels


@njit(cache=True)
def _follow(order, predecessors, levels):  # type: ignore[no-untyped-def]
    """Set the levels of the vertices in the order in which they were found."""
    levels[order[0]] = 0
    for place in range(1, len(order)):
        levels[order[place]] = levels[predecessors[order[place]]] + 1


def _levels_of_layers(num_vertices: int, answer: tuple[list[int], list[int], list[int]]) -> Array:
    """Levels from igraph's order of vertices and the indices at which its layers start."""
    order, starts, _ = answer
    levels = np.full(num_vertices, UNREACHED)
    levels[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return levels
