"""True answers in rows, from the second solvers of tests/oracles.py, and graphs that keep self-loops and parallel arcs."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kernels.answers import Closure, Components, Forest, Paths, Scores
from kernels.graph import ID, NO_ROW, OFFSET, UNREACHED, Array, Csr, Graph, distance_dtype, index_dtype
from tests import oracles
from tests.graphs import EdgeList


def uncleaned(edges: EdgeList, order: Iterable[int] | None = None, dtype: type = np.int64) -> Graph:
    """Build the Graph of an edge list as it stands, self-loops and parallel arcs included."""
    ids = np.array(edges.ids if order is None else list(order), ID)
    rows_by_id = np.argsort(ids).astype(index_dtype(len(ids)))
    arcs = [(*edge, 1)[:3] for edge in edges.edges]
    if not edges.directed:
        arcs += [(dst, src, weight) for src, dst, weight in arcs]
    rank = {vertex: place for place, vertex in enumerate(edges.ids)}
    ends = np.array([(rank[src], rank[dst]) for src, dst, _ in arcs], OFFSET).reshape(-1, 2)
    weights = np.array([weight for _, _, weight in arcs], dtype)

    def csr(near: Array, far: Array) -> Csr:
        rows = rows_by_id[near]
        inner = np.lexsort((weights, far, rows))
        offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(ids))))).astype(OFFSET)
        return Csr(offsets, rows_by_id[far[inner]], weights[inner] if edges.weighted else None)

    out = csr(*ends.T)
    return Graph(ids, rows_by_id, out, csr(*ends.T[::-1]) if edges.directed else out, edges.directed)


def true_paths(edges: EdgeList, graph: Graph, source: int, weighted: bool) -> Paths:
    """The answer of `bfs` or `sssp` from an external id."""
    distances, predecessors = oracles.paths(edges, source, weighted)
    row = rows_of(graph)
    distance = np.full(graph.num_vertices, UNREACHED, distance_dtype(graph.out.weights if weighted else None))
    predecessor = np.full(graph.num_vertices, NO_ROW, graph.rows_by_id.dtype)
    for vertex, length in distances.items():
        distance[row[vertex]] = length
        before = predecessors[vertex]
        predecessor[row[vertex]] = NO_ROW if before is None else row[before]
    return Paths(row[source], distance, predecessor)


def true_forest(edges: EdgeList, graph: Graph) -> Forest:
    """The answer of `minimum_spanning_forest`."""
    chosen, trees = oracles.forest(edges)
    row = rows_of(graph)
    index = graph.rows_by_id.dtype
    src, dst = (np.array([row[edge[end]] for edge in chosen], index) for end in (0, 1))
    dtype = np.int64 if graph.out.weights is None else graph.out.weights.dtype
    return Forest(src, dst, np.array([weight for *_, weight in chosen], dtype), _labels(graph, trees))


def true_closure(graph: Graph) -> Closure:
    """The answer of `closure`."""
    arcs = np.zeros((graph.num_vertices,) * 2, np.bool_)
    arcs[np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets)), graph.out.indices] = True
    return closure_of(graph, closed(arcs))


def closed(pairs: Array) -> Array:
    """The transitive closure of a relation, bool [V, V], by Warshall's algorithm."""
    found = pairs.copy()
    for between in range(len(found)):
        found |= np.outer(found[:, between], found[between])
    return found


def closure_of(graph: Graph, pairs: Array) -> Closure:
    """Pairs of rows, bool [V, V], in the order of an answer."""
    rows = graph.rows_by_id
    first, second = np.nonzero(pairs[np.ix_(rows, rows)])
    return Closure(rows[first], rows[second])


def true_weak(edges: EdgeList, graph: Graph) -> Components:
    """The answer of `wcc`."""
    return Components(_labels(graph, oracles.weak_components(edges)))


def true_strong(edges: EdgeList, graph: Graph) -> Components:
    """The answer of `scc`."""
    return Components(_labels(graph, oracles.strong_components(edges)))


def true_ranks(graph: Graph, damping: float = 0.85) -> Array:
    """PageRank [V] of the graph's own arcs, by solving its linear equations."""
    n = graph.num_vertices
    moves = np.zeros((n, n))
    tails = np.repeat(np.arange(n), np.diff(graph.out.offsets))
    np.add.at(moves, (graph.out.indices, tails), 1)
    leaving = moves.sum(axis=0)
    moves[:, leaving == 0] = 1
    moves /= moves.sum(axis=0)
    return np.linalg.solve(np.eye(n) - damping * moves, np.full(n, (1 - damping) / max(n, 1)))


def true_answers(edges: EdgeList, graph: Graph) -> Iterator[tuple[str, Any]]:
    """Each stage and its answer, from the first and the last vertex where it has sources."""
    for source in edges.ids[:1] + edges.ids[-1:]:
        yield "bfs", true_paths(edges, graph, source, weighted=False)
        yield "sssp", true_paths(edges, graph, source, weighted=True)
    yield "mst", true_forest(edges, graph)
    yield "wcc", true_weak(edges, graph)
    yield "scc", true_strong(edges, graph)
    yield "pagerank", Scores(true_ranks(graph))


def rows_of(graph: Graph) -> dict[int, int]:
    """Row of each external id."""
    return {int(vertex): row for row, vertex in enumerate(graph.ids)}


def _labels(graph: Graph, label_of: dict[int, int]) -> Array:
    row = rows_of(graph)
    return np.array([row[label_of[int(vertex)]] for vertex in graph.ids], graph.rows_by_id.dtype)
