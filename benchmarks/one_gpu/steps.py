"""Steps of the benchmarks of drawn graphs: options, calls and proofs with the peak of a GPU's memory, and a row for each step.

A single rank measures itself; of several ranks, each with its GPU, the slowest and the one that needs most memory count.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import cupy as cp
import numpy as np

from benchmarks.one_gpu.timing import PoolMemory
from kernels.answers import Certificate
from kernels.distributed import Communicator

GIB = 2**30
LONG = 2.0  # seconds of a call that is not repeated
_TITLES = (
    "| step | seconds | ms of a call | peak, GiB | proof, s | its peak, GiB | kept, GiB | |\n"
    "|---|---:|---:|---:|---:|---:|---:|---|\n"
)


def parser_of(program: str, summary: str, stages: Sequence[str], block: int) -> argparse.ArgumentParser:
    """The options of a drawn graph and of its steps; `block` edges are in memory at a time by default."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=summary)
    parser.add_argument("--scale", type=int, default=26, help="the graph has 2^SCALE ids and 16 times as many edges")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", action="store_true", help="weights 1 to 999, in 32 bits")
    parser.add_argument("--stages", nargs="+", choices=stages, default=stages)
    parser.add_argument("--searches", type=int, default=8, help="random sources of bfs and of sssp, of which the first is proved")
    parser.add_argument("--block", type=int, default=block, help="edges in memory at a time (default: %(default)s)")
    parser.add_argument("--arcs", choices=("device", "host"), default="device", help="memory of the arcs after the layout")
    return parser


class MeasuredSteps:
    """Measures steps, and writes the rows of the table, which rank 0 prints. All methods but `begin` are collectives."""

    def __init__(self, ranks: Communicator, to: TextIO):
        self._ranks, self._to = ranks, to

    @staticmethod
    def begin(head: str, to: TextIO) -> None:
        """Print what the table is of, and its titles."""
        print(f"{head}\n\n{_TITLES}", end="", file=to, flush=True)

    def call(self, call: Callable[[], Any]) -> tuple[float, float, Any]:
        """Seconds, the peak of a GPU's memory beside what it held before, in GiB, and what the call returns here."""
        with PoolMemory() as memory:
            cp.cuda.Device().synchronize()
            self._ranks.max(0)  # all begin together
            start = time.perf_counter()
            answer = call()
            cp.cuda.Device().synchronize()
            seconds = time.perf_counter() - start
        return self._ranks.max(seconds), self._ranks.max(memory.most) / GIB, answer

    def proved(self, certify: Callable[[], Certificate]) -> tuple[float, float]:
        """Seconds and peak of a proof. Raises SystemExit with the reason if it does not hold."""
        free_blocks()
        seconds, peak, proof = self.call(certify)
        if not proof.holds:
            raise SystemExit(proof.reason)
        return seconds, peak

    def write(
        self, step: str, seconds: float | None, call: float | None = None, peak: float | None = None,
        proof: tuple[float, float] = (np.nan, np.nan), note: str = "",
    ) -> None:  # fmt: skip
        """Write a row, whose arguments are the same on all ranks; `call` is in milliseconds."""
        kept = self._ranks.max(cp.get_default_memory_pool().used_bytes()) / GIB
        cells = ["" if cell is None or np.isnan(cell) else f"{cell:.2f}" for cell in (seconds, call, peak, *proof, kept)]
        self.print(f"| {step} | {' | '.join(cells)} | {note} |")

    def print(self, line: str) -> None:
        """Print a line on rank 0."""
        if self._ranks.rank == 0:
            print(line, file=self._to, flush=True)


def free_blocks() -> None:
    """Give back the memory of CuPy's pool that no array has."""
    cp.get_default_memory_pool().free_all_blocks()
