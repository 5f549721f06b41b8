"""Road networks of the benchmark, with NumPy arrays, and coordinates that libraries order vertices by."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.generators import grid_edges
from benchmarks.graphs import DATA, graph_of_arcs, graph_of_edges
from kernels.gpu.devices import obstacle
from kernels.gpu.transfer import on_host
from kernels.graph import Array, Graph

Network = tuple[Graph, Array]  # coordinates: float32 [2, V]


def challenge(folder: Path, name: str) -> Network:
    """A network of the 9th DIMACS challenge by the name in its files, such as NY: `USA-road-d.NAME.gr.gz`, and `.co.gz`."""
    arcs = np.loadtxt(folder / f"USA-road-d.{name}.gr.gz", np.int64, comments=("c", "p"), usecols=(1, 2, 3))
    size = int(arcs[:, :2].max())
    graph = graph_of_arcs(arcs[:, 0] - 1, arcs[:, 1] - 1, arcs[:, 2], size, symmetric=True)
    file = folder / f"USA-road-d.{name}.co.gz"
    places = (
        np.loadtxt(file, np.float32, comments=("c", "p"), usecols=(2, 3)) if file.exists() else np.zeros((size, 2), np.float32)
    )
    return graph, places.T


def topology(path: Path) -> Network:
    """Roads without weights and coordinates in the PACE format, such as Florida's, with weights 1..999 drawn for them."""
    src, dst = np.loadtxt(path, np.int64, comments="p", unpack=True) - 1
    size = int(max(src.max(), dst.max())) + 1
    weights = np.random.default_rng(size).integers(1, 999, len(src), np.int32, endpoint=True)
    return graph_of_edges(src, dst, weights, size), np.zeros((2, size), np.float32)


def thin_grid(side: int, dropped: float = 0.35) -> Network:
    """Square grid, row by row, with a fraction of its edges removed, and weights 1..999.

    A GPU makes another one, in the order of a run's rows: with 4900 cells a side in a second, which NumPy takes a minute for.
    """
    if not obstacle():
        from benchmarks.one_gpu.graphs import road_like_grid

        graph = on_host(road_like_grid(side, dropped).graph())
        return graph, np.stack([graph.ids // side, graph.ids % side]).astype(np.float32)
    random = np.random.default_rng(side)
    src, dst = grid_edges(side)
    kept = random.random(len(src)) >= dropped
    weights = random.integers(1, 999, int(kept.sum()), np.int32, endpoint=True)
    cells = np.arange(side * side)
    return graph_of_edges(src[kept], dst[kept], weights, side * side), np.stack([cells // side, cells % side]).astype(np.float32)


def networks(folder: Path | None) -> dict[str, Callable[[], Network]]:
    """Networks by name: New York, thinned grids, and the networks in a folder."""
    found = {f"grid {side} x {side}": partial(thin_grid, side) for side in (300, 1024, 2048, 4900)}
    paths = sorted(folder.glob("USA-road-d.*.gr.gz")) if folder else []
    names = [path.name.split(".")[1] for path in paths]
    return {
        "New York": partial(challenge, DATA, "NY"),
        **{name: partial(challenge, paths[0].parent, name) for name in names},
        **{path.name.split(".")[0]: partial(topology, path) for path in (folder.glob("*.pace.gr.xz") if folder else [])},
        **found,
    }
