"""Prove and time the CUDA kernels, and time cuGraph if it is installed: `python -m benchmarks` on a machine with a GPU.

Nothing is timed before its certificate has passed on the GPU and its answer has been compared with the CPU kernel's.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatch
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.one_gpu import peers as gpu_peers
from benchmarks.one_gpu.contests import KERNELS, ComparedKernel, csr_bytes, graph_bytes, repeats, searches
from benchmarks.one_gpu.double_graph import DoubleGraph, build
from benchmarks.one_gpu.graphs import GeneratedEdges, graphs
from benchmarks.one_gpu.table import KernelRow, merge, read, write
from benchmarks.one_gpu.timing import SOURCES, copy_bandwidth, first_call, milliseconds, milliseconds_within, poison
from benchmarks.schema import failure_of
from kernels.answers import Scores
from kernels.cpu.parallel import cores
from kernels.gpu.transfer import on_host
from kernels.graph import Csr, Graph
from kernels.sssp import sssp

POISONED = 1 << 30  # bytes of the pool that are filled with a pattern before a kernel allocates
PEER_SECONDS = 4.0  # a peer is called again until so many seconds have passed
METHOD_SECONDS, METHOD_CALLS = 1.0, 4  # the same for a method of a source document, with a limit on calls
PROOFS = 5
CPU_RUNS = 3
CPU_SECONDS = 2.0  # a longer run on the CPU is timed once
Interface = Callable[[Graph, np.dtype[Any]], Any]  # a peer's, from a graph and the type of its weights


def run(out: Path, folder: Path | None, only: list[str], seconds: float, clone: Path | None = None) -> bool:
    """Measure the graphs and kernels that `only` names (empty: all) until `seconds` have passed; return whether none failed.

    `clone` is one of doubleGraph, which is compiled as a further peer. The table is written after each row, to `gpu.parquet` and
    `gpu.md` in `out`; existing rows are kept or replaced.
    """
    deadline = time.monotonic() + seconds
    path, new = out / "gpu.parquet", list[KernelRow]()
    old = read(path)
    where = machine()
    interfaces = [gpu_peers.Pylibcugraph, gpu_peers.CuGraph] if where["cugraph_version"] else []
    if clone:
        interfaces.append(partial(DoubleGraph, build(clone, out / "doublegraph")))
    for name, load in graphs(folder).items():
        wanted = [kernel for kernel in KERNELS if _chosen(only, name, kernel.name)]
        if not wanted:
            continue
        if time.monotonic() > deadline:
            print(f"{name}: skipped, the time limit is reached", file=sys.stderr)
            continue
        for row in measure(name, load(), wanted, where, deadline, interfaces):
            new.append(row)
            write(path, merge(old, new))
            print(f"{row.graph}: {row.kernel} {row.method} {row.failure or row.median}", file=sys.stderr, flush=True)
        cp.get_default_memory_pool().free_all_blocks()
    return not any(row.failure for row in new)


def machine() -> dict[str, Any]:
    """Columns of every row that describe the machine; also initialises cuGraph's memory pool."""
    runtime = cp.cuda.runtime
    return {
        "gpu": runtime.getDeviceProperties(cp.cuda.Device().id)["name"].decode(),
        "driver": driver(),
        "cuda": "{}.{}".format(*cp.cuda.nvrtc.getVersion()),
        "cupy": cp.__version__,
        "copy_bandwidth": copy_bandwidth(),
        "cugraph_version": gpu_peers.start(),
        "cpu_cores": cores(),
    }


def driver() -> str:
    """Version of the NVIDIA driver."""
    version = Path("/sys/module/nvidia/version")
    return version.read_text(encoding="ascii").strip() if version.exists() else str(cp.cuda.runtime.driverGetVersion())


def measure(
    name: str,
    edges: GeneratedEdges,
    kernels: list[ComparedKernel],
    where: dict[str, Any],
    deadline: float,
    interfaces: list[Interface],
) -> Iterator[KernelRow]:
    """Measure one graph and yield its rows."""
    graph = edges.graph()
    host: Graph = on_host(graph)
    shape = KernelRow(name, "", "", graph.num_vertices, graph.num_arcs, graph_bytes(graph), **where)
    libraries = Libraries(graph, interfaces) if interfaces else None
    for kernel in kernels:
        if not kernel.runs_on(graph):
            continue
        calls = kernel.inputs(edges if kernel.reads_edges else graph, SOURCES)
        for method in kernel.methods(graph):
            row = replace(shape, kernel=kernel.name, method=method.get("method", ""))
            if time.monotonic() > deadline:
                print(f"{name}: {kernel.name} {row.method} skipped, the time limit is reached", file=sys.stderr)
                continue
            try:
                yield contest(row, kernel, graph, host, calls[:METHOD_CALLS] if method else calls, libraries)
            except Exception as wrong:  # a wrong answer or lack of memory becomes a row of the table
                yield replace(row, failure=failure_of(wrong))


def contest(
    row: KernelRow,
    kernel: ComparedKernel,
    graph: Graph,
    host: Graph | None,
    calls: list[tuple[Any, ...]],
    libraries: "Libraries | None",
) -> KernelRow:
    """Prove, compare and time a kernel and the row's method; AssertionError if an answer is wrong. The CPU needs `host`."""
    method = {"method": row.method} if row.method else {}
    solve = partial(kernel.solve, graph, **method)
    answer, arcs = prove(kernel, graph, solve, calls)
    row = replace(row, necessary_bytes=kernel.necessary_bytes(graph, calls[0], answer))
    if kernel.reads_edges:
        row = replace(row, graph_bytes=csr_bytes(answer.csr))
    if not method:
        if host is not None and graph.num_arcs <= kernel.cpu_arcs:
            row = replace(row, cpu=compare(kernel, host, calls[0], answer))
        first = first_call(kernel.solve, graph, *calls[0])
        row = replace(row, first=first.milliseconds, peak_bytes=first.peak_bytes, kept_bytes=first.kept_bytes)
    times = milliseconds(solve, calls) if not method else milliseconds_within(METHOD_SECONDS, solve, calls)
    seconds = [time / 1000 / repeats(answer) for time in times]
    row = replace(
        row, median=1000 * float(np.median(seconds)), least=1000 * min(seconds), most=1000 * max(seconds), runs=len(seconds),
        teps=len(seconds) / sum(second / max(1, arc) for second, arc in zip(seconds, arcs, strict=False)),
        copy_share=row.necessary_bytes / float(np.median(seconds)) / row.copy_bandwidth,
    )  # fmt: skip
    proofs = milliseconds(partial(kernel.certify, graph, answer), repeats=min(PROOFS, len(calls)))
    row = replace(row, certificate=float(np.median(proofs)))
    return row if libraries is None or method else replace(row, **libraries.race(kernel, answer, calls))


def prove(kernel: ComparedKernel, graph: Graph, solve: Callable[..., Any], calls: list[tuple[Any, ...]]) -> tuple[Any, list[int]]:
    """Certify the answer to every call except repetitions of the first; return the first answer and the arcs of each call."""
    poison(POISONED)
    first, arcs = None, list[int]()
    for call in calls:
        if first is not None and call is calls[0]:
            arcs.append(arcs[0])
            continue
        answer = solve(*call)
        certificate = kernel.certify(graph, answer)
        assert certificate.holds, certificate.reason
        first = answer if first is None else first
        arcs.append(kernel.arcs(graph, answer))
    return first, arcs


def compare(kernel: ComparedKernel, host: Graph, call: tuple[Any, ...], answer: Any) -> float:
    """Compare an answer with the CPU kernel's; return the CPU kernel's milliseconds without compilation."""
    call = on_host(call)
    _compile(kernel, host, call)
    times: list[float] = []
    while len(times) < CPU_RUNS and sum(times) < CPU_SECONDS:
        start = time.perf_counter()
        expected = kernel.solve(host, *call)
        times.append(time.perf_counter() - start)
    kernel.require_equal(answer, expected)
    return 1000 * float(np.median(times)) / repeats(expected)


def _compile(kernel: ComparedKernel, host: Graph, call: tuple[Any, ...]) -> None:
    """Let Numba compile the kernel for arrays of these types, on two adjacent vertices."""

    def pair(csr: Csr) -> Csr:
        weights = None if csr.weights is None else np.ones(2, csr.weights.dtype)
        return Csr(np.arange(3), np.array([1, 0], csr.indices.dtype), weights)

    out = pair(host.out)
    into = out if host.symmetric else pair(host.into)
    tiny = Graph(np.arange(2), np.arange(2, dtype=host.rows_by_id.dtype), out, into, host.directed)
    kernel.solve(tiny, *(argument[:2] if hasattr(argument, "shape") else _small(argument) for argument in call))


def _small(argument: Any) -> Any:
    """Reduce a source to one of a graph with two vertices; other arguments are unchanged."""
    return min(argument, 1) if type(argument) is int else argument


class Libraries:
    """The peers' interfaces on one graph, each called again until `seconds` have passed; their graphs are built on first use."""

    def __init__(self, graph: Graph, interfaces: list[Interface], seconds: float = PEER_SECONDS) -> None:
        self.graph, self.interfaces, self.seconds = graph, interfaces, seconds

    @cached_property
    def ways(self) -> list[Any]:
        """Each interface on the graph, with weights of a type that can represent our distances."""
        sources = searches(self.graph, 1)
        weight = gpu_peers.exact_weight_type(sssp(self.graph, *sources[0])) if sources else np.dtype(np.float32)
        return [interface(self.graph, weight) for interface in self.interfaces]

    def race(self, kernel: ComparedKernel, answer: Any, calls: list[tuple[Any, ...]]) -> dict[str, Any]:
        """Columns of a row: each peer's median, runs and note."""
        columns: dict[str, Any] = {}
        if kernel.inputs is not searches:
            calls = [self.arguments(kernel, answer)] * len(calls)
        for way in self.ways:
            timed = gpu_peers.race(way, kernel.name, answer, calls, self.seconds)
            median = None if timed.milliseconds is None else timed.milliseconds / repeats(answer)
            columns |= {way.name: median, f"{way.name}_runs": timed.runs, f"{way.name}_note": timed.note}
        return columns

    @staticmethod
    def arguments(kernel: ComparedKernel, answer: Any) -> tuple[Any, ...]:
        """Arguments of a peer: for PageRank the number of iterations, for the layout whether the edges have weights."""
        if kernel.reads_edges:
            return (answer.csr.weights is not None,)
        return (answer.iterations,) if isinstance(answer, Scores) else ()


def _chosen(only: list[str], graph: str, kernel: str) -> bool:
    """Whether one of the patterns `GRAPH` or `GRAPH:KERNEL` matches; without patterns every graph and kernel does."""
    return not only or any(fnmatch(f"{graph}:{kernel}", one if ":" in one else f"{one}:*") for one in only)
