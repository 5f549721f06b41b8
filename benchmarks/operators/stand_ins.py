"""Generated graphs with the numbers of vertices and arcs of the document's Table 2, in place of its own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cupy as cp
import numpy as np

from benchmarks.one_gpu.graphs import GeneratedEdges
from benchmarks.one_gpu.timing import random_sources
from benchmarks.operators.clock import call_times
from benchmarks.operators.tables import OperatorRow, attempt
from examples.paths.bellman_ford_partial import bellman_ford_partial
from examples.paths.direction_optimising import direction_optimising
from examples.paths.top_down import top_down
from kernels.bfs import bfs
from kernels.generators import ends, graph500
from kernels.graph import Array, Graph
from kernels.sssp import sssp
from kernels.wcc import wcc


@dataclass(frozen=True)
class DocumentGraph:
    """A graph of the document: vertices, edges as stored, and the share of its vertices that its largest component has."""

    name: str
    vertices: int
    edges: int
    share: float
    uniform: bool = False

    @property
    def title(self) -> str:
        """The name of the generated graph."""
        return f"{self.name}, stand-in"

    def generate(self) -> GeneratedEdges:
        """Directed arcs, weighted, between the first `share` of the vertices.

        Tails are drawn as R-MAT, and so are half of the heads; the other half is uniform, so that nearly all of these vertices
        are joined. Uniform graphs have uniform ends.
        """
        random, joined = cp.random.default_rng(self.vertices), int(self.share * self.vertices)
        if self.uniform:
            src, dst = (random.integers(0, joined, self.edges, dtype=cp.int64) for _ in range(2))
        else:
            src, dst = (each % joined for each in ends(graph500((joined - 1).bit_length()), 0, self.edges, cp))
            dst[::2] = random.integers(0, joined, len(dst[::2]), dtype=cp.int64)
        return GeneratedEdges(src, dst, None, range(self.vertices), False, "degree", weighted=True)


STAND_INS = (
    DocumentGraph("rmat_20_16", 1 << 20, 1 << 25, 0.52),
    DocumentGraph("ru_20_16", 1 << 20, 1 << 25, 1, uniform=True),
    DocumentGraph("livejournal", 5_200_000, 49_000_000, 0.63),
    DocumentGraph("orkut", 3_072_441, 117_000_000, 1),
    DocumentGraph("pokec", 1_630_000, 30_000_000, 0.87),
    DocumentGraph("youtube", 3_200_000, 9_300_000, 0.47),
    DocumentGraph("wikipedia_en", 12_200_000, 378_000_000, 0.99),
    DocumentGraph("web_trackers", 27_700_000, 140_000_000, 0.5),
    DocumentGraph("wikipedia_ru", 2_870_000, 82_000_000, 0.99),
    DocumentGraph("ru_24_16", 1 << 24, 1 << 29, 1, uniform=True),
)  # fmt: skip
# While its graph is made, ru_24_16 has 4.3 GB each of tails, heads, keys and out-arcs; then keys are sorted in another 4.3 GB, or
# in-arcs placed in as much and blocks of 3.2 GB: 25 GB, where CuPy has 38 beside cuGraph. rmat_26_16, of 2^31 arcs, takes 4 times
# that.
_TRIED = 16  # rows, one of which is the source


def of_stand_in(of: DocumentGraph) -> Iterator[OperatorRow]:
    """Table 2, and searches on this graph in Table 12."""
    graph = of.generate().graph()
    yield _statistics(graph, of)
    yield from _searches(graph, of.title)


def _statistics(graph: Graph, of: DocumentGraph) -> OperatorRow:
    _, sizes = cp.unique(wcc(graph).labels, return_counts=True)
    largest, degree = int(sizes.max()) / graph.num_vertices, int(cp.diff(graph.out.offsets).max())
    note = (
        f"{graph.num_vertices:,} vertices, {graph.num_arcs:,} distinct arcs of {of.edges:,}; largest degree {degree:,}; "
        f"largest component {largest:.0%} ({of.share:.0%}), {int((sizes > 1).sum()):,} of two vertices or more"
    )
    return OperatorRow(2, of.title, "uniform" if of.uniform else "power law", None, note=note)


def _searches(graph: Graph, name: str) -> Iterator[OperatorRow]:
    """Searches from that of several random rows which reaches the most: others may reach next to nothing."""
    source = max(random_sources(graph, _TRIED), key=lambda row: int((bfs(graph, row).distance >= 0).sum()))
    levels, lengths = bfs(graph, source).distance, sssp(graph, source).distance
    far = cp.where(lengths < 0, np.inf, lengths.astype(np.float64))
    arcs = int(cp.diff(graph.out.offsets)[levels >= 0].sum())
    hops, paths = (call_times(lambda kernel=kernel: kernel(graph, source)).median for kernel in (bfs, sssp))

    def search(call: Callable[[Graph, int], Array], expected: Array, own: float) -> OperatorRow:
        if not bool((call(graph, source) == expected).all()):
            raise AssertionError(f"{name}: {call.__name__} is wrong")
        times = call_times(lambda: call(graph, source))
        note = f"{arcs / graph.num_arcs:.0%} of the arcs reached; {arcs / times.median / 1e6:.3g} GTEPS"
        return OperatorRow(12, name, call.__name__, times, beside=own, beside_name="our kernel", note=note)

    yield attempt(12, name, "top_down", lambda: search(top_down, levels, hops))
    yield attempt(12, name, "direction_optimising", lambda: search(direction_optimising, levels, hops))
    yield attempt(12, name, "bellman_ford_partial", lambda: search(bellman_ford_partial, far, paths))
