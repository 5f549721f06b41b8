"""Graphs that no disk has to hold: R-MAT that a GPU generates, lays out, searches, ranks and proves in its own memory.

Edges are computed from their numbers, block by block, as often as they are read: twice to number and divide the vertices, once
for each range of rows, and once for the proof of the layout. So memory never has all edges, and never more than twice the arcs.
The graph is that of `graphmill generate graph500` with the same scale, seed and weights, undirected, in the same rows.

Needs a GPU: python -m benchmarks.one_gpu.generated --scale 28
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TextIO

import cupy as cp
import numpy as np

from benchmarks.machine import machine
from benchmarks.one_gpu.drawn import BLOCK, RULES, DrawnEdges, laid_out, levels
from benchmarks.one_gpu.steps import GIB, LONG, MeasuredSteps, free_blocks, parser_of
from benchmarks.one_gpu.timing import milliseconds, random_sources
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


def main(arguments: list[str] | None = None, to: TextIO = sys.stdout) -> None:
    """Measure, and print a table in Markdown."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = parser_of("benchmarks.one_gpu.generated", summary, STAGES, BLOCK)
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
        self._steps = MeasuredSteps(SingleRank(), to)
        self._steps.begin(machine(), to)
        seconds, _, _ = self._steps.call(lambda: [None for _ in edges.blocks()])
        self._steps.write("edges drawn once", seconds, note=f"{edges.count:,} edges")
        seconds, peak, (self._graph, claim) = self._steps.call(lambda: laid_out(edges))
        proof = self._steps.proved(lambda: certify_layout(edges, RULES, claim, self._graph, SingleRank()))
        counts = f"{claim.vertices:,} vertices, {claim.arcs:,} arcs, {claim.parallel_arcs_dropped:,} parallel ones dropped"
        self._steps.write("drawn and laid out", seconds, None, peak, proof, counts)

    def move(self, memory: ArcMemory) -> None:
        """Move the arcs to the other memory."""
        free_blocks()
        seconds, _, self._graph = self._steps.call(lambda: with_arcs_in(memory, self._graph))
        free_blocks()
        self._steps.write(f"arcs to the {memory}", seconds, note=f"{_arc_bytes(self._graph) / 1e9 / seconds:.1f} GB/s")

    def limit(self, gib: float) -> None:
        """Leave so much of the GPU's memory, what the graph has included."""
        free_blocks()
        size = _arc_bytes(self._graph) + sum(
            array.nbytes for array in (self._graph.ids, self._graph.rows_by_id, self._graph.out.offsets)
        )
        left = int(gib * GIB) - cp.get_default_memory_pool().used_bytes()
        self._taken = cp.cuda.Memory(max(free_bytes() - left, 0))
        self._steps.write("memory taken", None, note=f"{gib:.1f} GiB are left for a graph of {size / GIB:.1f} GiB")

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
        free_blocks()
        sources = random_sources(graph, number)
        seconds, peak, paths = self._steps.call(lambda: search(graph, sources[0]))
        proof, reached = self._steps.proved(lambda: certify(graph, paths)), int(cp.count_nonzero(paths.distance >= 0))
        paths = None
        times = milliseconds(lambda source: search(graph, source), [(source,) for source in sources], warm_up=1)
        note = f"{min(times):.2f} to {max(times):.2f} ms from {number} sources; {reached:,} rows reached from the first"
        self._steps.write(stage, seconds, float(np.median(times)), peak, proof, note)
        for name, place in (("slowest", np.argmax(times)), ("fastest", np.argmin(times))) if stage == "bfs" else ():
            found = levels(graph, search(graph, sources[int(place)]).distance)
            note = "rows (arcs) of its levels: " + ", ".join(f"{rows:,} ({arcs:,})" for rows, arcs in found)
            self._steps.write(f"{stage}, the {name}", None, times[int(place)], note=note)

    def _whole(
        self, stage: str, solve: Callable[[Graph], Any], certify: Callable[..., Certificate], graph: Graph,
        note: Callable[[Any], str],
    ) -> None:  # fmt: skip
        """A stage without a source."""
        free_blocks()
        seconds, peak, found = self._steps.call(lambda: solve(graph))
        proof, text = self._steps.proved(lambda: certify(graph, found)), note(found)
        found = None
        times = milliseconds(lambda: solve(graph), repeats=5, warm_up=1)
        self._steps.write(stage, seconds, float(np.median(times)), peak, proof, text)

    def _ranks(self) -> None:
        """PageRank; if the plan does not fit beside the arcs, these are in the host's memory meanwhile."""
        scores = None
        try:
            scores = self._ranked()
        except MemoryError as error:
            self._steps.print(f"| pagerank | | | | | | | {error} |")
        if scores is None:
            self.move("host")
            scores = self._ranked()
            self.move("device")
        proof = self._steps.proved(lambda: certify_pagerank(self._graph, scores))
        self._steps.write("pagerank, proof", None, proof=proof)

    def _ranked(self) -> Scores:
        graph = replace(self._graph)  # the plan is not kept with the report's
        free_blocks()
        seconds, peak, plan = self._steps.call(lambda: plan_of(graph))
        sizes = f"{plan.num_partials:,} partials, {len(plan.items):,} items, {len(plan.tasks):,} tasks"
        self._steps.write("pagerank, plan", seconds, None, peak, note=sizes)
        seconds, peak, scores = self._steps.call(lambda: pagerank(graph))
        times = milliseconds(lambda: pagerank(graph), repeats=3, warm_up=1) if seconds < LONG else [1000 * seconds]
        iteration = float(np.median(times)) / scores.iterations
        note = f"{scores.iterations} iterations, arcs on the {memory_of(graph.out.indices)}"
        self._steps.write("pagerank, an iteration", seconds, iteration, peak, note=note)
        ranked: Scores = scores
        return ranked


def _of_forest(forest: Forest) -> str:
    return f"{_roots(forest.labels):,} trees, {len(forest.src):,} edges of weight {int(forest.weights.sum()):,}"


def _roots(labels: Any) -> int:
    return int(cp.count_nonzero(labels == cp.arange(len(labels))))


def _arc_bytes(graph: Graph) -> int:
    return graph.out.indices.nbytes + (0 if graph.out.weights is None else graph.out.weights.nbytes)


if __name__ == "__main__":
    main()
