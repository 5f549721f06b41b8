"""Generated graphs with the numbers of vertices and arcs of the document's Table 2, in place of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

import cupy as cp
import numpy as np

from benchmarks.one_gpu.graphs import GeneratedEdges, rmat_edges
from benchmarks.one_gpu.timing import random_sources
from benchmarks.operators.clock import Times, call_times
from benchmarks.operators.tables import OperatorRow
from examples.paths.bellman_ford_partial import bellman_ford_partial
from examples.paths.direction_optimising import direction_optimising
from examples.paths.top_down import top_down
from kernels.bfs import bfs
from kernels.graph import Graph
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

    def generate(self) -> GeneratedEdges:
        """Directed arcs, weighted, between the first `share` of the vertices.

        Tails are drawn as R-MAT, and so are half of the heads; the other half is uniform, so that nearly all of these vertices
        are joined. Uniform graphs have uniform ends.
        """
        random, joined = cp.random.default_rng(self.vertices), int(self.share * self.vertices)
        if self.uniform:
            src, dst = (random.integers(0, joined, self.edges, dtype=cp.int64) for _ in range(2))
        else:
            src, dst = (each % joined for each in rmat_edges((joined - 1).bit_length(), self.edges, random))
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
)  # fmt: skip  (rmat_26_16 has 2^31 arcs, whose keys and sorting need more than the memory of one GPU)


def all_of_them() -> Iterator[OperatorRow]:
    """Table 2, and searches on these graphs in Table 12."""
    for each in STAND_INS:
        graph, name = each.generate().graph(), f"{each.name}, stand-in"
        yield _statistics(graph, each, name)
        yield from _searches(graph, name)
        del graph
        cp.get_default_memory_pool().free_all_blocks()


def _statistics(graph: Graph, of: DocumentGraph, name: str) -> OperatorRow:
    _, sizes = cp.unique(wcc(graph).labels, return_counts=True)
    largest, degree = int(sizes.max()) / graph.num_vertices, int(cp.diff(graph.out.offsets).max())
    note = (
        f"{graph.num_vertices:,} vertices, {graph.num_arcs:,} distinct arcs of {of.edges:,}; largest degree {degree:,}; "
        f"largest component {largest:.0%} ({of.share:.0%}), {int((sizes > 1).sum()):,} of two vertices or more"
    )
    return OperatorRow(2, name, "uniform" if of.uniform else "power law", None, note=note)


def _searches(graph: Graph, name: str) -> Iterator[OperatorRow]:
    (source,) = random_sources(graph, 1)
    levels, lengths = bfs(graph, source).distance, sssp(graph, source).distance
    far = cp.where(lengths < 0, np.inf, lengths.astype(np.float64))
    hops, paths = (call_times(lambda kernel=kernel: kernel(graph, source)).median for kernel in (bfs, sssp))
    for call, expected, own in (
        (top_down, levels, hops), (direction_optimising, levels, hops), (bellman_ford_partial, far, paths),
    ):  # fmt: skip
        if not bool((call(graph, source) == expected).all()):
            raise AssertionError(f"{name}: {call.__name__} is wrong")
        times: Times = call_times(lambda call=call: call(graph, source))
        note = f"{graph.num_arcs / times.median / 1e6:.3g} GTEPS"
        yield OperatorRow(12, name, call.__name__, times, beside=own, beside_name="our kernel", note=note)
