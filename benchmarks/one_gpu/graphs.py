"""Graphs of the GPU benchmarks: generated edge lists and files, and the graphs made of them, with CuPy arrays."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cupy as cp
import numpy as np

from benchmarks.generators import LARGEST_WEIGHT, grid_edges
from kernels.generators import ends, graph500
from kernels.generators.drawing import EDGES_PER_VERTEX
from kernels.graph import ID, OFFSET, Array, Csr, Graph, index_dtype

DATA = Path(__file__).parents[2] / "data"
WINDOW = 4096  # vertices, as in pipeline/config/run.py
_WARP_DEGREE = 32  # rows of at least this degree come first, independently of windows
_BLOCK = 1 << 26  # arcs that are placed at a time, which bounds the temporary arrays


@dataclass(frozen=True)
class GeneratedEdges:
    """An edge list as it was generated or read, and the graph that is built from it."""

    # src, dst: int64 [E], CuPy: external ids.
    src: Array
    dst: Array
    weights: Array | None  # [E], CuPy, or None
    declared: range  # all ids; empty if the ids are those that occur
    symmetric: bool  # whether the graph has every edge's reverse
    order: str  # {"degree", "windowed"}: of the graph's rows
    weighted: bool  # whether the graph gets weights 1..999 if the list has none

    def graph(self) -> Graph:
        """Build the graph with CuPy only."""
        src, dst, num_vertices = self.src, self.dst, len(self.declared)
        if not self.declared:
            ids, positions = cp.unique(cp.concatenate([src, dst]), return_inverse=True)
            src, dst, num_vertices = positions[: len(src)], positions[len(src) :], len(ids)
        return graph_of_arcs(src, dst, self.weights, num_vertices, self.symmetric, self.order, self.weighted)


def graph_of_arcs(
    src: Array, dst: Array, weights: Array | None, num_vertices: int, symmetric: bool, order: str, weighted: bool = False
) -> Graph:
    """Build the Graph of arcs between the ids `0..num_vertices-1`, without self-loops; of parallel arcs the lightest stays.

    Beside `src` and `dst`, a directed graph of A arcs without `weights` takes about 26 bytes an arc and 50 an arc of a block: 8 A
    of keys, at most 16 A of the graph, and as much as the keys while these are sorted or selected.

    Args:
        src, dst: int64 [A], CuPy.
        weights: [A], CuPy, or None.
        symmetric: Edges are undirected: add every arc's reverse.
        order ({"degree", "windowed", "source"}): The rows' order (pipeline/config/run.py).
        weighted: Where `weights` is None: draw int32 weights 1..999 that depend on an edge's ends only.
    """
    if symmetric:
        src, dst = cp.concatenate([src, dst]), cp.concatenate([dst, src])
        weights = None if weights is None else cp.concatenate([weights, weights])
    keys, weights = _distinct(src, dst, weights, num_vertices)
    src = dst = None
    rows = _rows(_degrees(keys, num_vertices), order)
    into = out = _csr(keys, weights, num_vertices, rows, weighted)
    if not symmetric:
        for block in _blocks(keys):
            block[:] = block % num_vertices * num_vertices + block // num_vertices
        if weights is None:
            keys.sort()
        else:
            sorting = cp.argsort(keys)
            keys, weights = keys[sorting], weights[sorting]
        into = _csr(keys, weights, num_vertices, rows, weighted)
    ids = cp.empty(num_vertices, ID)
    ids[rows] = cp.arange(num_vertices, dtype=ID)
    graph = Graph(ids, rows, out, into, directed=not symmetric)
    cp.get_default_memory_pool().free_all_blocks()
    return graph


def road_like_grid(side: int = 4900, dropped: float = 0.35) -> GeneratedEdges:
    """Square 4-neighbour grid, row by row, with a fraction of its edges removed; each edge once."""
    random = cp.random.default_rng(side)
    src, dst = grid_edges(side, arrays=cp)
    kept = random.random(len(src), dtype=cp.float32) >= dropped
    return GeneratedEdges(src[kept], dst[kept], None, range(side * side), True, "windowed", weighted=True)


def rmat(scale: int = 24, edge_factor: int = EDGES_PER_VERTEX, directed: bool = False) -> GeneratedEdges:
    """R-MAT edges between 2^scale vertices, ids permuted, with self-loops and parallel edges; weighted if undirected."""
    src, dst = ends(graph500(scale), 0, edge_factor << scale, cp)
    return GeneratedEdges(src, dst, None, range(1 << scale), not directed, "degree", weighted=not directed)


def edge_list(
    path: Path,
    symmetric: bool,
    order: str,
    weight_column: int | None = None,
    columns: tuple[int, int] | None = None,
    weighted: bool = False,
) -> GeneratedEdges:
    """Read an edge list: Parquet, or text (SNAP, Matrix Market, DIMACS, PACE), compressed or not."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        ends = np.stack([table["src"].to_numpy(), table["dst"].to_numpy()]).astype(np.int64)
        weights = None
    else:
        marked = ".gr" in path.suffixes and ".pace" not in path.suffixes
        near, far = columns or ((1, 2) if marked else (0, 1))
        use = (near, far) if weight_column is None else (near, far, weight_column)
        read = np.loadtxt(path, np.int64, comments=("c", "p", "#", "%"), usecols=use).T
        read = read[:, path.suffixes[0] == ".mtx" :]  # the first line after the comments has the sizes
        ends, weights = read[:2], None if weight_column is None else cp.asarray(read[2])
    return GeneratedEdges(*map(cp.asarray, ends), weights, range(0), symmetric, order, weighted)


def graphs(folder: Path | None = None) -> dict[str, Callable[[], GeneratedEdges]]:
    """Edge lists by name: generated ones, those in data/, and the files below `folder` whose names are known.

    Graphs without weights of their own have int32 weights 1..999, except the directed R-MAT.
    """
    found = {path.name: path for path in sorted(folder.rglob("*"))} if folder else {}
    return {
        "New York": partial(edge_list, DATA / "USA-road-d.NY.gr.gz", True, "windowed", weight_column=3),
        "Rome": partial(edge_list, DATA / "rome99.gr.gz", False, "windowed", weight_column=3),
        "Bremen": partial(edge_list, DATA / "bremen_dist.gr.gz", False, "windowed", weight_column=3),
        "Facebook": partial(edge_list, DATA / "facebook_combined.txt.gz", True, "degree", weighted=True),
        "wiki-Vote": partial(edge_list, DATA / "wiki-Vote.txt.gz", False, "degree", weighted=True),
        **{
            name: partial(edge_list, found[file], symmetric, order, weighted=True)
            for name, (file, symmetric, order) in _FILES.items()
            if file in found
        },
        "road-like grid 4900 x 4900": road_like_grid,
        "R-MAT 24": rmat,
        "R-MAT 24, directed": partial(rmat, directed=True),
    }


_FILES = {
    "Florida": ("USA-road-FLA.pace.gr.xz", True, "windowed"),
    "Colorado": ("USA-road-COL.pace.gr.xz", True, "windowed"),
    "US roads": ("usroads.mtx.gz", True, "windowed"),
    "Slashdot": ("soc-Slashdot0902.txt.gz", False, "degree"),
    "Slashdot, symmetric": ("soc-Slashdot0902.txt.gz", True, "degree"),
    "cnr-2000": ("cnr-2000.parquet", False, "degree"),
    "cnr-2000, symmetric": ("cnr-2000.parquet", True, "degree"),
    "Twitter": ("ego-Twitter-undirected.txt.gz", True, "degree"),
    "Enron": ("email-Enron.txt.gz", True, "degree"),
}


def _distinct(src: Array, dst: Array, weights: Array | None, num_vertices: int) -> tuple[Array, Array | None]:
    """Ascending keys `src * num_vertices + dst` of the distinct arcs, and their least weights."""
    keys = src * num_vertices
    keys += dst
    keys = keys[src != dst]
    if weights is None:
        keys.sort()
    else:
        weights = weights[src != dst]
        order = cp.argsort(weights)
        order = order[cp.argsort(keys[order])]
        keys, weights = keys[order], weights[order]
    first = cp.ones(len(keys), cp.bool_)
    first[1:] = keys[1:] != keys[:-1]
    return keys[first], None if weights is None else weights[first]


def _rows(degrees: Array, order: str) -> Array:
    """Row of each id, by descending degree within windows."""
    num_vertices = len(degrees)
    ids = cp.arange(num_vertices, dtype=cp.int64)
    window = {"degree": cp.zeros_like(ids), "windowed": cp.where(degrees >= _WARP_DEGREE, 0, 1 + ids // WINDOW), "source": ids}[
        order
    ]
    sequence = cp.argsort(window << 32 | (degrees.max() - degrees)) if num_vertices else ids
    rows = cp.empty(num_vertices, index_dtype(num_vertices))
    rows[sequence] = ids.astype(rows.dtype)
    return rows


def _blocks(keys: Array) -> Iterator[Array]:
    """Views of `_BLOCK` keys each."""
    return (keys[first : first + _BLOCK] for first in range(0, len(keys), _BLOCK))


def _degrees(keys: Array, num_vertices: int) -> Array:
    """How many keys each id has, int64 [V]."""
    degrees = cp.zeros(num_vertices, cp.int64)
    for block in _blocks(keys):
        degrees += cp.bincount(block // num_vertices, minlength=num_vertices)
    return degrees


def _csr(keys: Array, weights: Array | None, num_vertices: int, rows: Array, weighted: bool) -> Csr:
    """CSR of ascending keys; the arcs of an id stay together and in order."""
    degrees = _degrees(keys, num_vertices)
    offsets = cp.zeros(num_vertices + 1, OFFSET)
    in_row_order = cp.empty_like(degrees)
    in_row_order[rows] = degrees
    offsets[1:] = cp.cumsum(in_row_order)
    moved = offsets[rows] - (cp.cumsum(degrees) - degrees)  # from a key's place to its arc's
    indices = cp.empty(len(keys), index_dtype(num_vertices))
    dtype = weights.dtype if weights is not None else cp.int32 if weighted else None
    placed = None if dtype is None else cp.empty(len(keys), dtype)
    first = 0
    for block in _blocks(keys):
        near, far, stop = block // num_vertices, block % num_vertices, first + len(block)
        places = moved[near] + cp.arange(first, stop, dtype=OFFSET)
        indices[places] = rows[far]
        if placed is not None:
            placed[places] = weight_of_endpoints(near, far) if weights is None else weights[first:stop]
        first = stop
    return Csr(offsets, indices, placed)


weight_of_endpoints = cp.ElementwiseKernel(
    "int64 near, int64 far",
    "int32 weight",
    "const long long low = near < far ? near : far, high = near < far ? far : near;"
    "unsigned long long mixed = (0x9e3779b97f4a7c15ull * (1 + low)) ^ (0xc2b2ae3d27d4eb4full * (1 + high));"
    "mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull; mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;"
    f"weight = 1 + (int)((mixed >> 33) % {LARGEST_WEIGHT});",
    "graphmill_weight_of_endpoints",
)
