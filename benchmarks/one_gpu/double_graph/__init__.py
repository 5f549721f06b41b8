"""doubleGraph's kernels as a peer: compiled from a clone of https://github.com/double-ai/doubleGraph, called through ctypes.

doubleGraph is cuGraph with other kernels. Its packages replace cuGraph's, and are built for A100, L4 and A10G only. The kernels
for the A100 are therefore compiled here for the GPU at hand, without the rest of cuGraph, and called as cuGraph calls them:
vertices descend by degree, and the call returns when the GPU has finished.
"""

import ctypes
import hashlib
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.one_gpu.peers import Peer, same_distances, same_parts, same_ranks, same_weight
from kernels.cpu.parallel import inverse
from kernels.graph import Array, Csr, Graph
from kernels.layout.laid_out import take_rows
from kernels.layout.orders import by_degree_in_windows

HERE = Path(__file__).parent
SOURCES = (
    "traversal/bfs_seg", "traversal/bfs_direction_optimizing_seg", "traversal/sssp_f32_seg", "traversal/sssp_f64_seg",
    "tree/mst_f32_seg", "tree/mst_f64_seg", "components/weakly_connected_components_seg",
    "components/strongly_connected_components_seg", "link_analysis/pagerank_seg",
)  # fmt: skip
DEGREES = (1024, 32, 1)  # lower bounds of the groups of vertices; the last group has no arcs
DAMPING = 0.85


def build(clone: Path, out: Path) -> Path:
    """Compile the library with nvcc into the folder `out`, unless it is there.

    Args:
        clone: A clone of doubleGraph.

    Returns:
        The shared library.

    Raises:
        subprocess.CalledProcessError: nvcc failed; its messages are printed.
        OSError: A source or nvcc is missing.
    """
    kernels = [clone / "cpp/src/aai/impl/a100" / f"{name}.cu" for name in SOURCES]
    files = [*kernels, HERE / "library.cu"]
    architecture = f"-arch=sm_{cp.cuda.Device().compute_capability}"
    key = hashlib.sha256(b"".join(file.read_bytes() for file in files) + architecture.encode()).hexdigest()[:16]
    library = out / f"doublegraph-{key}.so"
    if library.exists():
        return library
    out.mkdir(parents=True, exist_ok=True)
    includes = [f"-I{clone / 'cpp/include'}", f"-I{HERE / 'include'}"]

    def compiled(file: Path) -> Path:
        flags = file.with_name(f"{file.name}.flags")
        stated = flags.read_text(encoding="ascii").split() if flags.exists() else []
        target = out / f"{key}-{file.stem}.o"
        _nvcc("-c", "-O3", "-std=c++20", architecture, *stated, *includes, file, "-o", target)
        return target

    with ThreadPoolExecutor() as pool:
        objects = list(pool.map(compiled, files))
    unfinished = library.with_suffix(".part")
    _nvcc("-shared", architecture, *objects, "-o", unfinished)
    unfinished.rename(library)
    return library


def _nvcc(*arguments: str | Path) -> None:
    subprocess.run(["nvcc", "-Xcompiler", "-fPIC", *map(str, arguments)], check=True)


class _Prepared:
    """One direction of a graph, its vertices in descending order of their degrees, as the library takes it.

    Attributes:
        csr: Offsets int64 and int32 indices of the vertices in their order.
        order, position (integers [V]): The row of each vertex in the order, and the vertex of each row.
        handle: ctypes.c_void_p.
    """

    def __init__(self, library: ctypes.CDLL, csr: Csr, symmetric: bool, transposed: bool) -> None:
        degrees = csr.offsets[1:] - csr.offsets[:-1]
        self.order = by_degree_in_windows(degrees, len(degrees))
        self.position = inverse(self.order)
        self.csr = take_rows(csr, self.order, self.position)
        self.offsets = self.csr.offsets.astype(np.int32)
        groups = [int((degrees >= bound).sum()) for bound in DEGREES]
        self.segments = (ctypes.c_int * 5)(0, *groups, len(degrees))
        offsets, indices = _pointers((self.offsets, self.csr.indices))
        self.handle = ctypes.c_void_p(library.prepare(offsets, indices, self.segments, int(symmetric), int(transposed)))


class DoubleGraph:
    """doubleGraph's kernels on one graph."""

    name = "doublegraph"

    def __init__(self, library: Path, graph: Graph, weight_type: np.dtype[Any]) -> None:
        self.library, self.graph, self.weight_type = ctypes.CDLL(str(library)), graph, weight_type
        self.library.prepare.restype = ctypes.c_void_p
        self.library.forest_float.restype = self.library.forest_double.restype = ctypes.c_longlong

    def peers(self, kernel: str) -> list[Peer]:
        """Functions that answer a kernel on the prebuilt graph; empty if it has none, or asks for a symmetric graph."""
        ways: dict[str, list[Peer]] = {
            "bfs": [
                Peer(lambda source: self._bfs(0, source), same_distances, "push"),
                Peer(lambda source: self._bfs(1, source), same_distances, "direction-optimising"),
            ][: 2 if self.graph.symmetric else 1],
            "sssp": [Peer(self._sssp, same_distances)],
            "forest": [Peer(self._forest, same_weight)],
            "wcc": [Peer(lambda: self._labels("wcc"), same_parts)],
            "scc": [Peer(lambda: self._labels("scc"), same_parts)],
            "pagerank": [Peer(self._pagerank, same_ranks)],
        }
        return ways.get(kernel, []) if self.graph.symmetric or kernel not in ("forest", "wcc") else []

    @cached_property
    def out(self) -> _Prepared:
        """The out-arcs."""
        return _Prepared(self.library, self.graph.out, self.graph.symmetric, transposed=False)

    @cached_property
    def into(self) -> _Prepared:
        """The in-arcs."""
        return _Prepared(self.library, self.graph.into, self.graph.symmetric, transposed=True)

    @cached_property
    def weights(self) -> Array:
        """Weights of the out-arcs in their order, as `weight_type`."""
        weights = self.out.csr.weights
        assert weights is not None
        return weights.astype(self.weight_type)

    @property
    def _width(self) -> str:
        return "float" if self.weight_type == np.float32 else "double"

    def _bfs(self, optimising: int, source: int) -> tuple[Array, Array]:
        start = self.out.position[source : source + 1].astype(np.int32)
        distance, predecessor = (cp.empty(self.graph.num_vertices, np.int32) for _ in range(2))
        _call(self.library.bfs, self.out.handle, optimising, *_pointers((start, distance, predecessor)))
        return self.out.order, distance

    def _sssp(self, source: int) -> tuple[Array, Array]:
        distance = cp.empty(self.graph.num_vertices, self.weight_type)
        predecessor = cp.empty(self.graph.num_vertices, np.int32)
        weights, *answer = _pointers((self.weights, distance, predecessor))
        function = getattr(self.library, f"sssp_{self._width}")
        _call(function, self.out.handle, weights, int(self.out.position[source]), *answer)
        return self.out.order, distance

    def _forest(self) -> Array:
        most = 2 * self.graph.num_vertices
        src, dst = (cp.empty(most, np.int32) for _ in range(2))
        found = cp.empty(most, self.weight_type)
        function = getattr(self.library, f"forest_{self._width}")
        edges = function(self.out.handle, *_pointers((self.weights, src, dst, found)), ctypes.c_longlong(most))
        if edges < 0:
            raise RuntimeError("CUDA error")
        return found[:edges]

    def _labels(self, kind: str) -> tuple[Array, Array]:
        labels = cp.empty(self.graph.num_vertices, np.int32)
        _call(getattr(self.library, kind), self.out.handle, *_pointers((labels,)))
        return self.out.order, labels

    def _pagerank(self, iterations: int) -> tuple[Array, Array]:
        scores = cp.empty(self.graph.num_vertices, np.float32)
        into = self.into
        _call(
            self.library.pagerank, into.handle, *_pointers((scores,)), ctypes.c_float(DAMPING), ctypes.c_longlong(iterations)
        )  # fmt: skip
        return into.order, scores


def _pointers(arrays: Iterable[Any]) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(array.data.ptr) for array in arrays]


def _call(function: Any, *arguments: Any) -> None:
    if status := function(*arguments):
        raise RuntimeError(f"CUDA error {status}")
