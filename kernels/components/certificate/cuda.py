"""The certificates of components on CuPy arrays: a launch (weak.cu), or one a direction (strong.cu), and what they noted."""

from __future__ import annotations

from typing import NamedTuple

import cupy
import numpy as np

from kernels.answers import Components
from kernels.certificate.launches import launch, require_labels_form, require_row_labels
from kernels.certificate.rules import Broken, arc_ends
from kernels.components.certificate import reasons
from kernels.gpu.loader import pointer
from kernels.graph import Array, Csr, Graph

_CHUNK = 256  # arcs, as in search.cuh


class _Weak(NamedTuple):
    """The words of Control in weak.cu: first places, counted back from the number of rows or arcs; 0 where none."""

    barrier: int
    labels_outside: int
    labels_astray: int
    labels_greater: int
    across: int
    apart: int
    first_across: int


class _Strong(NamedTuple):
    """The words of Control in strong.cu."""

    barrier: int
    labels_outside: int
    labels_astray: int
    labels_greater: int
    unreached: int
    uncovered: int
    queued: int
    queued_next: int
    queued_after: int


def check_weak(graph: Graph, components: Components) -> None:
    """Raise Broken at the first rule of weak components that is broken."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    labels = require_labels_form(graph, components.labels)
    parent, control = cupy.empty(num_rows, row), cupy.zeros(len(_Weak._fields), np.uint64)
    sides = (graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices)
    arguments = (*sides, np.bool_(graph.symmetric), graph.positions, np.int64(num_rows), labels, parent, control)
    launch("components/certificate/weak.cu", "check_weak", num_rows + graph.num_arcs, arguments, ROW=row)
    noted = _Weak(*control.get().tolist())
    require_row_labels(graph, labels, noted.labels_outside, noted.labels_astray, noted.labels_greater)
    if noted.across:
        raise Broken(reasons.two_labels(graph, labels, arc_ends(graph, _first_across(graph, labels, control))))
    if noted.apart:
        raise Broken(reasons.apart(graph, labels, num_rows - noted.apart))


def _first_across(graph: Graph, labels: Array, control: Array) -> int:
    sizes = np.int64(graph.num_vertices), np.int64(graph.num_arcs)
    arguments = (graph.out.offsets, graph.out.indices, *sizes, labels, control)
    launch("components/certificate/weak.cu", "find_across", graph.num_arcs, arguments, ROW=graph.rows_by_id.dtype)
    return graph.num_arcs - _Weak(*control.get().tolist()).first_across


def check_strong(graph: Graph, components: Components) -> None:
    """Raise Broken at the first rule of strong components that is broken."""
    labels = require_labels_form(graph, components.labels)
    forward = _peel(graph, graph.out, graph.into, labels)
    # launched before the other is read back
    backward = None if graph.symmetric else _peel(graph, graph.into, graph.out, labels, forward)
    noted = _Strong(*forward.get().tolist())
    require_row_labels(graph, labels, noted.labels_outside, noted.labels_astray, noted.labels_greater)
    _require_peeled(graph, labels, noted, forward=True)
    if backward is not None and _Strong(*backward.get().tolist()).unreached:
        # Where nothing waits, rows are missed in classes that are not searched otherwise: the first row may be another.
        waited = _peel(graph, graph.into, graph.out, labels)
        _require_peeled(graph, labels, _Strong(*waited.get().tolist()), forward=False)


def _peel(graph: Graph, csr: Csr, reverse: Csr, labels: Array, before: Array | None = None) -> Array:
    """Launch the search along `csr`, which waits unless `before` is what one the other way noted; what this one notes."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    reached, large = (cupy.empty(-(-num_rows // 32), np.uint32) for _ in range(2))
    waiting = cupy.empty(num_rows, np.uint64)
    queue = cupy.empty(2 * (num_rows + graph.num_arcs // _CHUNK), np.int64)
    control = cupy.zeros(len(_Strong._fields), np.uint64)
    sides = (csr.offsets, csr.indices, reverse.offsets, reverse.indices)
    state = (labels, reached, large, waiting, queue, pointer(before), control)
    arguments = (*sides, np.bool_(before is None), graph.positions, np.int64(num_rows), *state)
    launch("components/certificate/strong.cu", "peel", num_rows + graph.num_arcs, arguments, ROW=row)
    return control


def _require_peeled(graph: Graph, labels: Array, noted: _Strong, *, forward: bool) -> None:
    if noted.uncovered:
        raise Broken(reasons.uncovered(graph, labels, graph.num_vertices - noted.uncovered, forward))
    if noted.unreached:
        raise Broken(reasons.cyclic(graph, labels, graph.num_vertices - noted.unreached))
