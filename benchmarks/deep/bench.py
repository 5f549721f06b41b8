"""Seconds of each algorithm and its proof on deep graphs, on the GPU and on the CPU of the same machine, as a Markdown table.

`python -m benchmarks.deep.bench --size 4000000 --only path`; with `--patient` no kernel gives up.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.deep.families import FAMILIES
from benchmarks.one_gpu.contests import ALGORITHMS, ComparedKernel, equal
from benchmarks.one_gpu.graphs import graph_of_arcs
from kernels.answers import Scores
from kernels.gpu import deep
from kernels.gpu.transfer import on_host
from kernels.graph import Graph

_COMPILED = 3000  # vertices of graphs for which all is compiled first


def graphs(size: int, only: str) -> Iterator[tuple[str, Graph]]:
    """Each family with its ids in order and at random; a path and a cycle also as directed graphs."""
    for make in FAMILIES:
        for order, directed in (("in order", False), ("at random", False), ("at random", True)):
            name = f"{make.__name__}, {'directed, ' * directed}ids {order}"
            if only in name and (not directed or make.__name__ in ("path", "cycle")):
                ends = make(size)
                count = int(ends.max()) + 1
                numbers = np.arange(count) if order == "in order" else np.random.default_rng(1).permutation(count)
                src, dst = cp.asarray(numbers[ends].T.copy())
                yield name, graph_of_arcs(src, dst, None, count, not directed, "degree", weighted=True)


def seconds(call: Callable[[], Any], graph: Graph) -> tuple[float, Any]:
    """Of the second of two calls, because large graphs have compiled functions of their own; and what it returns."""
    for _ in range(2):
        graph.derived.discard(deep.host_copy)  # the copy is part of what is measured
        cp.cuda.Device().synchronize()
        started = time.perf_counter()
        answer = call()
        cp.cuda.Device().synchronize()
    return time.perf_counter() - started, answer


def row(name: str, kernel: ComparedKernel, graph: Graph, host: Graph | None) -> str:
    """A row of the table: milliseconds, and who took over; without the CPU's if there is no copy on the host."""
    (inputs,) = kernel.inputs(graph, 1)
    cells, answers = [], []
    for of in (graph, host) if host else (graph,):
        with deep.counting() as taken:
            solved, answer = seconds(partial(kernel.solver, of, *inputs), of)
            proved, verdict = seconds(partial(kernel.certify, of, answer), of)
        assert verdict.holds, verdict.reason
        cells += [f"{1000 * solved:.1f}", f"{1000 * proved:.1f}", f"{1000 * (solved + proved):.1f}"]
        cells += [str(taken.times)] if of is graph else []
        answers.append(answer)
    if host and not isinstance(answers[0], Scores):
        equal(*answers)
    return " | ".join((f"| {name}", kernel.name, *cells)) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.deep.bench", description=__doc__)
    parser.add_argument("--size", type=int, default=4_000_000)
    parser.add_argument("--only", default="", help="a part of the graph's name")
    parser.add_argument("--patient", action="store_true", help="no kernel gives up, and the CPU is not measured")
    options = parser.parse_args()
    if options.patient:
        deep.LEAST_ROUNDS = deep.NO_LIMIT
    for kernel, (name, graph) in product(ALGORITHMS, graphs(_COMPILED, options.only)):
        row(name, kernel, graph, None if options.patient else on_host(graph))
    print("| graph | algorithm | GPU: answer, ms | proof | both | taken over | CPU: answer, ms | proof | both |")
    for name, graph in graphs(options.size, options.only):
        host = None if options.patient else on_host(graph)
        for kernel in ALGORITHMS:
            print(row(name, kernel, graph, host), flush=True)


if __name__ == "__main__":
    main()
