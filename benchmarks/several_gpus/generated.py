"""Graphs that no disk and no single GPU has to hold: R-MAT that several GPUs generate, lay out, search, rank and prove in shards.

Ranks are threads of this process, each on its own GPU. Each draws all edges as often as they are read (three times to
count, number and divide its arcs, once for each range of rows) and keeps the arcs of its own vertices; nothing but rows of
neighbours is exchanged. For the proof of the layout every rank draws a share of the edges. The graph is that of
`benchmarks.one_gpu.generated`, and so are the answers, by external ids.

Needs GPUs: python -m benchmarks.several_gpus.generated --scale 29
"""

import argparse
import sys
from dataclasses import replace
from functools import partial
from typing import TextIO

import numpy as np

from benchmarks.machine import machine
from benchmarks.one_gpu.drawn import BLOCK, RULES, DrawnEdges
from benchmarks.one_gpu.steps import LONG, MeasuredSteps, free_blocks, parser_of
from benchmarks.several_gpus.drawn import Share, laid_out
from benchmarks.several_gpus.ranks import KERNELS, sources_of
from kernels.distributed import Communicator, Shard
from kernels.distributed.assembly import to_device
from kernels.distributed.gpu_threads import on_gpus
from kernels.distributed.threads import run_ranks
from kernels.generators import graph500
from kernels.gpu.devices import device_count
from kernels.graph import OFFSET
from kernels.layout.certificate import certify_layout

STAGES = "bfs", "wcc", "sssp", "pagerank", "forest"
NUMBERS = {
    "bfs": "sum of distances", "sssp": "sum of distances", "wcc": "components", "pagerank": "sum of squares", "forest": "weight",
}  # fmt: skip
_REPEATS = 3  # of a stage without a source


def main(arguments: list[str] | None = None, to: TextIO = sys.stdout) -> None:
    """Measure, and print a table in Markdown: times of the slowest rank, memory of the GPU that needs most."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = parser_of("benchmarks.several_gpus.generated", summary, STAGES, BLOCK // 2)
    parser.add_argument("--ranks", type=int, default=0, help="0: as many as GPUs; more share them")
    options = parser.parse_args(arguments)
    gpus = device_count()
    MeasuredSteps.begin(f"{machine()}; {gpus} GPUs", to)
    run_ranks(options.ranks or gpus, on_gpus(gpus, partial(_measure, options, to)))


def _measure(options: argparse.Namespace, to: TextIO, ranks: Communicator) -> None:
    """Draw a rank's shard, measure one step after the other on it; rank 0 prints a row for each. Collective."""
    steps = MeasuredSteps(ranks, to)
    shard = _laid_out(DrawnEdges(graph500(options.scale, options.seed), options.block, options.weights), ranks, steps)
    if options.arcs == "host":
        free_blocks()
        seconds, _, shard = steps.call(lambda: to_device(shard, "host"))
        free_blocks()
        steps.write("arcs to the host", seconds)
    sources, _ = sources_of(shard, ranks, options.searches)
    for stage in options.stages:
        _measure_stage(stage, replace(shard), sources, ranks, steps)  # whose plan is not kept for the next stage


def _laid_out(edges: DrawnEdges, ranks: Communicator, steps: MeasuredSteps) -> Shard:
    """Draw a rank's shard and prove it. Collective."""
    seconds, _, _ = steps.call(lambda: [None for _ in edges.blocks()])
    steps.write("edges drawn once", seconds, note=f"{edges.count:,} edges")
    seconds, peak, (shard, claim) = steps.call(lambda: laid_out(edges, ranks))
    proof = steps.proved(lambda: certify_layout(Share(edges, ranks.rank, ranks.size), RULES, claim, shard, ranks))
    own, ghosts, arcs = ranks.most(np.array([len(shard.ids), shard.num_ghosts, int(shard.out.offsets[-1])], OFFSET)).tolist()
    counts = (
        f"{claim.vertices:,} vertices, {claim.arcs:,} arcs; a rank has at most {own:,} rows, {ghosts:,} ghosts, {arcs:,} arcs"
    )
    steps.write("drawn and laid out", seconds, None, peak, proof, counts)
    made: Shard = shard
    return made


def _measure_stage(stage: str, shard: Shard, sources: list[int], ranks: Communicator, steps: MeasuredSteps) -> None:
    """Solve a stage and prove it, then time it; PageRank's time is that of an iteration. Collective."""
    kernel = KERNELS[stage]
    calls: list[tuple[int, ...]] = [(source,) for source in sources] if kernel.takes_source else [()] * _REPEATS
    free_blocks()
    seconds, peak, part = steps.call(partial(kernel.solve, shard, ranks, *calls[0]))
    supersteps, (_, found) = part.supersteps, kernel.count(shard, ranks, part)
    proof = steps.proved(partial(kernel.certify, shard, ranks, part.answer))
    del part
    times = [seconds] if seconds > LONG else []
    times = times or [steps.call(partial(kernel.solve, shard, ranks, *call))[0] for call in calls]
    each = 1000 / (supersteps if stage == "pagerank" else 1)
    note = f"{each * min(times):.2f} to {each * max(times):.2f} ms; {supersteps} supersteps; {NUMBERS[stage]} {found:.12g}"
    steps.write(stage, seconds, each * float(np.median(times)), peak, proof, note)


if __name__ == "__main__":
    main()
