"""Generated stand-ins for the nine graphs of the source document, of about their numbers of vertices and edges.

Meshes are grids whose cells have a diagonal, roads are chains joined by cross edges, networks of people are R-MAT graphs. They
have the document's sizes and mean degrees, not its graphs' structure.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.dynamic.common import on_gpu
from benchmarks.generators import LARGEST_WEIGHT
from kernels.generators import ends, graph500
from kernels.graph import Array, Graph

_SEED = 33


class StandIn(NamedTuple):
    """A graph of the document (Martinho: Marrow-Graph, 2021, Table 5.1), undirected."""

    vertices: int
    edges: int
    make: Callable[[int, int, Any, Any], tuple[Array, Array]]  # (vertices, edges, random, arrays) -> ends


def mesh(vertices: int, edges: int, random: Any, arrays: Any) -> tuple[Array, Array]:
    """A planar triangulation, of which edges are dropped at random if fewer are wanted."""
    side = round(vertices**0.5)
    cells = arrays.arange(side * side, dtype=np.int64).reshape(side, side)
    src = arrays.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel(), cells[:-1, :-1].ravel()])
    dst = arrays.concatenate([cells[:, 1:].ravel(), cells[1:].ravel(), cells[1:, 1:].ravel()])
    kept = random.random(len(src)) < edges / len(src)
    return src[kept], dst[kept]


def roads(vertices: int, edges: int, random: Any, arrays: Any) -> tuple[Array, Array]:
    """Rows of a grid as chains, and edges between neighbouring rows at random places: most vertices have two neighbours."""
    side = round(vertices**0.5)
    cells = arrays.arange(side * side, dtype=np.int64).reshape(side, side)
    above = cells[:-1].ravel()
    crossing = above[random.random(len(above)) < (edges - vertices) / vertices]
    src, dst = arrays.concatenate([cells[:, :-1].ravel(), crossing]), arrays.concatenate([cells[:, 1:].ravel(), crossing + side])
    return src, dst


def people(vertices: int, edges: int, _: Any, arrays: Any) -> tuple[Array, Array]:
    """R-MAT edges; repeated ones, which the graph has once, make it smaller than asked for."""
    scale = (vertices - 1).bit_length()
    src, dst = ends(graph500(scale), 0, edges, arrays)
    return src * vertices >> scale, dst * vertices >> scale


STAND_INS = {
    "delaunay_n13": StandIn(8_192, 24_547, mesh),
    "ak2010": StandIn(45_292, 108_549, mesh),
    "coAuthorsDBLP": StandIn(299_067, 977_676, people),
    "belgium_osm": StandIn(1_441_295, 1_549_970, roads),
    "roadNet-CA": StandIn(1_971_281, 2_766_607, roads),
    "delaunay_n21": StandIn(2_097_152, 6_291_408, mesh),
    "hollywood-2009": StandIn(1_139_905, 57_515_616, people),
    "asia_osm": StandIn(11_950_757, 12_711_603, roads),
    "road_usa": StandIn(23_947_347, 28_854_312, roads),
}


def stand_in(name: str, share: float) -> Graph:
    """The stand-in for a graph of the document, of a share of its size, rows in the order of ids, int32 weights 1..999."""
    of = STAND_INS[name]
    vertices, edges = max(16, round(share * of.vertices)), max(32, round(share * of.edges))
    if on_gpu():
        import cupy

        from benchmarks.one_gpu.graphs import graph_of_arcs

        src, dst = of.make(vertices, edges, cupy.random.default_rng(_SEED), cupy)
        return graph_of_arcs(src, dst, None, max(vertices, int(max(src.max(), dst.max())) + 1), True, "source", weighted=True)
    from benchmarks.graphs import graph_of_edges

    random = np.random.default_rng(_SEED)
    src, dst = of.make(vertices, edges, random, np)
    weights = random.integers(1, LARGEST_WEIGHT + 1, len(src)).astype(np.int32)
    return graph_of_edges(src, dst, weights, max(vertices, int(max(src.max(), dst.max())) + 1))
