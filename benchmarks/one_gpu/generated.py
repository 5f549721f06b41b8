"""Graphs that no disk has to hold: R-MAT that a GPU generates, lays out, searches, ranks and proves in its own memory.

Edges are computed from their numbers, block by block, as often as they are read: twice to number and divide the vertices, once
for each range of rows, and once for the proof of the layout. So memory never has all edges, and never more than twice the arcs.
The graph is that of `graphmill generate graph500` with the same scale, seed and weights, undirected, in the same rows.

Needs a GPU: python -m benchmarks.one_gpu.generated --scale 28
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TextIO

import cupy as cp
import numpy as np

from benchmarks.machine import machine
from benchmarks.one_gpu.drawn import BLOCK, RULES, DrawnEdges, laid_out, levels
from benchmarks.one_gpu.timing import PoolMemory, milliseconds, random_sources
from kernels.answers import Certificate, Forest, Paths, Scores
from kernels.arrays import ArcMemory
from kernels.bfs import bfs
from kernels.bfs.certificate import certify_bfs
from kernels.distributed import SingleRank
from kernels.distributed.gpu.memory import memory_of, with_arcs_in
from kernels.forest import minimum_spanning_forest
from kernels.forest.certificate import certify_forest
from kernels.generators import graph500
from kernels.gpu.loader import free_bytes
from kernels.graph import Graph
from kernels.layout.certificate import certify_layout
from kernels.pagerank import pagerank
from kernels.pagerank.certificate import certify_pagerank
from kernels.pagerank.tiles import plan_of
from kernels.sssp import sssp
from kernels.sssp.certificate import certify_sssp
from kernels.wcc import wcc
from kernels.wcc.certificate import certify_wcc

STAGES = "bfs", "sssp", "mst", "wcc", "pagerank"
_GIB = 2**30
_LONG = 2.0  # seconds of a call that is not repeated
_TITLES = (
    "| step | seconds | ms of a call | peak, GiB | proof, s | its peak, GiB | kept, GiB | |\n"
    "|---|---:|---:|---:|---:|---:|---:|---|\n"
)


def main(arguments: list[str] | None = None, to: TextIO = sys.stdout) -> None:
    """Measure, and print a table in Markdown."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_gpu.generated", description=summary)
    parser.add_argument("--scale", type=int, default=26, help="the graph has 2^SCALE ids and 16 times as many edges")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", action="store_true", help="weights 1 to 999, in 32 bits")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--searches", type=int, default=8, help="random sources of bfs and of sssp")
    parser.add_argument("--block", type=int, default=BLOCK, help="edges in memory at a time (default: %(default)s)")
    parser.add_argument("--arcs", choices=("device", "host"), default="device", help="memory of the arcs after the layout")
    parser.add_argument("--memory", type=float, help="GiB of the GPU's memory that are left after the layout, the graph included")
    options = parser.parse_args(arguments)
    report = _Report(DrawnEdges(graph500(options.scale, options.seed), options.block, options.weights), to)
    if options.arcs == "host":
        report.move("host")
    if options.memory:
        report.limit(options.memory)
    for stage in options.stages:
        report.measure(stage, options.searches)


class _Report:
    """Draws a graph, measures one step after the other on it, and prints a row for each."""

    def __init__(self, edges: DrawnEdges, to: TextIO):
        self._to = to
        print(f"{machine()}\n\n{_TITLES}", end="", file=to, flush=True)
        seconds, _, _ = _call(lambda: [None for _ in edges.blocks()])
        self._row("edges drawn once", seconds, note=f"{edges.count:,} edges")
        seconds, peak, (self._graph, claim) = _call(lambda: laid_out(edges))
        proof = _proved(lambda: certify_layout(edges, RULES, claim, self._graph, SingleRank()))
        counts = f"{claim.vertices:,} vertices, {claim.arcs:,} arcs, {claim.parallel_arcs_dropped:,} parallel ones dropped"
        self._row("drawn and laid out", seconds, None, peak, proof, counts)

    def move(self, memory: ArcMemory) -> None:
        """Move the arcs to the other memory."""
        _free()
        seconds, _, self._graph = _call(lambda: with_arcs_in(memory, self._graph))
        _free()
        self._row(f"arcs to the {memory}", seconds, note=f"{_arc_bytes(self._graph) / 1e9 / seconds:.1f} GB/s")

    def limit(self, gib: float) -> None:
        """Leave so much of the GPU's memory, what the graph has included."""
        _free()
        size = _arc_bytes(self._graph) + sum(
            array.nbytes for array in (self._graph.ids, self._graph.rows_by_id, self._graph.out.offsets)
        )
        left = int(gib * _GIB) - cp.get_default_memory_pool().used_bytes()
        self._taken = cp.cuda.Memory(max(free_bytes() - left, 0))
        self._row("memory taken", None, note=f"{gib:.1f} GiB are left for a graph of {size / _GIB:.1f} GiB")

    def measure(self, stage: str, searches: int) -> None:
        """Measure and prove a stage; its plan is not kept for the next one."""
        graph = replace(self._graph)
        if stage == "bfs":
            self._searches(stage, bfs, certify_bfs, graph, searches)
        elif stage == "sssp":
            self._searches(stage, sssp, certify_sssp, graph, searches)
        elif stage == "mst":
            self._whole(stage, minimum_spanning_forest, certify_forest, graph, _of_forest)
        elif stage == "wcc":
            self._whole(stage, wcc, certify_wcc, graph, lambda found: f"{_roots(found.labels):,} components")
        else:
            del graph
            self._ranks()

    def _searches(
        self, stage: str, search: Callable[[Graph, int], Paths], certify: Callable[..., Certificate], graph: Graph, number: int
    ) -> None:
        """Searches from random sources, of which the first is proved; the levels of the slowest and of the fastest one of bfs."""
        _free()
        sources = random_sources(graph, number)
        seconds, peak, paths = _call(lambda: search(graph, sources[0]))
        proof, reached = _proved(lambda: certify(graph, paths)), int(cp.count_nonzero(paths.distance >= 0))
        paths = None
        times = milliseconds(lambda source: search(graph, source), [(source,) for source in sources], warm_up=1)
        note = f"{min(times):.2f} to {max(times):.2f} ms from {number} sources; {reached:,} rows reached from the first"
        self._row(stage, seconds, float(np.median(times)), peak, proof, note)
        for name, place in (("slowest", np.argmax(times)), ("fastest", np.argmin(times))) if stage == "bfs" else ():
            found = levels(graph, search(graph, sources[int(place)]).distance)
            note = "rows (arcs) of its levels: " + ", ".join(f"{rows:,} ({arcs:,})" for rows, arcs in found)
            self._row(f"{stage}, the {name}", None, times[int(place)], note=note)

    def _whole(
        self, stage: str, solve: Callable[[Graph], Any], certify: Callable[..., Certificate], graph: Graph,
        note: Callable[[Any], str],
    ) -> None:  # fmt: skip
        """A stage without a source."""
        _free()
        seconds, peak, found = _call(lambda: solve(graph))
        proof, text = _proved(lambda: certify(graph, found)), note(found)
        found = None
        times = milliseconds(lambda: solve(graph), repeats=5, warm_up=1)
        self._row(stage, seconds, float(np.median(times)), peak, proof, text)

    def _ranks(self) -> None:
        """PageRank; if the plan does not fit beside the arcs, these are in the host's memory meanwhile."""
        scores = None
        try:
            scores = self._ranked()
        except MemoryError as error:
            print(f"| pagerank | | | | | | | {error} |", file=self._to, flush=True)
        if scores is None:
            self.move("host")
            scores = self._ranked()
            self.move("device")
        proof = _proved(lambda: certify_pagerank(self._graph, scores))
        self._row("pagerank, proof", None, proof=proof)

    def _ranked(self) -> Scores:
        graph = replace(self._graph)  # the plan is not kept with the report's
        _free()
        seconds, peak, plan = _call(lambda: plan_of(graph))
        sizes = f"{plan.num_partials:,} partials, {len(plan.items):,} items, {len(plan.tasks):,} tasks"
        self._row("pagerank, plan", seconds, None, peak, note=sizes)
        seconds, peak, scores = _call(lambda: pagerank(graph))
        times = milliseconds(lambda: pagerank(graph), repeats=3, warm_up=1) if seconds < _LONG else [1000 * seconds]
        iteration = float(np.median(times)) / scores.iterations
        note = f"{scores.iterations} iterations, arcs on the {memory_of(graph.out.indices)}"
        self._row("pagerank, an iteration", seconds, iteration, peak, note=note)
        ranked: Scores = scores
        return ranked

    def _row(
        self, step: str, seconds: float | None, call: float | None = None, peak: float | None = None,
        proof: tuple[float, float] = (np.nan, np.nan), note: str = "",
    ) -> None:  # fmt: skip
        kept = cp.get_default_memory_pool().used_bytes() / _GIB
        cells = ["" if cell is None or np.isnan(cell) else f"{cell:.2f}" for cell in (seconds, call, peak, *proof, kept)]
        print(f"| {step} | {' | '.join(cells)} | {note} |", file=self._to, flush=True)


def _call(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, the peak of the GPU's memory beside what was there before, in GiB, and what the call returns."""
    with PoolMemory() as memory:
        start = time.perf_counter()
        answer = call()
        cp.cuda.Device().synchronize()
        return time.perf_counter() - start, memory.most / _GIB, answer


def _proved(certify: Callable[[], Certificate]) -> tuple[float, float]:
    """Seconds and peak of a proof."""
    _free()
    seconds, peak, proof = _call(certify)
    if not proof.holds:
        raise SystemExit(proof.reason)
    return seconds, peak


def _of_forest(forest: Forest) -> str:
    return f"{_roots(forest.labels):,} trees, {len(forest.src):,} edges of weight {int(forest.weights.sum()):,}"


def _roots(labels: Any) -> int:
    return int(cp.count_nonzero(labels == cp.arange(len(labels))))


def _arc_bytes(graph: Graph) -> int:
    return graph.out.indices.nbytes + (0 if graph.out.weights is None else graph.out.weights.nbytes)


def _free() -> None:
    cp.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
