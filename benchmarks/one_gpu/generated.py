"""Graphs that no disk has to hold: R-MAT that a GPU generates, lays out, searches, ranks and proves in its own memory.

Edges are computed from their numbers, block by block, as often as they are read: twice to number and divide the vertices, once
for each range of rows, and once for the proof of the layout. So memory never has all edges, and never more than twice the arcs.
The graph is that of `graphmill generate graph500` with the same scale and seed, undirected, in the same rows.

Needs a GPU: python -m benchmarks.one_gpu.generated --scale 28
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TextIO

import cupy as cp
import numpy as np

from benchmarks.machine import machine
from benchmarks.one_gpu.timing import PoolMemory, milliseconds, random_sources
from kernels.answers import Certificate, Scores
from kernels.arrays import ArcMemory
from kernels.bfs import bfs
from kernels.bfs.certificate import certify_bfs
from kernels.cpu.parallel import differences
from kernels.distributed import SingleRank
from kernels.distributed.gpu.memory import memory_of, with_arcs_in
from kernels.generators import Drawing, ends, graph500
from kernels.gpu.loader import free_bytes
from kernels.graph import ID, Graph
from kernels.layout.building import build_csr
from kernels.layout.certificate import certify_layout
from kernels.layout.certificate.claim import Claim
from kernels.layout.rules import ArcRules, Edges
from kernels.pagerank import pagerank
from kernels.pagerank.certificate import certify_pagerank
from kernels.pagerank.tiles import plan_of
from kernels.wcc import wcc
from kernels.wcc.certificate import certify_wcc

RULES = ArcRules(range(0), both=True, keep_self_loops=False, keep_parallel=False)
_BY_DEGREE = 2**62  # a window of all rows
_BLOCK = 1 << 26  # edges in memory at a time, of 16 bytes
_GIB = 2**30
_LONG = 2.0  # seconds of a call that is not repeated
_TITLES = "| step | seconds | ms of a call | proof, s | peak, GiB | kept, GiB | |\n|---|---:|---:|---:|---:|---:|---|\n"


@dataclass(frozen=True)
class DrawnEdges:
    """The edges of a drawing as `kernels.layout.rules.EdgeSource`, with CuPy's arrays: drawn again whenever they are read."""

    drawing: Drawing
    block: int = _BLOCK  # edges
    weight: None = None
    spill: None = None

    @property
    def count(self) -> int:
        """See `EdgeSource`."""
        return self.drawing.num_edges

    def span(self) -> range:
        """See `EdgeSource`."""
        return range(self.drawing.num_ids)

    def blocks(self) -> Iterator[Edges]:
        """See `EdgeSource`."""
        for begin in range(0, self.count, self.block):
            yield Edges(*ends(self.drawing, begin, min(begin + self.block, self.count), cp), None)

    def none(self) -> Edges:
        """See `EdgeSource`."""
        return Edges(cp.empty(0, ID), cp.empty(0, ID), None)


def main(arguments: list[str] | None = None, to: TextIO = sys.stdout) -> None:
    """Measure, and print a table in Markdown."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_gpu.generated", description=summary)
    parser.add_argument("--scale", type=int, default=26, help="the graph has 2^SCALE ids and 16 times as many edges")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--searches", type=int, default=8, help="breadth-first searches, from random sources")
    parser.add_argument("--block", type=int, default=_BLOCK, help="edges in memory at a time (default: %(default)s)")
    parser.add_argument("--arcs", choices=("device", "host"), default="device", help="memory of the arcs after the layout")
    parser.add_argument("--memory", type=float, help="GiB of the GPU's memory that are left after the layout, the graph included")
    options = parser.parse_args(arguments)
    report = _Report(DrawnEdges(graph500(options.scale, options.seed), options.block), to)
    if options.arcs == "host":
        report.move("host")
    if options.memory:
        report.limit(options.memory)
    report.searches(options.searches)
    report.components()
    report.ranks()


def laid_out(edges: DrawnEdges) -> tuple[Graph, Claim]:
    """The graph in rows by descending degree, and what is to be proved of it."""
    found = build_csr(edges, RULES, _BY_DEGREE, SingleRank())
    out = found.whole("out")
    graph = Graph(found.ids, found.rows_by_id, out, out, found.directed)
    added = edges.count - found.self_loops
    degrees = differences(out.offsets)
    claim = Claim(
        len(found.ids), graph.num_arcs, found.self_loops, added, 2 * added - graph.num_arcs, degrees, degrees,
        _together(found.dropped, edges.none()),
    )  # fmt: skip
    return graph, claim


def _together(parts: list[Edges], none: Edges) -> Edges:
    src, dst = (np.concatenate([getattr(part, name) for part in (none, *parts)]) for name in ("src", "dst"))
    return Edges(src, dst, None)


class _Report:
    """Draws a graph, measures one step after the other on it, and prints a row for each."""

    def __init__(self, edges: DrawnEdges, to: TextIO):
        self._to = to
        print(f"{machine()}\n\n{_TITLES}", end="", file=to, flush=True)
        seconds, _ = self._call(lambda: [None for _ in edges.blocks()])
        self._row("edges drawn once", seconds, note=f"{edges.count:,} edges")
        with PoolMemory() as memory:
            seconds, (self._graph, claim) = self._call(lambda: laid_out(edges))
        proof = self._proved(lambda: certify_layout(edges, RULES, claim, self._graph, SingleRank()))
        counts = f"{claim.vertices:,} vertices, {claim.arcs:,} arcs, {claim.parallel_arcs_dropped:,} parallel ones dropped"
        self._row("drawn and laid out", seconds, None, proof, memory, counts)

    def move(self, memory: ArcMemory) -> None:
        """Move the arcs to the other memory."""
        _free()
        seconds, self._graph = self._call(lambda: with_arcs_in(memory, self._graph))
        _free()
        self._row(f"arcs to the {memory}", seconds, note=f"{self._graph.out.indices.nbytes / 1e9 / seconds:.1f} GB/s")

    def limit(self, gib: float) -> None:
        """Leave so much of the GPU's memory, what the graph has included."""
        _free()
        arrays = self._graph.ids, self._graph.rows_by_id, self._graph.out.offsets, self._graph.out.indices
        size = sum(array.nbytes for array in arrays) / _GIB
        left = int(gib * _GIB) - cp.get_default_memory_pool().used_bytes()
        self._taken = cp.cuda.Memory(max(free_bytes() - left, 0))
        self._row("memory taken", None, note=f"{gib:.1f} GiB are left for a graph of {size:.1f} GiB")

    def searches(self, number: int) -> None:
        """Breadth-first searches, of which the first is proved."""
        graph, sources = self._graph, random_sources(self._graph, number)
        with PoolMemory() as memory:
            seconds, paths = self._call(lambda: bfs(graph, sources[0]))
        proof, reached = self._proved(lambda: certify_bfs(graph, paths)), int(cp.count_nonzero(paths.distance >= 0))
        paths = None
        times = milliseconds(lambda source: bfs(graph, source), [(source,) for source in sources], warm_up=1)
        note = f"{min(times):.2f} to {max(times):.2f} ms from {number} sources; {reached:,} rows reached from the first"
        self._row("bfs", seconds, float(np.median(times)), proof, memory, note)

    def components(self) -> None:
        """Weak components."""
        graph = self._graph
        with PoolMemory() as memory:
            seconds, found = self._call(lambda: wcc(graph))
        proof = self._proved(lambda: certify_wcc(graph, found))
        number = int(cp.count_nonzero(found.labels == cp.arange(graph.num_vertices)))
        found = None
        times = milliseconds(lambda: wcc(graph), repeats=5, warm_up=1)
        self._row("wcc", seconds, float(np.median(times)), proof, memory, f"{number:,} components")

    def ranks(self) -> None:
        """PageRank; if the plan does not fit beside the arcs, these are in the host's memory meanwhile."""
        scores = None
        try:
            scores = self._ranked()
        except MemoryError as error:
            print(f"| pagerank | | | | | | {error} |", file=self._to, flush=True)
        if scores is None:
            self.move("host")
            scores = self._ranked()
            self.move("device")
        proof = self._proved(lambda: certify_pagerank(self._graph, scores))
        self._row("pagerank, proof", None, None, proof)

    def _ranked(self) -> Scores:
        graph = replace(self._graph)  # the plan is not kept with the report's
        _free()
        with PoolMemory() as memory:
            seconds, plan = self._call(lambda: plan_of(graph))
        sizes = f"{plan.num_partials:,} partials, {len(plan.items):,} items, {len(plan.tasks):,} tasks"
        self._row("pagerank, plan", seconds, None, None, memory, sizes)
        with PoolMemory() as memory:
            seconds, scores = self._call(lambda: pagerank(graph))
        times = milliseconds(lambda: pagerank(graph), repeats=3, warm_up=1) if seconds < _LONG else [1000 * seconds]
        iteration = float(np.median(times)) / scores.iterations
        note = f"{scores.iterations} iterations, arcs on the {memory_of(graph.out.indices)}"
        self._row("pagerank, an iteration", seconds, iteration, None, memory, note)
        return scores

    def _proved(self, certify: Callable[[], Certificate]) -> float:
        _free()
        seconds, proof = self._call(certify)
        if not proof.holds:
            raise SystemExit(proof.reason)
        return seconds

    @staticmethod
    def _call(call: Callable[[], Any]) -> tuple[float, Any]:
        start = time.perf_counter()
        answer = call()
        cp.cuda.Device().synchronize()
        return time.perf_counter() - start, answer

    def _row(
        self, step: str, seconds: float | None, call: float | None = None, proof: float | None = None,
        memory: PoolMemory | None = None, note: str = "",
    ) -> None:  # fmt: skip
        cells = [
            "" if seconds is None else f"{seconds:.2f}",
            "" if call is None else f"{call:.2f}",
            "" if proof is None else f"{proof:.2f}",
            "" if memory is None else f"{memory.most / _GIB:.2f}",
            f"{cp.get_default_memory_pool().used_bytes() / _GIB:.2f}",
        ]
        print(f"| {step} | {' | '.join(cells)} | {note} |", file=self._to, flush=True)


def _free() -> None:
    cp.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
