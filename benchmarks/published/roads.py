"""The road networks of the 9th DIMACS challenge that a source document measures, from files or as stand-ins of the same size."""

from math import isqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.generators import LARGEST_WEIGHT, grid_edges
from benchmarks.graphs import graph_of_edges, new_york
from benchmarks.trees.networks import challenge
from kernels.gpu.devices import obstacle
from kernels.gpu.transfer import on_host
from kernels.graph import Graph


class Size(NamedTuple):
    """Numbers of vertices and arcs."""

    vertices: int
    arcs: int


SIZES = {
    "BAY": Size(321_270, 800_172),
    "COL": Size(435_666, 1_057_066),
    "FLA": Size(1_070_376, 2_712_798),
    "NE": Size(1_524_453, 3_897_636),
    "W": Size(6_262_104, 15_248_146),
    "USA": Size(23_947_347, 58_333_344),
}


def roads(name: str, folder: Path | None) -> tuple[str, Graph]:
    """A network of NumPy's arrays by its name in the challenge, and what to call it: New York, a file's graph or a stand-in."""
    if name == "NY":
        return "New York", new_york()
    if folder and (folder / f"USA-road-d.{name}.gr.gz").exists():
        return name, challenge(folder, name)[0]
    return f"{name}, stand-in", stand_in(SIZES[name])


def stand_in(size: Size) -> Graph:
    """Edges of a nearly square grid, row by row, drawn so that there are as many arcs; weights 1..999."""
    random, width = np.random.default_rng(size.vertices), isqrt(size.vertices)
    src, dst = grid_edges(width, -(-size.vertices // width))
    inside = np.flatnonzero(dst < size.vertices)
    kept = random.choice(inside, size.arcs // 2, replace=False)
    weights = random.integers(1, LARGEST_WEIGHT, len(kept), np.int32, endpoint=True)
    edges = src[kept], dst[kept], weights
    if obstacle():
        return graph_of_edges(*edges, size.vertices)
    import cupy

    from benchmarks.one_gpu.graphs import graph_of_arcs

    graph: Graph = on_host(graph_of_arcs(*map(cupy.asarray, edges), size.vertices, True, "source"))
    return graph
