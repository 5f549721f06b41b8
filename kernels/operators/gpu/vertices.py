"""`compute`, `filter` and `reduce` on a GPU."""

from typing import Any

import cupy
import numpy as np

from kernels.graph import Array, Graph
from kernels.operators.constants import CHUNK, DENSE, READ_BATCH, REDUCE_THREADS, ROW_BATCH, SPARSE, THREADS
from kernels.operators.cpu.orders import identity, ordered
from kernels.operators.frontier import Frontier, made
from kernels.operators.functions.tree import Function
from kernels.operators.gpu.bits import rows_of, words_of
from kernels.operators.gpu.compiled import C_TYPES, NUMBERS, Program, failures, passed
from kernels.operators.plan import Plan

_DEFINED = {"compute": {"COMPUTES": 1}, "filter": {"FILTERS": 1}, "reduce": {}}


def program(kind: str, function: Function, how: str) -> Program:
    """The kernels of an operator."""
    total = C_TYPES[_type(function) if kind == "reduce" else function.result]
    degree = int("degree" in function.parameters)
    batch = ROW_BATCH if kind == "compute" else READ_BATCH
    defined = {**_DEFINED[kind], "BATCH": batch, "TOTAL": total, "HOW": NUMBERS.get(how, 0), "NEEDS_DEGREE": degree}
    if kind == "reduce":
        defined["FREE"] = int(not ordered(how, _type(function)))
    return Program("vertices.cuh", {"vertex": function}, defined, REDUCE_THREADS if kind == "reduce" else THREADS)


def items_of(frontier: Frontier) -> tuple[Array, Array, Any]:
    """How kernels see a frontier: its list, its bits, and its number of items; what a form does not have is another array."""
    graph = frontier.graph
    other = graph.rows_by_id
    listed = other if frontier.listed is None else frontier.listed
    bits = other if frontier.flags_form is None else frontier.flags_form
    return listed, bits, np.int64(frontier.size if frontier.form == SPARSE else graph.num_vertices)


def run_compute(frontier: Frontier, plan: Plan, captured: tuple[Any, ...], how: str) -> None:
    """Call the function for every row."""
    items = items_of(frontier)
    _launch(frontier.graph, plan, "compute", frontier.form, items, passed([captured]))


def run_filter(frontier: Frontier, plan: Plan, captured: tuple[Any, ...], how: str) -> Frontier:
    """The rows for which the function holds."""
    graph, items = frontier.graph, items_of(frontier)
    sparse = frontier.form == SPARSE
    search = Search(frontier, listed=sparse)
    more = [search.bits, search.size, search.queue, search.capacity, *passed([captured])]
    _launch(graph, plan, "filter_list" if sparse else "filter_words", frontier.form, items, more)
    return search.found()


def run_reduce(frontier: Frontier, plan: Plan, captured: tuple[Any, ...], how: str) -> Any:
    """Combine the function's values."""
    (function,) = plan.functions
    assert function is not None
    of_type = _type(function)
    start, form, items = identity(how, of_type), frontier.form, items_of(frontier)
    if form == SPARSE or (form == DENSE and ordered(how, of_type)):
        rows = frontier.rows()
        form, items = SPARSE, (rows, items[1], np.int64(len(rows)))
    levels = [-(-int(items[2]) // CHUNK)]
    while levels[-1] > 1:
        levels.append(-(-levels[-1] // CHUNK))
    if not levels[0]:
        failures().wait()
        return start
    kept = failures()
    more = [start, kept.parts_of(start.nbytes // 4 * (sum(levels) + 1)), kept.on_host_result, *passed([captured])]
    _launch(frontier.graph, plan, "reduce", form, items, more)
    kept.wait()
    return kept.result.view(start.dtype)[0]


class Search:
    """What an operator finds: bits, and behind them in memory a list of as many rows as a sparse frontier may have.

    `listed`: rows are listed as they are found; otherwise whole words of bits are written, and lists may have gaps.
    """

    def __init__(self, frontier: Frontier, listed: bool = True) -> None:
        graph, self.frontier, self.listed = frontier.graph, frontier, listed
        row, words, most = graph.rows_by_id.dtype, words_of(graph), frontier.rules.most_rows(graph)
        self._begin = -(-4 * words // row.itemsize)  # of the list, in rows
        self._memory = cupy.empty(self._begin + max(1, most), row)
        if listed:
            self._memory.data.memset_async(0, 4 * words)
        place = self._memory.data.ptr
        self.bits, self.queue, self.capacity = np.uintp(place), np.uintp(place + self._begin * row.itemsize), np.int64(most)
        self.size = failures().zeroed()

    def words(self) -> Array:
        """The bits, uint32 [ceil(V / 32)]."""
        words: Array = self._memory[: self._begin].view(np.uint32)[: words_of(self.frontier.graph)]
        return words

    def found(self) -> Frontier:
        """The frontier; waits for the GPU."""
        (size, listed), graph, rules = failures().check().tolist(), self.frontier.graph, self.frontier.rules
        if size <= int(self.capacity):
            complete = self.listed or listed == size
            rows = self._memory[self._begin : self._begin + size] if complete else rows_of(graph, self.words(), size)
            return made(graph, rules, rows, size)
        return Frontier(graph, rules, size, flags=self.words())


def of_bits(frontier: Frontier, bits: Array, size: int) -> Frontier:
    """A frontier of the rows whose bits are set, like another one."""
    graph, rules = frontier.graph, frontier.rules
    dense = Frontier(graph, rules, size, flags=bits)
    if size > rules.most_rows(graph) or size == graph.num_vertices:
        return dense
    return made(graph, rules, rows_of(graph, bits, size), size)


def _launch(graph: Graph, plan: Plan, name: str, form: int, items: tuple[Array, Array, Any], more: list[Any]) -> None:
    kernel = plan.program.kernel(name, form, graph)
    of_warp = CHUNK if name == "reduce" else 32 * plan.program.defined["BATCH"]
    threads = -(-int(items[2]) // of_warp) * 32
    plan.program.run(kernel, threads, *items, graph.out.offsets, *failures().next(plan.functions), *more)


def _type(function: Function) -> str:
    return "i" if function.result == "b" else function.result
