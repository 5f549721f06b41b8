"""The certificate of strong components on CuPy arrays: a launch a direction (strong.cu), and the passes over a rank's arcs.

If every arc is there in both directions, strong components are weak ones, whose certificate needs no search.
"""

import cupy
import numpy as np

from kernels.answers import Components
from kernels.certificate.launches import launch, require_device_form, require_held, work_of
from kernels.gpu.deep import most_rounds, require_shallow
from kernels.gpu.loader import pointer, to_host
from kernels.graph import Array, Csr, Graph
from kernels.scc.certificate import cpu
from kernels.scc.certificate.cpu import ClassSearch
from kernels.scc.constants import CHUNK
from kernels.wcc.certificate import certify_wcc

_SHARDED = "scc/certificate/sharded.cu"
_CONTROL, _SEARCH_CONTROL = 6, 4  # 64-bit words of Control in strong.cu and in sharded.cu
_BROKEN, _DEEP = slice(1, 4), 4  # 32-bit words of Control in strong.cu


def check(graph: Graph, components: Components) -> None:
    """As `cpu.check`."""
    require_held(_holds, cpu.check, graph, components)


def _holds(graph: Graph, components: Components) -> bool:
    if graph.symmetric:
        return certify_wcc(graph, components).holds
    labels = require_device_form("labels", components.labels, graph.num_vertices, graph.rows_by_id.dtype)
    control = _search_classes(graph, graph.out, graph.into, labels, None)
    # launched before the forward search is read back, whose result it continues
    control = _search_classes(graph, graph.into, graph.out, labels, control)
    words = to_host(control.view(np.uint32))
    require_shallow(words[_DEEP])
    return not words[_BROKEN].any()


def _search_classes(graph: Graph, csr: Csr, reverse: Csr, labels: Array, before: Array | None) -> Array:
    """Launch the search along `csr` and return its control words.

    It waits for arcs between classes, unless `before` are the control words of the search in the other direction.
    """
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    reached, large = (cupy.empty(-(-num_rows // 32), np.uint32) for _ in range(2))
    waiting = cupy.empty(num_rows, np.uint64)
    queue = cupy.empty(2 * (num_rows + graph.num_arcs // CHUNK), np.int64)
    control: Array = cupy.zeros(_CONTROL, np.uint64)
    sides = (csr.offsets, csr.indices, reverse.offsets, reverse.indices)
    size = np.int64(num_rows), np.int64(most_rounds(graph.out))
    state = (labels, reached, large, waiting, queue, pointer(before), control)
    arguments = (*sides, np.bool_(before is None), graph.positions, *size, *state)
    launch("scc/certificate/strong.cu", "peel", num_rows + graph.num_arcs, arguments, ROW=row)
    return control


def count_entering(arcs: Csr, classes: Array, num_own: int, entering: Array) -> None:
    """As `cpu.count_entering`."""
    arguments = (arcs.offsets, arcs.indices, np.int64(num_own), classes, entering)
    launch(_SHARDED, "count_entering", work_of(arcs), arguments, ROW=classes.dtype)


def search(arcs: Csr, state: ClassSearch, waits: bool, starts: Array) -> None:
    """As `cpu.search`."""
    num_own = len(state.unread)
    queue = cupy.empty(2 * (num_own + len(arcs.indices) // CHUNK), np.int64)
    control = cupy.zeros(_SEARCH_CONTROL, np.uint64)
    sizes = np.int64(num_own), np.bool_(waits)
    counts = state.unread, state.read, state.unreached, starts, np.int64(len(starts))
    arguments = (arcs.offsets, arcs.indices, state.classes, state.label_rows, *sizes, *counts, queue, control)
    launch(_SHARDED, "peel", work_of(arcs), arguments, ROW=state.classes.dtype)
