"""Oracles for graphs on a GPU that use cuGraph's library pylibcugraph (26.10).

* It takes weights as floats, so integers are passed as doubles, which are exact below 2^53.
* Its spanning forest breaks ties arbitrarily, so only the number of edges and their total weight are compared.
* Its weak components and spanning forest require both directions of every edge.
* Its predecessors depend on the order of the search. They are not compared; the certificate proves them.
"""

from functools import cache
from typing import Any

import cupy
import numpy as np
import pylibcugraph

from kernels.answers import Components, Forest, Paths, Scores, TriangleCounts
from kernels.certificate.rules import Broken, require_source
from kernels.cores import Cores
from kernels.gpu.loader import to_host
from kernels.graph import UNREACHED, Array, Graph
from kernels.oracle.compare import DOUBLES, compares, require_classes, require_distances
from kernels.oracle.pagerank_by_scipy import dense, placed, require_scores, steps_of
from kernels.oracle.triangles_by_scipy import require_counts
from kernels.pagerank.certificate.bounds import Bounds
from kernels.pagerank.parameters import ANYWHERE, DAMPING, TOLERANCE, Personalization

CUGRAPH = "cuGraph"
SUMS_APART = 1e-9  # relative difference of two sums of the same floats in different orders


@compares("distances are those of pylibcugraph.bfs")
def bfs(graph: Graph, paths: Paths) -> None:
    """Compare hops."""
    require_distances(graph, paths, None, _hops(graph, require_source(graph, paths.source)), CUGRAPH)


@compares("distances are those of pylibcugraph.sssp, integers from 2^53 to one rounding of a double per arc")
def sssp(graph: Graph, paths: Paths) -> None:
    """Compare distances."""
    lengths, source = _doubles(graph), require_source(graph, paths.source)
    if lengths.any():
        vertices, distance, _ = pylibcugraph.sssp(_handle(), _arcs(graph, lengths), source, np.inf, True, False)
        solved = _by_row(vertices, cupy.where(distance < np.finfo(distance.dtype).max, distance, UNREACHED))
    else:  # its bucket width is the mean weight, and with 0 it does not terminate
        solved = np.minimum(_hops(graph, source), 0)
    require_distances(graph, paths, graph.out.weights, solved, CUGRAPH)


def _hops(graph: Graph, source: int) -> Array:
    sources = cupy.full(1, source, graph.out.indices.dtype)
    distance, _, vertices = pylibcugraph.bfs(_handle(), _arcs(graph, None), sources, False, -1, True, False)
    reached = distance < np.iinfo(distance.dtype).max
    return _by_row(vertices, cupy.where(reached, distance.astype(np.float64), UNREACHED))


@compares("as many edges and as much weight as from pylibcugraph.minimum_spanning_tree")
def forest(graph: Graph, forest: Forest) -> None:
    """Compare the number of edges and the total weight."""
    low, high, lightest = _edges(graph)
    src, dst, weights, _ = pylibcugraph.minimum_spanning_tree(_handle(), _both_ways(graph, low, high, lightest), False)
    # it may name both arcs of an edge
    _, once = cupy.unique(_keys(graph, src, dst), return_index=True)
    stated, solved = float(np.sum(forest.weights, dtype=np.float64)), float(weights[once].sum())
    if len(forest.weights) != len(once):
        raise Broken(f"the forest has {len(forest.weights)} edges, {CUGRAPH}'s {len(once)}")
    exact = forest.weights.dtype.kind == "i" and stated < DOUBLES
    if not abs(stated - solved) <= (0 if exact else SUMS_APART * solved):
        raise Broken(f"the forest weighs {stated}, {CUGRAPH}'s {solved}")


@compares("labels are those of pylibcugraph.weakly_connected_components")
def wcc(graph: Graph, components: Components) -> None:
    """Compare weak components."""
    _check_weak(graph, components)


def _check_weak(graph: Graph, components: Components) -> None:
    both_ways = _both_ways(graph, *_edges(graph))
    vertices, classes = pylibcugraph.weakly_connected_components(_handle(), both_ways, None, None, None, None, False)
    require_classes(graph, components.labels, _by_row(vertices, classes), CUGRAPH)


@compares("labels are those of pylibcugraph.strongly_connected_components; for a symmetric graph, weakly_connected_components")
def scc(graph: Graph, components: Components) -> None:
    """Compare strong components."""
    if graph.symmetric:  # cuGraph refuses a symmetric graph; its strong components are its weak ones
        _check_weak(graph, components)
        return
    vertices, classes = pylibcugraph.strongly_connected_components(_handle(), _arcs(graph, None), None, None, None, None, False)
    require_classes(graph, components.labels, _by_row(vertices, classes), CUGRAPH)


@compares("the scores are {} those of pylibcugraph.pagerank, personalized_pagerank with seeds, after {} steps", placed)
def pagerank(
    graph: Graph,
    scores: Scores,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations: int | None = None,
    personalization: Personalization = ANYWHERE,
) -> None:
    """Compare PageRank scores."""
    ones = cupy.ones(graph.num_arcs)  # without weights, cuGraph computes in float32
    steps, arcs = steps_of(damping, tolerance, iterations), _arcs(graph, ones, transposed=True)
    rows = cupy.arange(graph.num_vertices, dtype=graph.out.indices.dtype)
    first = rows, cupy.asarray(dense(personalization, graph.num_vertices))
    seeds: tuple[Array, ...] = ()
    if len(personalization.rows):
        seeds = cupy.asarray(personalization.rows.astype(rows.dtype)), cupy.asarray(personalization.weights)
    solver = pylibcugraph.personalized_pagerank if seeds else pylibcugraph.pagerank
    given = (_handle(), arcs, None, None, *first, *seeds, damping, 1e-30, steps, False, False)
    vertices, solved, _ = solver(*given) if steps else (*first, False)
    require_scores(graph, scores, _by_row(vertices, solved), CUGRAPH, Bounds(damping, tolerance), iterations)


@compares("core numbers are those of pylibcugraph.core_number")
def cores(graph: Graph, answer: Cores) -> None:
    """Compare core numbers."""
    both_ways = _both_ways(graph, *_edges(graph))
    vertices, numbers = pylibcugraph.core_number(_handle(), both_ways, "outgoing", False)  # of both directions it counts twice
    require_counts(graph, "core", answer.core, _by_row(vertices, numbers), CUGRAPH)


@compares("numbers of triangles are those of pylibcugraph.triangle_count")
def triangles(graph: Graph, answer: TriangleCounts) -> None:
    """Compare numbers of triangles."""
    vertices, counts = pylibcugraph.triangle_count(_handle(), _both_ways(graph, *_edges(graph)), None, False)
    require_counts(graph, "triangles", answer.triangles, _by_row(vertices, counts), CUGRAPH)


@cache
def _handle() -> Any:
    return pylibcugraph.ResourceHandle()


def _arcs(graph: Graph, weights: Array | None, transposed: bool = False) -> Any:
    """CuGraph's graph of our arcs."""
    return _graph(graph, _tails(graph), graph.out.indices, weights, graph.symmetric, transposed)


def _both_ways(graph: Graph, low: Array, high: Array, weights: Array) -> Any:
    """CuGraph's graph of the arcs from `low` to `high` and back."""
    tails, heads = cupy.concatenate((low, high)), cupy.concatenate((high, low))
    return _graph(graph, tails, heads, cupy.concatenate((weights, weights)), symmetric=True)


def _graph(graph: Graph, src: Array, dst: Array, weights: Array | None, symmetric: bool, transposed: bool = False) -> Any:
    properties = pylibcugraph.GraphProperties(is_symmetric=symmetric, is_multigraph=False)
    return pylibcugraph.SGGraph(
        _handle(), properties, src, dst, weight_array=weights, store_transposed=transposed, renumber=True,
        do_expensive_check=False, vertices_array=cupy.arange(graph.num_vertices, dtype=src.dtype),
    )  # fmt: skip


def _edges(graph: Graph) -> tuple[Array, Array, Array]:
    """Smaller row, larger row and lightest weight (float64) of every undirected edge [E]."""
    tails, heads, weights = _tails(graph), graph.out.indices, _doubles(graph)
    no_loop = tails != heads
    keys, edge = cupy.unique(_keys(graph, tails[no_loop], heads[no_loop]), return_inverse=True)
    lightest = cupy.full(len(keys), np.inf)
    cupy.minimum.at(lightest, edge, weights[no_loop])
    low, high = (rows.astype(heads.dtype) for rows in (keys // graph.num_vertices, keys % graph.num_vertices))
    return low, high, lightest


def _keys(graph: Graph, src: Array, dst: Array) -> Array:
    """A number that identifies each undirected edge, int64."""
    keys: Array = cupy.minimum(src, dst).astype(np.int64) * graph.num_vertices + cupy.maximum(src, dst)
    return keys


def _tails(graph: Graph) -> Array:
    """Tail of each out-arc [A]."""
    arcs = cupy.arange(graph.num_arcs, dtype=np.int64)
    tails: Array = cupy.searchsorted(graph.out.offsets, arcs, side="right") - 1
    return tails.astype(graph.out.indices.dtype)


def _doubles(graph: Graph) -> Array:
    """Weights of the out-arcs, float64 [A]."""
    return cupy.ones(graph.num_arcs) if graph.out.weights is None else graph.out.weights.astype(np.float64)


def _by_row(vertices: Array, values: Array) -> Array:
    """CuGraph's values in the order of our rows, in host memory."""
    rows = cupy.empty_like(values)
    rows[vertices] = values
    return to_host(rows)
