"""The certificate of weak components on CuPy arrays: one launch (weak.cu), and the passes over a rank's arcs (trees.cu)."""

from __future__ import annotations

from typing import NamedTuple

import cupy
import numpy as np

from kernels.answers import Components
from kernels.certificate.launches import first_noted, launch, require_labels_form, require_row_labels, work_of
from kernels.certificate.rules import Broken, arc_ends
from kernels.distributed.shard import Shard
from kernels.gpu.loader import to_host
from kernels.graph import Array, Csr, Graph
from kernels.wcc.certificate import reasons

_TREES = "wcc/certificate/trees.cu"


class _Noted(NamedTuple):
    """The words of Control in weak.cu: first places, counted back from the number of rows or arcs; 0 if there is none."""

    barrier: int
    labels_outside: int
    labels_astray: int
    labels_greater: int
    across: int
    apart: int


def check(graph: Graph, components: Components) -> None:
    """Raise Broken at the first rule of weak components that is broken."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    labels = require_labels_form(graph, components.labels)
    parent, control = cupy.empty(num_rows, row), cupy.zeros(len(_Noted._fields), np.uint64)
    sides = (graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices)
    arguments = (*sides, np.bool_(graph.symmetric), graph.positions, np.int64(num_rows), labels, parent, control)
    launch("wcc/certificate/weak.cu", "check_weak", num_rows + graph.num_arcs, arguments, ROW=row)
    noted = _Noted(*to_host(control).tolist())
    require_row_labels(graph, labels, noted.labels_outside, noted.labels_astray, noted.labels_greater)
    if noted.across:
        raise Broken(reasons.two_labels(graph, labels, arc_ends(graph, _first_across(graph.out, num_rows, labels))))
    if noted.apart:
        raise Broken(reasons.apart(graph, labels, num_rows - noted.apart))


def first_across(shard: Shard, labels: Array) -> int:
    """As `cpu.first_across`."""
    return _first_across(shard.local_out, len(shard.ids), labels)


def _first_across(out: Csr, num_rows: int, labels: Array) -> int:
    control = cupy.zeros(1, np.uint64)
    arguments = (out.offsets, out.indices, np.int64(num_rows), np.int64(len(out.indices)), labels, control)
    launch(_TREES, "find_across", work_of(out), arguments, ROW=labels.dtype)
    return first_noted(control[0], out)


def trees(shard: Shard) -> Array:
    """As `cpu.trees`."""
    num_own, row = np.int64(len(shard.ids)), shard.ghosts.dtype
    parent: Array = cupy.arange(len(shard.local_rows), dtype=row)
    sides = (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into)
    for name in ("grow_first", "grow"):
        for csr in sides:
            launch(_TREES, name, work_of(csr), (csr.offsets, csr.indices, num_own, parent), ROW=row)
    launch(_TREES, "flatten", len(parent), (np.int64(len(parent)), parent), ROW=row)
    return parent
