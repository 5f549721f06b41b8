"""The certificate of a closure on CuPy arrays (closure.cu)."""

import cupy
import numpy as np

from kernels.answers import Closure, Components
from kernels.certificate.launches import require_device_form, require_held
from kernels.certificate.rules import out_of_order
from kernels.closure.certificate import cpu
from kernels.closure.certificate.ranks import labels_by_sums, together
from kernels.closure.constants import THREADS
from kernels.distributed import Communicator, Owners
from kernels.gpu.loader import launch
from kernels.graph import Array, Graph
from kernels.scc.certificate import check_scc

_SOURCE = "closure/certificate/closure.cu"


def check(graph: Graph, closure: Closure, ranks: Communicator) -> None:
    """As `cpu.check`."""
    require_held(_holds, cpu.check, graph, closure, ranks)


def _holds(graph: Graph, closure: Closure, ranks: Communicator) -> bool:
    row, size, length = graph.rows_by_id.dtype, graph.num_vertices, len(closure.vertex)
    columns = Owners.evenly(size, ranks).own

    def formed() -> tuple[Array, Array]:
        vertex, reached = (require_device_form(name, getattr(closure, name), length, row) for name in ("vertex", "reached"))
        return vertex, reached

    vertex, reached = together(ranks, formed)
    inside = not length or bool(min(vertex.min(), reached.min()) >= 0 and max(vertex.max(), reached.max()) < size)
    if not ranks.all(inside):
        return False
    first, second = graph.positions[vertex], graph.positions[reached]
    others = (second < columns.start) | (second >= columns.stop)
    if ranks.any(out_of_order(first, second).any() or others.any()):
        return False
    begins = cupy.zeros(size + 1, np.int64)
    cupy.cumsum(cupy.bincount(first, minlength=size), out=begins[1:])
    broken, behind = cupy.zeros(1, np.uint32), cupy.zeros(length, np.uint8)
    pairs, rows = (begins, second), np.int64(size)
    if ranks.size > 1:
        labels = labels_by_sums(graph, begins, first, second, ranks)
    else:
        labels = cupy.empty(size, row)
        launch(_SOURCE, "label", THREADS, size, *pairs, graph.rows_by_id, rows, labels, ROW=row)
    check_scc(graph, Components(labels))
    launch(_SOURCE, "compare", THREADS, 32 * size, *pairs, graph.rows_by_id, graph.positions, labels, rows, broken, ROW=row)
    arcs, bounds = (graph.out.offsets, graph.out.indices), (np.int64(columns.start), np.int64(columns.stop))
    launch(_SOURCE, "follow", THREADS, 32 * size, *arcs, *pairs, graph.positions, labels, rows, *bounds, behind, broken, ROW=row)
    return not ranks.any(broken[0] or ((behind == 0) & (labels[vertex] == vertex)).any())
