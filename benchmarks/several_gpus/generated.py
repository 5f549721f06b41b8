"""Graphs that no disk and no single GPU has to hold: R-MAT that several GPUs generate, lay out, search, rank and prove in shards.

Ranks are threads of this process, each on its own GPU. Each draws all edges as often as they are read (three times to
count, number and divide its arcs, once for each range of rows) and keeps the arcs of its own vertices; nothing but rows of
neighbours is exchanged. For the proof of the layout every rank draws a share of the edges. The graph is that of
`benchmarks.one_gpu.generated`, and so are the answers, by external ids.

Needs GPUs: python -m benchmarks.several_gpus.generated --scale 29
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TextIO

import cupy as cp
import numpy as np

from benchmarks.machine import machine
from benchmarks.one_gpu.drawn import BLOCK, RULES, DrawnEdges
from benchmarks.one_gpu.timing import PoolMemory
from benchmarks.several_gpus.drawn import Share, laid_out
from benchmarks.several_gpus.ranks import KERNELS, sources_of
from kernels.answers import Certificate
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
_GIB = 2**30
_LONG = 2.0  # seconds of a call that is not repeated
_TITLES = (
    "| step | seconds | ms of a call | peak, GiB | proof, s | its peak, GiB | kept, GiB | |\n"
    "|---|---:|---:|---:|---:|---:|---:|---|\n"
)


def main(arguments: list[str] | None = None, to: TextIO = sys.stdout) -> None:
    """Measure, and print a table in Markdown: times of the slowest rank, memory of the GPU that needs most."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.several_gpus.generated", description=summary)
    parser.add_argument("--scale", type=int, default=26, help="the graph has 2^SCALE ids and 16 times as many edges")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", action="store_true", help="weights 1 to 999, in 32 bits")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--searches", type=int, default=8, help="sources of bfs and of sssp, of which the first is proved")
    parser.add_argument("--block", type=int, default=BLOCK // 2, help="edges in memory at a time (default: %(default)s)")
    parser.add_argument("--arcs", choices=("device", "host"), default="device", help="memory of the arcs after the layout")
    parser.add_argument("--ranks", type=int, default=0, help="0: as many as GPUs; more share them")
    options = parser.parse_args(arguments)
    gpus = device_count()
    print(f"{machine()}; {gpus} GPUs\n\n{_TITLES}", end="", file=to, flush=True)
    run_ranks(options.ranks or gpus, on_gpus(gpus, partial(_measure, options, to)))


def _measure(options: argparse.Namespace, to: TextIO, ranks: Communicator) -> None:
    """Draw a rank's shard, measure one step after the other on it; rank 0 prints a row for each. Collective."""
    row = _Rows(ranks, to)
    shard = _laid_out(DrawnEdges(graph500(options.scale, options.seed), options.block, options.weights), ranks, row)
    if options.arcs == "host":
        _free()
        seconds, _, shard = _call(ranks, lambda: to_device(shard, "host"))
        _free()
        row.write("arcs to the host", seconds)
    sources, _ = sources_of(shard, ranks, options.searches)
    for stage in options.stages:
        _measure_stage(stage, replace(shard), sources, ranks, row)  # whose plan is not kept for the next stage


def _laid_out(edges: DrawnEdges, ranks: Communicator, row: "_Rows") -> Shard:
    """Draw a rank's shard and prove it. Collective."""
    seconds, _, _ = _call(ranks, lambda: [None for _ in edges.blocks()])
    row.write("edges drawn once", seconds, note=f"{edges.count:,} edges")
    seconds, peak, (shard, claim) = _call(ranks, lambda: laid_out(edges, ranks))
    proof = _proved(ranks, lambda: certify_layout(Share(edges, ranks.rank, ranks.size), RULES, claim, shard, ranks))
    own, ghosts, arcs = ranks.most(np.array([len(shard.ids), shard.num_ghosts, int(shard.out.offsets[-1])], OFFSET)).tolist()
    counts = (
        f"{claim.vertices:,} vertices, {claim.arcs:,} arcs; a rank has at most {own:,} rows, {ghosts:,} ghosts, {arcs:,} arcs"
    )
    row.write("drawn and laid out", seconds, None, peak, proof, counts)
    made: Shard = shard
    return made


def _measure_stage(stage: str, shard: Shard, sources: list[int], ranks: Communicator, row: "_Rows") -> None:
    """Solve a stage and prove it, then time it; PageRank's time is that of an iteration. Collective."""
    kernel = KERNELS[stage]
    calls: list[tuple[int, ...]] = [(source,) for source in sources] if kernel.takes_source else [()] * _REPEATS
    _free()
    seconds, peak, part = _call(ranks, partial(kernel.solve, shard, ranks, *calls[0]))
    supersteps, (_, found) = part.supersteps, kernel.count(shard, ranks, part)
    proof = _proved(ranks, partial(kernel.certify, shard, ranks, part.answer))
    del part
    times = [seconds] if seconds > _LONG else []
    times = times or [_call(ranks, partial(kernel.solve, shard, ranks, *call))[0] for call in calls]
    each = 1000 / (supersteps if stage == "pagerank" else 1)
    note = f"{each * min(times):.2f} to {each * max(times):.2f} ms; {supersteps} supersteps; {NUMBERS[stage]} {found:.12g}"
    row.write(stage, seconds, each * float(np.median(times)), peak, proof, note)


class _Rows:
    """The rows of the table, which rank 0 prints."""

    def __init__(self, ranks: Communicator, to: TextIO):
        self._ranks, self._to = ranks, to

    def write(
        self, step: str, seconds: float, call: float | None = None, peak: float | None = None,
        proof: tuple[float, float] = (np.nan, np.nan), note: str = "",
    ) -> None:  # fmt: skip
        """Write a row, whose arguments are the same on all ranks. Collective."""
        kept = self._ranks.max(cp.get_default_memory_pool().used_bytes()) / _GIB
        cells = ["" if cell is None or np.isnan(cell) else f"{cell:.2f}" for cell in (seconds, call, peak, *proof, kept)]
        if self._ranks.rank == 0:
            print(f"| {step} | {' | '.join(cells)} | {note} |", file=self._to, flush=True)


def _call(ranks: Communicator, call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of the slowest rank, the highest peak of a GPU's memory beside what it held before, in GiB, and the result."""
    with PoolMemory() as memory:
        cp.cuda.Device().synchronize()
        ranks.max(0)
        start = time.perf_counter()
        answer = call()
        cp.cuda.Device().synchronize()
        seconds = time.perf_counter() - start
    return ranks.max(seconds), ranks.max(memory.most) / _GIB, answer


def _proved(ranks: Communicator, certify: Callable[[], Certificate]) -> tuple[float, float]:
    """Seconds and peak of a proof."""
    _free()
    seconds, peak, proof = _call(ranks, certify)
    if not proof.holds:
        raise SystemExit(proof.reason)
    return seconds, peak


def _free() -> None:
    cp.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
