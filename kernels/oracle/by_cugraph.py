"""cuGraph answers again, for graphs on a GPU, by its library pylibcugraph (26.10).

Its weights are floats, so that integers are given as doubles: exact below 2^53. Its forest breaks ties as it likes, so the number
of edges and their weight are compared; its weak components and its forest want both directions of every edge. Its predecessors
depend on the order of the search; they are the certificate's business.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cupy
import numpy as np
import pylibcugraph

from kernels.answers import Components, Forest, Paths
from kernels.certificate.rules import Broken, require_source
from kernels.gpu.loader import to_host
from kernels.graph import UNREACHED, Array, Graph
from kernels.oracle.compare import DOUBLES, require_classes, require_distances, require_ranks
from kernels.pagerank.certificate import DAMPING, FARTHEST

CUGRAPH = "cuGraph"
STEPS = 200
SUMS_APART = 1e-9  # relative, of two sums of floats in different orders


def _check_bfs(graph: Graph, paths: Paths) -> None:
    require_distances(graph, paths, None, _hops(graph, require_source(graph, paths.source)), CUGRAPH)


def _check_sssp(graph: Graph, paths: Paths) -> None:
    lengths, source = _doubles(graph), require_source(graph, paths.source)
    if lengths.any():
        vertices, distance, _ = pylibcugraph.sssp(_handle(), _arcs(graph, lengths), source, np.inf, True, False)
        solved = _by_row(vertices, cupy.where(distance < np.finfo(distance.dtype).max, distance, UNREACHED))
    else:  # it goes in steps of the mean weight, and comes to no end where that is 0
        solved = np.minimum(_hops(graph, source), 0)
    require_distances(graph, paths, graph.out.weights, solved, CUGRAPH)


def _hops(graph: Graph, source: int) -> Array:
    sources = cupy.full(1, source, graph.out.indices.dtype)
    distance, _, vertices = pylibcugraph.bfs(_handle(), _arcs(graph, None), sources, False, -1, True, False)
    reached = distance < np.iinfo(distance.dtype).max
    return _by_row(vertices, cupy.where(reached, distance.astype(np.float64), UNREACHED))


def _check_forest(graph: Graph, forest: Forest) -> None:
    low, high, lightest = _edges(graph)
    src, dst, weights, _ = pylibcugraph.minimum_spanning_tree(_handle(), _both_ways(graph, low, high, lightest), False)
    # it may name both arcs of an edge
    _, place = cupy.unique(_keys(graph, src, dst), return_index=True)
    stated, solved = float(np.sum(forest.weights, dtype=np.float64)), float(weights[place].sum())
    if len(forest.weights) != len(place):
        raise Broken(f"the forest has {len(forest.weights)} edges, {CUGRAPH}'s {len(place)}")
    exact = forest.weights.dtype.kind == "i" and stated < DOUBLES
    if not abs(stated - solved) <= (0 if exact else SUMS_APART * solved):
        raise Broken(f"the forest weighs {stated}, {CUGRAPH}'s {solved}")


def _check_wcc(graph: Graph, components: Components) -> None:
    both_ways = _both_ways(graph, *_edges(graph))
    vertices, classes = pylibcugraph.weakly_connected_components(_handle(), both_ways, None, None, None, None, False)
    require_classes(graph, components.labels, _by_row(vertices, classes), CUGRAPH)


def _check_scc(graph: Graph, components: Components) -> None:
    if graph.symmetric:  # cuGraph refuses these, whose strong components are their weak ones
        _check_wcc(graph, components)
        return
    vertices, classes = pylibcugraph.strongly_connected_components(_handle(), _arcs(graph, None), None, None, None, None, False)
    require_classes(graph, components.labels, _by_row(vertices, classes), CUGRAPH)


def _check_pagerank(graph: Graph, ranks: Any) -> None:
    ones = cupy.ones(graph.num_arcs)  # without weights its ranks are float32
    vertices, solved, _ = pylibcugraph.pagerank(
        _handle(), _arcs(graph, ones, transposed=True), None, None, None, None, DAMPING, 1e-30, STEPS, False, False
    )
    require_ranks(graph, ranks, _by_row(vertices, solved), CUGRAPH)


@cache
def _handle() -> Any:
    return pylibcugraph.ResourceHandle()


def _arcs(graph: Graph, weights: Array | None, transposed: bool = False) -> Any:
    """Its graph of our arcs."""
    return _graph(graph, _tails(graph), graph.out.indices, weights, graph.symmetric, transposed)


def _both_ways(graph: Graph, low: Array, high: Array, weights: Array) -> Any:
    """Its graph of the arcs from `low` to `high` and back."""
    ends = cupy.concatenate((low, high)), cupy.concatenate((high, low))
    return _graph(graph, *ends, cupy.concatenate((weights, weights)), symmetric=True)


def _graph(graph: Graph, src: Array, dst: Array, weights: Array | None, symmetric: bool, transposed: bool = False) -> Any:
    properties = pylibcugraph.GraphProperties(is_symmetric=symmetric, is_multigraph=False)
    return pylibcugraph.SGGraph(
        _handle(), properties, src, dst, weight_array=weights, store_transposed=transposed, renumber=True,
        do_expensive_check=False, vertices_array=cupy.arange(graph.num_vertices, dtype=src.dtype),
    )  # fmt: skip


def _edges(graph: Graph) -> tuple[Array, Array, Array]:
    """Both ends of every undirected edge [E], the smaller row first, and the least of its arcs' weights, float64 [E]."""
    tails, heads, weights = _tails(graph), graph.out.indices, _doubles(graph)
    apart = tails != heads
    keys, place = cupy.unique(_keys(graph, tails[apart], heads[apart]), return_inverse=True)
    lightest = cupy.full(len(keys), np.inf)
    cupy.minimum.at(lightest, place, weights[apart])
    low, high = (end.astype(heads.dtype) for end in (keys // graph.num_vertices, keys % graph.num_vertices))
    return low, high, lightest


def _keys(graph: Graph, src: Array, dst: Array) -> Array:
    """One number for each undirected edge, int64."""
    return cupy.minimum(src, dst).astype(np.int64) * graph.num_vertices + cupy.maximum(src, dst)


def _tails(graph: Graph) -> Array:
    """Row that each out-arc leaves [A]."""
    arcs = cupy.arange(graph.num_arcs, dtype=np.int64)
    return (cupy.searchsorted(graph.out.offsets, arcs, side="right") - 1).astype(graph.out.indices.dtype)


def _doubles(graph: Graph) -> Array:
    """Weights of the out-arcs, float64 [A]."""
    return cupy.ones(graph.num_arcs) if graph.out.weights is None else graph.out.weights.astype(np.float64)


def _by_row(vertices: Array, values: Array) -> Array:
    """Its values in the order of our rows, in this machine's memory."""
    rows = cupy.empty_like(values)
    rows[vertices] = values
    return to_host(rows)


STAGES: dict[str, tuple[str, Callable[..., None]]] = {
    "bfs": ("distances are those of pylibcugraph.bfs", _check_bfs),
    "sssp": ("distances are those of pylibcugraph.sssp, integers from 2^53 to one rounding of a double an arc", _check_sssp),
    "mst": ("as many edges and as much weight as from pylibcugraph.minimum_spanning_tree", _check_forest),
    "wcc": ("labels are those of pylibcugraph.weakly_connected_components", _check_wcc),
    "scc": ("labels are those of pylibcugraph.strongly_connected_components, of a symmetric graph the weak ones", _check_scc),
    "pagerank": (f"ranks are within {FARTHEST:.2g} in sum of pylibcugraph.pagerank's after {STEPS} steps", _check_pagerank),
}
