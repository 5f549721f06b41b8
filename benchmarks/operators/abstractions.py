"""Effective bandwidth of each operator, its kernels, the cost of a call, and what is derived from a graph first."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.operators.clock import Times, call_times, kernel_times
from benchmarks.operators.tables import OperatorRow
from kernels.graph import Csr, Graph
from kernels.library.operators import Frontier, Rules, advance, atomic_min, compute, filter, reduce
from kernels.library.operators.gpu.groups import divided, lanes_of
from kernels.library.operators.gpu.tiles.sweeps import tiled_arcs
from kernels.library.operators.plan import _PLANS

_CALLS = 300
_DOCUMENT = {  # shares of the peak of a P100, by table and graph
    6: {"V = 2^24": 0.40}, 7: {"R-MAT 20": 0.57, "R-MAT 24": 0.56}, 8: {"R-MAT 20": 0.44, "R-MAT 24": 1.05},
    9: {"V = 2^20": 0.23, "V = 2^22": 0.49, "V = 2^24": 0.76}, 10: {"V = 2^20": 0.07, "V = 2^24": 0.32},
}  # fmt: skip


def _row(table: int, graph: str, what: str, times: Times, num_bytes: float, ops: float, **more: Any) -> OperatorRow:
    return OperatorRow(table, graph, what, times, num_bytes, ops, _DOCUMENT[table].get(graph), **more)


def without_arcs(size: int) -> Graph:
    """A graph for operators that read no arcs."""
    empty = Csr(cp.zeros(size + 1, np.int64), cp.empty(0, np.int32), None)
    return Graph(cp.arange(size), cp.arange(size, dtype=np.int32), empty, empty, directed=True)


def rows_alone() -> Iterator[OperatorRow]:
    """Tables 6, 9 and 10: operators of rows."""
    for scale in (20, 22, 24, 26):
        yield from _of_rows(1 << scale, f"V = 2^{scale}")


def _of_rows(size: int, name: str) -> Iterator[OperatorRow]:
    frontier = Frontier.everything(without_arcs(size))
    a, b, k, x = cp.zeros(size), cp.ones(size), cp.arange(size, dtype=np.int32), cp.ones(size, np.float32)
    halves, parts = k % 2, k % 128

    def fill(row):
        k[row] = 2 * row

    def scale(row):
        a[row] = 2 * b[row]

    def double(row):
        return b[row]

    def single(row):
        return x[row]

    def integer(row):
        return k[row]

    def even(row):
        return halves[row] == 0

    def few(row):
        return parts[row] == 0

    bits = size / 8
    yield _row(6, name, "half of the rows, flags", kernel_times(lambda: filter(frontier, even)), 4 * size + bits, size)
    listed = kernel_times(lambda: filter(frontier, few))
    yield _row(6, name, "1/128 of the rows, a list", listed, 4 * size + 2 * bits + size / 32, size)
    yield _row(9, name, "write int32", kernel_times(lambda: compute(frontier, fill)), 4 * size, size)
    yield _row(9, name, "scale float64", kernel_times(lambda: compute(frontier, scale)), 16 * size, size)
    yield _row(10, name, "sum float64", kernel_times(lambda: reduce(frontier, double)), 8 * size, size)
    yield _row(10, name, "sum float32", kernel_times(lambda: reduce(frontier, single)), 4 * size, size)
    yield _row(10, name, "max int32", kernel_times(lambda: reduce(frontier, integer, "max")), 4 * size, size)


def of_graph(graph: Graph, name: str) -> Iterator[OperatorRow]:
    """Tables 7, 8 and 14: `advance`."""
    size, arcs, offsets = graph.num_vertices, graph.num_arcs, graph.out.offsets
    x, out, near = cp.ones(size, np.float32), cp.zeros(size, np.float32), cp.full(size, 1 << 30, np.int32)
    k, sums = cp.arange(size, dtype=np.int32), cp.zeros(size, np.int32)

    def give(neighbour):
        return x[neighbour]

    def keep(row, total):
        out[row] = total

    def give_integer(neighbour):
        return k[neighbour]

    def keep_integer(row, total):
        sums[row] = total

    def relax(neighbour, weight):
        atomic_min(near, neighbour, weight)

    def third(row):
        return row % 3 == 0

    def pull(frontier: Frontier) -> Any:
        return lambda: advance(frontier, give, after=keep, collect="sum")

    def push(frontier: Frontier) -> Any:
        return lambda: advance(frontier, relax)

    def combined(how: str) -> Callable[[Frontier], Any]:
        return lambda frontier: lambda: advance(frontier, give_integer, after=keep_integer, collect=how)

    everything, start = Frontier.everything(graph, Rules(tiled_after=None)), time.perf_counter()
    divided(graph, graph.out, (True, 0, 1)), lanes_of(graph, graph.out, (True, 0, 1))
    cp.cuda.Device().synchronize()
    prepared = 1000 * (time.perf_counter() - start)
    gather = _bare_gather(graph, x, out)
    chosen = filter(everything, third)
    of_third = int(cp.diff(offsets)[::3].sum())
    for table, frontier, its_arcs, its_rows in ((7, everything, arcs, size), (8, chosen, of_third, size / 3)):
        beside = {"beside": gather, "beside_name": "every head's value read, without rows:"} if table == 7 else {}
        summed = kernel_times(pull(frontier))
        yield _row(table, name, "sum of float32", summed, 8 * its_arcs + 12 * its_rows, its_arcs, **beside)
        pulled = 8 * its_arcs + 12 * its_rows
        for what, make, num_bytes in (
            ("sum of int32", combined("sum"), pulled), ("max of int32", combined("max"), pulled),
            ("atomic_min of int32", push, 12 * its_arcs + 8 * its_rows),
        ):  # fmt: skip
            first, tiled = (kernel_times(make(frontier.under(tiled_after=after))) for after in (None, 0))
            yield _row(table, name, what, tiled, num_bytes, its_arcs, beside=first.median, beside_name="in the first sweeps:")
    listed = Frontier.of_rows(graph, cp.arange(size - 1), Rules(sparse_rows=1.0))
    with_lanes, with_list = (kernel_times(pull(each)).median for each in (everything, listed))
    gain = with_list - with_lanes
    even = f"pays after {prepared / gain:,.0f} sweeps" if gain > 0 else "a list is as fast"
    yield OperatorRow(
        14, name, "groups of degrees, vector extension", Times.of([prepared]),
        beside=gain, beside_name="gained a sweep:", note=even,
    )  # fmt: skip
    yield _order_of_tiles(graph, name, push(everything), push(everything.under(tiled_after=0)))


def _order_of_tiles(graph: Graph, name: str, before: Callable[[], Any], tiled: Callable[[], Any]) -> OperatorRow:
    """What the order of tiles costs, with weights, and what it gains."""
    cp.get_default_memory_pool().free_all_blocks()
    cp.cuda.Device().synchronize()
    start = time.perf_counter()
    made = tiled_arcs(graph.out, graph.num_vertices, 15, True)
    cp.cuda.Device().synchronize()
    prepared = 1000 * (time.perf_counter() - start)
    num_bytes = sum(each.nbytes for each in (made.arcs, made.weights, made.tasks, made.jobs, made.rows) if each is not None)
    of_arc = f"{num_bytes / graph.num_arcs:.1f} bytes an arc, {graph.num_arcs / len(made.rows):.1f} arcs of a row in a tile"
    gain = kernel_times(before).median - kernel_times(tiled).median
    note = f"{of_arc}; pays after {prepared / gain:,.0f} sweeps" if gain > 0 else of_arc
    return OperatorRow(
        14, name, "order of tiles, with weights", Times.of([prepared]),
        beside=gain, beside_name="gained by atomic_min a sweep:", note=note,
    )  # fmt: skip


def kernels() -> Iterator[OperatorRow]:
    """Table 11: the kernels that have been compiled so far, by the files of their functions."""
    processors = cp.cuda.Device().attributes["MultiProcessorCount"]
    for plan in {id(plan): plan for plan in _PLANS.values()}.values():
        tiled = getattr(plan.program, "tiled", None)
        programs = [getattr(plan.program, "kernels", plan.program), *([tiled.kernels] if tiled else [])]
        functions = [each for each in plan.functions if each]
        for (kernel, form, *_), (found, blocks, _) in (each for program in programs for each in program._kernels.items()):
            label = f"{kernel}, {('all', 'flags', 'list')[form]}: {', '.join(each.name for each in functions)}"
            kept = f"{found.num_regs} registers, {found.local_size_bytes} bytes spilled"
            note = f"{kept}, {blocks // processors} blocks of a multiprocessor"
            yield OperatorRow(11, Path(functions[0].file).name, label, None, note=note)


def calls() -> Iterator[OperatorRow]:
    """Table 15: the first call of new functions, and later ones on a graph of 1,500 rows."""
    graph = without_arcs(1500)
    marks, frontier, thin = cp.zeros(1500), Frontier.everything(graph), Frontier.of_rows(graph, [3, 5], Rules(1.0))

    def touch(row):
        marks[row] = 1

    def value(row):
        return marks[row]

    def has(row):
        return marks[row] > 0

    def arc(neighbour):
        return marks[neighbour]

    def enters(neighbour):
        return marks[neighbour] > 0

    measured: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("compute", lambda: compute(frontier, touch)), ("reduce", lambda: reduce(frontier, value)),
        ("filter", lambda: filter(frontier, has)), ("advance", lambda: advance(frontier, arc)),
        ("advance, a list to a frontier", lambda: advance(thin, enters)),
        ("advance, all to a frontier", lambda: advance(frontier, enters)),
    )  # fmt: skip
    for what, call in measured:
        start = time.perf_counter()
        call()
        cp.cuda.Device().synchronize()
        first = time.perf_counter() - start
        yield OperatorRow(15, "1,500 rows", what, call_times(call, at_once=_CALLS), note=f"first call {first:.2f} s")


_GATHER = r"""
extern "C" __global__ void __launch_bounds__(256) gather(const int4* heads, long long quads, const float* values, float* out) {
    float sum = 0;
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += threads) {
        const int4 four = __ldcs(heads + i);
        sum += values[four.x] + values[four.y] + values[four.z] + values[four.w];
    }
    if (sum == -1.0f) out[0] = sum;
}
"""


def _bare_gather(graph: Graph, values: Any, out: Any) -> float:
    """Milliseconds of reading every head and its value, in any order: what no sweep of this storage can be faster than."""
    gather, blocks = cp.RawKernel(_GATHER, "gather"), 8 * cp.cuda.Device().attributes["MultiProcessorCount"]
    arguments = graph.out.indices, np.int64(graph.num_arcs // 4), values, out
    return call_times(lambda: gather((blocks,), (256,), arguments), at_once=5).median
