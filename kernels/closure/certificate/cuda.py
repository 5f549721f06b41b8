"""The certificate of a closure on CuPy arrays (closure.cu)."""

import cupy
import numpy as np

from kernels.answers import Closure, Components
from kernels.certificate.launches import require_device_form, require_held
from kernels.certificate.rules import out_of_order
from kernels.closure.certificate import cpu
from kernels.closure.constants import THREADS
from kernels.gpu.loader import launch
from kernels.graph import Graph
from kernels.scc.certificate import check_scc

_SOURCE = "closure/certificate/closure.cu"


def check(graph: Graph, closure: Closure) -> None:
    """As `cpu.check`."""
    require_held(_holds, cpu.check, graph, closure)


def _holds(graph: Graph, closure: Closure) -> bool:
    row, size, length = graph.rows_by_id.dtype, graph.num_vertices, len(closure.vertex)
    vertex, reached = (require_device_form(name, getattr(closure, name), length, row) for name in ("vertex", "reached"))
    if length and not (min(vertex.min(), reached.min()) >= 0 and max(vertex.max(), reached.max()) < size):
        return False
    first, second = graph.positions[vertex], graph.positions[reached]
    if out_of_order(first, second).any():
        return False
    begins = cupy.zeros(size + 1, np.int64)
    cupy.cumsum(cupy.bincount(first, minlength=size), out=begins[1:])
    labels, broken, behind = cupy.empty(size, row), cupy.zeros(1, np.uint32), cupy.zeros(length, np.uint8)
    pairs, rows = (begins, second), np.int64(size)
    launch(_SOURCE, "label", THREADS, size, *pairs, graph.rows_by_id, rows, labels, ROW=row)
    check_scc(graph, Components(labels))
    launch(_SOURCE, "compare", THREADS, 32 * size, *pairs, graph.rows_by_id, graph.positions, labels, rows, broken, ROW=row)
    arcs = graph.out.offsets, graph.out.indices
    launch(_SOURCE, "follow", THREADS, 32 * size, *arcs, *pairs, graph.positions, labels, rows, behind, broken, ROW=row)
    return not (broken[0] or ((behind == 0) & (labels[vertex] == vertex)).any())
