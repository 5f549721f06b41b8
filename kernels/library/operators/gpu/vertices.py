"""`compute`, `filter` and `reduce` on a GPU."""

from typing import Any

from kernels.graph import Graph
from kernels.library.operators.constants import CHUNK, DENSE, READ_BATCH, REDUCE_THREADS, ROW_BATCH, SPARSE, THREADS
from kernels.library.operators.cpu.orders import identity, ordered
from kernels.library.operators.frontier import Frontier
from kernels.library.operators.functions.tree import Function
from kernels.library.operators.gpu.compiled import C_TYPES, NUMBERS, Failures, Program, failures, passed
from kernels.library.operators.gpu.search import Search
from kernels.library.operators.plan import Captured, Plan

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


def items_of(frontier: Frontier) -> tuple[Any, Any, int]:
    """How kernels see a frontier: its list and its bits, None for what a form does not have, and its number of items."""
    if frontier.form == SPARSE:
        return frontier.listed, None, frontier.size
    return None, frontier.flags_form, frontier.graph.num_vertices


def run_compute(frontier: Frontier, plan: Plan, values: Captured, how: str) -> None:
    """Call the function for every row."""
    _launch(frontier.graph, plan, "compute", failures(), (frontier.form, *items_of(frontier)), passed(plan, values))


def run_filter(frontier: Frontier, plan: Plan, values: Captured, how: str) -> Frontier:
    """The rows for which the function holds."""
    sparse, failed = frontier.form == SPARSE, failures()
    search, name = Search(frontier, failed, listed=sparse), "filter_list" if sparse else "filter_words"
    bits, queue, capacity, size = search.places
    more = [bits, size, queue, capacity, *passed(plan, values)]
    _launch(frontier.graph, plan, name, failed, (frontier.form, *items_of(frontier)), more)
    return search.new_frontier()


def run_reduce(frontier: Frontier, plan: Plan, values: Captured, how: str) -> Any:
    """Combine the function's values."""
    (function,) = plan.functions
    assert function is not None
    of_type = _type(function)
    start, form, items = identity(how, of_type), frontier.form, items_of(frontier)
    if form == DENSE and ordered(how, of_type):
        rows = frontier.rows()
        form, items = SPARSE, (rows, None, len(rows))
    elif form == SPARSE:
        items = frontier.rows(), None, items[2]  # in their order
    levels = [-(-items[2] // CHUNK)]
    while levels[-1] > 1:
        levels.append(-(-levels[-1] // CHUNK))
    failed = failures()
    if not levels[0]:
        failed.wait()
        return start
    more = [start, failed.parts_of(start.nbytes // 4 * (sum(levels) + 1)), failed.on_host_result, *passed(plan, values)]
    _launch(frontier.graph, plan, "reduce", failed, (form, *items), more)
    failed.wait()
    return failed.result.view(start.dtype)[0]


def _launch(graph: Graph, plan: Plan, name: str, failed: Failures, items: tuple[int, Any, Any, int], more: list[Any]) -> None:
    """Launch a kernel for items: the form of the frontier, and what `items_of` gives."""
    kernels, (form, listed, bits, count) = plan.program, items
    of_warp = CHUNK if name == "reduce" else 32 * kernels.defined["BATCH"]
    around = listed, bits, count, graph.out.offsets, *failed.next(plan.functions)
    kernels.run(kernels.kernel(name, form, graph), -(-count // of_warp) * 32, *around, *more)


def _type(function: Function) -> str:
    return "i" if function.result == "b" else function.result
