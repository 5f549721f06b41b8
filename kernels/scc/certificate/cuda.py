"""The certificate of strong components on CuPy arrays: a launch a direction (strong.cu), and the passes over a rank's arcs."""

from __future__ import annotations

from typing import NamedTuple

import cupy
import numpy as np

from kernels.answers import Components
from kernels.certificate.launches import launch, require_labels_form, require_row_labels, work_of
from kernels.certificate.rules import Broken
from kernels.gpu.loader import pointer, to_host
from kernels.graph import Array, Csr, Graph
from kernels.scc.certificate import reasons
from kernels.scc.certificate.class_search import ClassSearch
from kernels.scc.certificate.constants import CHUNK

_SHARDED = "scc/certificate/sharded.cu"
_SEARCH_CONTROL = 4  # 64-bit words of Control in sharded.cu


class _Noted(NamedTuple):
    """The words of Control in strong.cu: first rows, counted back from the number of rows; 0 if there is none."""

    barrier: int
    labels_outside: int
    labels_astray: int
    labels_greater: int
    unreached: int
    uncovered: int
    queued: int
    queued_next: int
    queued_after: int


def check(graph: Graph, components: Components) -> None:
    """Raise Broken at the first rule of strong components that is broken."""
    labels = require_labels_form(graph, components.labels)
    forward = _search_classes(graph, graph.out, graph.into, labels)
    # launched before the forward search is read back
    backward = None if graph.symmetric else _search_classes(graph, graph.into, graph.out, labels, forward)
    noted = _read(forward)
    require_row_labels(graph, labels, noted.labels_outside, noted.labels_astray, noted.labels_greater)
    _require_covered(graph, labels, noted, forward=True)
    if backward is not None and _read(backward).unreached:
        # A search that does not wait also misses rows of classes that a waiting one never searches: the first row may differ.
        _require_covered(graph, labels, _read(_search_classes(graph, graph.into, graph.out, labels)), forward=False)


def _search_classes(graph: Graph, csr: Csr, reverse: Csr, labels: Array, before: Array | None = None) -> Array:
    """Launch the search along `csr` and return its control words.

    It waits for arcs between classes, unless `before` are the control words of the search in the other direction.
    """
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    reached, large = (cupy.empty(-(-num_rows // 32), np.uint32) for _ in range(2))
    waiting = cupy.empty(num_rows, np.uint64)
    queue = cupy.empty(2 * (num_rows + graph.num_arcs // CHUNK), np.int64)
    control: Array = cupy.zeros(len(_Noted._fields), np.uint64)
    sides = (csr.offsets, csr.indices, reverse.offsets, reverse.indices)
    state = (labels, reached, large, waiting, queue, pointer(before), control)
    arguments = (*sides, np.bool_(before is None), graph.positions, np.int64(num_rows), *state)
    launch("scc/certificate/strong.cu", "peel", num_rows + graph.num_arcs, arguments, ROW=row)
    return control


def _read(control: Array) -> _Noted:
    return _Noted(*to_host(control).tolist())


def _require_covered(graph: Graph, labels: Array, noted: _Noted, *, forward: bool) -> None:
    if noted.uncovered:
        raise Broken(reasons.uncovered(graph, labels, graph.num_vertices - noted.uncovered, forward))
    if noted.unreached:
        raise Broken(reasons.cyclic(graph, labels, graph.num_vertices - noted.unreached))


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
