"""The graphs of the benchmarks: real ones from data/, and generated ones with a fixed seed. Rows are in order of ids."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.generators import LARGEST_WEIGHT, grid_edges
from kernels.generators import ends, graph500
from kernels.generators.drawing import EDGES_PER_VERTEX
from kernels.graph import ID, OFFSET, Array, Csr, Graph, index_dtype

DATA = Path(__file__).parent.parent / "data"


def graph_of_arcs(src: Array, dst: Array, weights: Array | None, num_vertices: int, symmetric: bool) -> Graph:
    """Build a Graph of distinct arcs between rows `0..num_vertices-1`, whose ids are their rows; without self-loops.

    Of parallel arcs the lightest is kept. `symmetric` says that they are undirected edges, each as two arcs.
    """
    order = np.lexsort((dst, src)) if weights is None else np.lexsort((weights, dst, src))
    first = np.append(True, (np.diff(src[order]) != 0) | (np.diff(dst[order]) != 0)) if len(order) else np.empty(0, np.bool_)
    order = order[first & (src != dst)[order]]
    src, dst, weights = src[order], dst[order], None if weights is None else weights[order]
    out = _csr(src, dst, weights, num_vertices)
    if symmetric:
        into = out
    else:
        order = np.lexsort((src, dst))
        into = _csr(dst[order], src[order], None if weights is None else weights[order], num_vertices)
    ids = np.arange(num_vertices, dtype=ID)
    return Graph(ids, ids.astype(index_dtype(num_vertices)), out, into, directed=not symmetric)


def graph_of_edges(src: Array, dst: Array, weights: Array | None, num_vertices: int) -> Graph:
    """Build a symmetric Graph of undirected edges."""
    both = None if weights is None else np.tile(weights, 2)
    return graph_of_arcs(np.append(src, dst), np.append(dst, src), both, num_vertices, symmetric=True)


def new_york() -> Graph:
    """Roads of New York, 264,346 vertices, 730,100 arcs, int64 weights."""
    head = 3  # lines; several signs of comments would cost two thirds of the time
    arcs = np.loadtxt(DATA / "USA-road-d.NY.gr.gz", np.int64, skiprows=head, usecols=(1, 2, 3))
    return graph_of_arcs(arcs[:, 0] - 1, arcs[:, 1] - 1, arcs[:, 2], 264_346, symmetric=True)


def facebook() -> Graph:
    """Friends on Facebook, 4,039 vertices, 176,468 arcs, no weights."""
    edges = np.loadtxt(DATA / "facebook_combined.txt.gz", np.int64)
    return graph_of_edges(edges[:, 0], edges[:, 1], None, 4_039)


def wiki_vote() -> Graph:
    """Votes on Wikipedia, 7,115 vertices, 103,689 arcs, directed, no weights; the gaps between the ids are closed."""
    ids, arcs = np.unique(np.loadtxt(DATA / "wiki-Vote.txt.gz", np.int64), return_inverse=True)
    arcs = arcs.reshape(-1, 2)
    return graph_of_arcs(arcs[:, 0], arcs[:, 1], None, len(ids), symmetric=False)


def grid(side: int = 1000) -> Graph:
    """Square 4-neighbour grid, row by row, with int32 weights 1..999."""
    src, dst = grid_edges(side)
    return graph_of_edges(src, dst, _weights(len(src)), side * side)


def rmat(scale: int = 17, edge_factor: int = EDGES_PER_VERTEX) -> Graph:
    """Symmetric R-MAT graph of 2^scale vertices with Graph500's parameters, ids permuted, int32 weights 1..999."""
    src, dst = ends(graph500(scale), 0, edge_factor << scale)
    return graph_of_edges(src, dst, _weights(len(src)), 1 << scale)


def random_digraph(num_vertices: int = 1 << 18, degree: int = 8) -> Graph:
    """Uniform random directed graph with float64 weights in (0, 1]."""
    random = np.random.default_rng(num_vertices)
    src, dst = random.integers(num_vertices, size=(2, num_vertices * degree))
    return graph_of_arcs(src, dst, 1 - random.random(len(src)), num_vertices, symmetric=False)


GRAPHS: dict[str, Callable[[], Graph]] = {
    "New York": new_york,
    "Facebook": facebook,
    "wiki-Vote": wiki_vote,
    "grid 1000 x 1000": grid,
    "R-MAT 17": rmat,
    "random digraph": random_digraph,
}


def _csr(near: Array, far: Array, weights: Array | None, num_vertices: int) -> Csr:
    offsets = np.zeros(num_vertices + 1, OFFSET)
    offsets[1:] = np.bincount(near, minlength=num_vertices).cumsum()
    return Csr(offsets, far.astype(index_dtype(num_vertices)), weights)


def _weights(num_edges: int) -> Array:
    return np.random.default_rng(num_edges).integers(1, LARGEST_WEIGHT, num_edges, np.int32, endpoint=True)
