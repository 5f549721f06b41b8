"""cuGraph: pylibcugraph with a prebuilt graph and a warm memory pool, and the public API that users call.

A peer's first answer is compared with ours before it is timed. Its weights are float32 where that holds every distance exactly,
else float64. Where a graph is symmetric, breadth-first search is timed with and without direction-optimising: the faster counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.one_gpu.contests import arcs_of, sampled
from benchmarks.one_gpu.timing import milliseconds_within
from kernels.answers import Betweenness, Components, Forest, Paths, Scores
from kernels.betweenness.parameters import checked as parameters_of
from kernels.betweenness.parameters import rows_of
from kernels.graph import UNREACHED, Array, Graph

POOL = 64 << 30  # bytes of cuGraph's pool; CuPy keeps its own
SHARE_TOLERANCE = 1e-3  # sum of differences of shares: cuGraph's weights may be float32
SCORE_TOLERANCE = 1e-3  # sum of differences: cuGraph's scores are float32
_EXACT = 1 << 24  # float32 represents all integers up to here
_FAR = {"i": 2**31 - 1, "f": 1e30}  # larger distances mean that cuGraph has not reached a row


@dataclass(frozen=True)
class Peer:
    """One interface of cuGraph."""

    solve: Callable[..., Any]  # `solve(*source)`
    agrees: Callable[[Any, Any], bool]  # `agrees(answer, ours)`: whether the answer does the same work as ours
    note: str = ""


@dataclass(frozen=True)
class Timed:
    """A peer's median; `runs` is 0 if it failed, and the note says why."""

    milliseconds: float | None
    runs: int
    note: str


def start(pool: int = POOL) -> str | None:
    """Give cuGraph a pool of POOL bytes, or half of the free memory; return its version, or None if it is not installed."""
    if find_spec("cugraph") is None:
        return None
    import rmm

    free, _ = cp.cuda.Device().mem_info
    rmm.reinitialize(pool_allocator=True, initial_pool_size=min(pool, free // 2) // 256 * 256)
    import cugraph

    cp.cuda.set_allocator(cp.get_default_memory_pool().malloc)  # importing cuDF made CuPy use cuGraph's pool
    return str(cugraph.__version__)


def race(way: "Pylibcugraph | CuGraph", kernel: str, ours: Any, calls: list[tuple[int, ...]], seconds: float) -> Timed:
    """Compare and time a kernel's peers on `calls`, the first of which `ours` answers; the fastest counts."""
    timed = [_time(peer, ours, calls, seconds) for peer in way.peers(kernel)]
    note = "asks for a symmetric graph" if kernel in ("forest", "wcc") else "has no such algorithm"
    return min(timed, key=lambda one: one.milliseconds or np.inf, default=Timed(None, 0, note))


def _time(peer: Peer, ours: Any, calls: list[tuple[int, ...]], seconds: float) -> Timed:
    try:
        if not peer.agrees(peer.solve(*calls[0]), ours):
            return Timed(None, 0, "failed: its answer differs from ours")
        times = milliseconds_within(seconds, peer.solve, calls)
    except Exception as error:  # a peer's error is its result
        return Timed(None, 0, f"failed: {' '.join(str(error).split())[:120]}")
    return Timed(float(np.median(times)), len(times), peer.note)


class Pylibcugraph:
    """The library below cuGraph's Python; its graph is built once."""

    name = "pylibcugraph"

    def __init__(self, graph: Graph, weight_type: np.dtype[Any]) -> None:
        import pylibcugraph

        self.library, self.graph, self.weight_type = pylibcugraph, graph, weight_type
        self.handle = pylibcugraph.ResourceHandle()

    def build(self, weighted: bool = True, transposed: bool = False) -> Any:
        """Its graph, from the arcs in device memory."""
        src, dst, weights = self.arcs
        properties = self.library.GraphProperties(is_symmetric=self.graph.symmetric, is_multigraph=False)
        return self.library.SGGraph(
            self.handle, properties, src, dst, weight_array=weights if weighted else None, store_transposed=transposed,
            renumber=True, do_expensive_check=False, vertices_array=cp.arange(self.graph.num_vertices, dtype=src.dtype),
        )  # fmt: skip

    @cached_property
    def arcs(self) -> tuple[Array, Array, Array | None]:
        """Endpoints and weights of all arcs."""
        return arcs_with(self.graph, self.weight_type)

    @cached_property
    def built(self) -> Any:
        """Its graph, with weights if ours has weights."""
        return self.build()

    @cached_property
    def transposed(self) -> Any:
        """Its graph for PageRank, without weights."""
        return self.build(weighted=False, transposed=True)

    @cached_property
    def hops(self) -> Any:
        """Its graph without weights."""
        return self.build(weighted=False)

    def peers(self, kernel: str) -> list[Peer]:
        """Functions that answer a kernel on the prebuilt graph; empty if cuGraph has none."""
        library, handle = self.library, self.handle

        def search(optimising: bool, source: int) -> Any:
            distance, _, vertices = library.bfs(handle, self.built, self._source(source), optimising, -1, True, False)
            return vertices, distance

        def components(kind: Callable[..., Any]) -> Any:
            return kind(handle, self.built, None, None, None, None, False)

        def ranks(iterations: int) -> Any:
            return library.pagerank(
                handle, self.transposed, None, None, None, None, 0.85, 1e-30, iterations, False, fail_on_nonconvergence=False
            )[:2]

        def between() -> Any:
            parameters = parameters_of(**sampled(self.graph))
            sources = rows_of(parameters, self.graph.ids).astype(self.arcs[0].dtype)
            return library.betweenness_centrality(handle, self.hops, sources, None, False, False, False)

        ways: dict[str, list[Peer]] = {
            "bfs": [
                Peer(lambda source: search(False, source), same_distances, "push"),
                Peer(lambda source: search(True, source), same_distances, "direction-optimising"),
            ][: 2 if self.graph.symmetric else 1],
            "sssp": [Peer(lambda source: library.sssp(handle, self.built, source, np.inf, True, False)[:2], same_distances)],
            "forest": [Peer(lambda: library.minimum_spanning_tree(handle, self.built, False)[2], same_weight)],
            "wcc": [Peer(lambda: components(library.weakly_connected_components), same_parts)],
            "scc": [Peer(lambda: components(library.strongly_connected_components), same_parts)],
            "pagerank": [Peer(ranks, same_ranks)],
            "layout": [Peer(self.build, lambda built, ours: True, "from clean arcs")],
            "betweenness": [Peer(between, same_shares)],
            "communities": [
                Peer(lambda: library.louvain(handle, self.built, 100, 1e-7, 1.0, False)[:2], lambda *_: True, "Louvain")
            ],
        }
        return ways.get(kernel, []) if self.graph.symmetric or kernel not in ("forest", "wcc") else []

    def _source(self, source: int) -> Array:
        return cp.asarray([source], self.arcs[0].dtype)


class CuGraph:
    """The public API; its graph is built once, and each call makes a data frame."""

    name = "cugraph"

    def __init__(self, graph: Graph, weight_type: np.dtype[Any]) -> None:
        self.graph, self.weight_type = graph, weight_type

    def build(self, weighted: bool = True, transposed: bool = False) -> Any:
        """Its graph, from a data frame with each edge of a symmetric graph once."""
        import cudf
        import cugraph

        graph = cugraph.Graph(directed=not self.graph.symmetric)
        src, dst, weights = self.edges
        weighted = weighted and weights is not None
        edges = cudf.DataFrame({"src": src, "dst": dst} | ({"weight": weights} if weighted else {}))
        weight = {"edge_attr": "weight"} if weighted else {}
        graph.from_cudf_edgelist(edges, source="src", destination="dst", store_transposed=transposed, **weight)
        return graph

    @cached_property
    def edges(self) -> tuple[Array, Array, Array | None]:
        """Endpoints and weights of the edges, or of the arcs of a directed graph."""
        src, dst, weights = arcs_with(self.graph, self.weight_type)
        if not self.graph.symmetric:
            return src, dst, weights
        once = src < dst
        return src[once], dst[once], None if weights is None else weights[once]

    @cached_property
    def built(self) -> Any:
        """Its graph."""
        return self.build()

    @cached_property
    def transposed(self) -> Any:
        """Its graph for PageRank, without weights."""
        return self.build(weighted=False, transposed=True)

    def peers(self, kernel: str) -> list[Peer]:
        """Functions that answer a kernel; empty if cuGraph has none."""
        import cugraph

        def of(frame: Any, value: str) -> Any:
            return frame["vertex"].values, frame[value].values

        ways: dict[str, list[Peer]] = {
            "bfs": [Peer(lambda source: of(cugraph.bfs(self.built, source), "distance"), same_distances)],
            "sssp": [Peer(lambda source: of(cugraph.sssp(self.built, source), "distance"), same_distances)],
            "forest": [
                Peer(
                    lambda: cugraph.minimum_spanning_tree(self.built),
                    lambda tree, ours: same_weight(tree.edgelist.edgelist_df["weights"].values, ours),
                )
            ],
            "wcc": [Peer(lambda: of(cugraph.weakly_connected_components(self.built), "labels"), same_parts)],
            "scc": [Peer(lambda: of(cugraph.strongly_connected_components(self.built), "labels"), same_parts)],
            "pagerank": [
                Peer(
                    lambda iterations: of(
                        cugraph.pagerank(self.transposed, max_iter=iterations, tol=1e-30, fail_on_nonconvergence=False)[0],
                        "pagerank",
                    ),
                    same_ranks,
                )
            ],
            "layout": [Peer(self.build, lambda built, ours: True, "from clean edges")],
        }
        return ways.get(kernel, []) if self.graph.symmetric or kernel not in ("forest", "wcc") else []


def arcs_with(graph: Graph, weight_type: np.dtype[Any]) -> tuple[Array, Array, Array | None]:
    """Tails, heads and weights of all arcs, weights in the peer's type."""
    src, dst, weights = arcs_of(graph)
    return src, dst, None if weights is None else weights.astype(weight_type)


def exact_weight_type(paths: Paths) -> np.dtype[Any]:
    """The narrowest float type that represents every distance exactly; one search gives at least half of the largest."""
    largest = float(paths.distance.max())
    return np.dtype(np.float32 if paths.distance.dtype.kind == "i" and 2 * largest < _EXACT else np.float64)


def same_distances(answer: tuple[Array, Array], ours: Paths) -> bool:
    """Whether cuGraph's distances equal ours."""
    vertices, distance = answer
    reached = distance < _FAR[distance.dtype.kind]
    theirs = cp.where(reached, distance, 0).astype(ours.distance.dtype)
    return bool((cp.where(reached, theirs, UNREACHED) == ours.distance[vertices]).all())


def same_weight(weights: Array, ours: Forest) -> bool:
    """Whether a forest has as many edges as ours and the same weight; cuGraph may return both arcs of an edge."""
    times = max(1, len(weights) // max(1, len(ours.weights)))
    weight = float(ours.weights.sum(dtype=np.float64))
    return len(weights) == times * len(ours.weights) and float(weights.sum(dtype=np.float64)) == times * weight


def same_parts(answer: tuple[Array, Array], ours: Components) -> bool:
    """Whether the labels make the same partition: there are as many distinct pairs of labels as labels on either side."""
    vertices, labels = answer
    theirs, mine = (cp.unique(one, return_inverse=True)[1].astype(np.int64) for one in (labels, ours.labels[vertices]))
    count = int(theirs.max()) + 1
    return count == int(mine.max()) + 1 == len(cp.unique(theirs * count + mine))


def same_shares(answer: tuple[Array, Array], ours: Betweenness) -> bool:
    """Whether betweenness is the same to 0.1 % of the sum, apart from a factor."""
    vertices, theirs = answer
    mine = ours.betweenness[vertices]
    return float(cp.abs(theirs / theirs.sum() - mine / mine.sum()).sum()) <= SHARE_TOLERANCE


def same_ranks(answer: tuple[Array, Array], ours: Scores) -> bool:
    """Whether the sum of the differences of the scores is within the tolerance."""
    vertices, ranks = answer
    return float(cp.abs(ranks - ours.scores[vertices]).sum()) <= SCORE_TOLERANCE
