"""The certificate of weak components on CuPy arrays: one launch (weak.cu), and the passes over a rank's arcs (trees.cu)."""

import cupy
import numpy as np

from kernels.answers import Components
from kernels.certificate.launches import launch, require_device_form, require_held, work_of
from kernels.distributed.shard import Shard
from kernels.gpu.loader import to_host
from kernels.gpu.transfer import on_host
from kernels.graph import Array, Csr, Graph
from kernels.wcc.certificate import cpu

_TREES = "wcc/certificate/trees.cu"


def check(graph: Graph, components: Components) -> None:
    """As `cpu.check`."""
    require_held(_holds, cpu.check, graph, components)


def _holds(graph: Graph, components: Components) -> bool:
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    labels = require_device_form("labels", components.labels, num_rows, row)
    parent, control = cupy.empty(num_rows, row), cupy.zeros(4, np.uint32)
    sides = (graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices)
    arguments = (*sides, np.bool_(graph.symmetric), graph.positions, np.int64(num_rows), labels, parent, control)
    launch("wcc/certificate/weak.cu", "check_weak", num_rows + graph.num_arcs, arguments, ROW=row)
    return not to_host(control)[1:].any()


def first_across(out: Csr, num_rows: int, labels: Array) -> int:
    """As `cpu.first_across`."""
    across = cupy.zeros(1, np.uint32)
    launch(_TREES, "find_across", work_of(out), (out.offsets, out.indices, np.int64(num_rows), labels, across), ROW=labels.dtype)
    return cpu.first_across(on_host(out), num_rows, to_host(labels)) if across[0] else -1


def trees(shard: Shard) -> Array:
    """As `cpu.trees`."""
    num_own, row = np.int64(len(shard.ids)), shard.ghosts.dtype
    parent: Array = cupy.arange(shard.num_local, dtype=row)
    sides = (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into)
    for name in ("grow_first", "grow"):
        for csr in sides:
            launch(_TREES, name, work_of(csr), (csr.offsets, csr.indices, num_own, parent), ROW=row)
    launch(_TREES, "flatten", len(parent), (np.int64(len(parent)), parent), ROW=row)
    return parent
