"""Time the CUDA kernels: `python -m benchmarks.gpu`, on a machine with CuPy and a GPU, prints the figures of docs/gpu.md.

Nothing is timed before its answer has been compared, array by array, with the CPU kernel's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.gpu_graphs import GRAPHS, to_host
from benchmarks.gpu_timing import SOURCES, milliseconds, peak_bytes, poison, random_sources
from kernels.bfs import bfs
from kernels.forest import minimum_spanning_forest
from kernels.graph import Graph
from kernels.scc import scc
from kernels.sssp import sssp
from kernels.wcc import wcc

POISONED = 1 << 30  # bytes of the pool that hold no zeros when a kernel asks for its arrays


def contests(graph: Graph) -> Iterator[tuple[str, Callable[..., Any], list[tuple[Any, ...]]]]:
    """Name, kernel and arguments of what is timed on a graph."""
    sources = [(graph, source) for source in random_sources(graph)]
    runs = [(graph,)] * SOURCES
    yield "bfs", bfs, sources
    if graph.out.weights is not None:
        yield "sssp", sssp, sources
        yield "forest", minimum_spanning_forest, runs
    yield "wcc", wcc, runs
    if not graph.symmetric:
        yield "scc", scc, runs


def require_equal(kernel: Callable[..., Any], graph: Graph, host: Graph, source: tuple[int, ...]) -> None:
    """Raise AssertionError unless GPU and CPU give the same arrays."""
    poison(POISONED)
    found, expected = kernel(graph, *source), kernel(host, *source)
    for field in fields(expected):
        np.testing.assert_array_equal(cp.asnumpy(getattr(found, field.name)), getattr(expected, field.name), field.name)


def main() -> None:
    """Print a line for each graph and kernel; progress on standard error."""
    device = cp.cuda.runtime.getDeviceProperties(cp.cuda.Device().id)["name"].decode()
    print(f"{device}, CUDA driver {cp.cuda.runtime.driverGetVersion()}, CuPy {cp.__version__}; milliseconds\n")
    print("| graph | kernel | median | least | most | beside the graph, MB |\n|---|---|---|---|---|---|")
    for name, load in GRAPHS.items():
        graph = load()
        host = to_host(graph)
        for algorithm, kernel, calls in contests(graph):
            print(f"{name}: {algorithm}", file=sys.stderr)
            require_equal(kernel, graph, host, calls[0][1:])
            times = milliseconds(kernel, calls)
            beside = peak_bytes(lambda kernel=kernel, call=calls[0]: kernel(*call)) / 1e6
            cells = f"{np.median(times):.3g} | {min(times):.3g} | {max(times):.3g} | {beside:,.0f}"
            print(f"| {name} | {algorithm} | {cells} |")


if __name__ == "__main__":
    main()
