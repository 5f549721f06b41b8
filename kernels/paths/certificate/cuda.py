"""The certificate of paths on CuPy arrays: one launch (paths.cu), and the same pass over a rank's in-arcs."""

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.certificate.launches import launch, require_device_form, require_held, work_of
from kernels.certificate.rules import require_source
from kernels.gpu.deep import most_rounds, require_shallow
from kernels.gpu.loader import pointer, to_host
from kernels.graph import Array, Csr, Graph, distance_dtype
from kernels.paths.certificate import cpu
from kernels.paths.predecessors_cuda import types_of

_SOURCE = "paths/certificate/paths.cu"
_BROKEN, _WRONG, _SEARCHED, _DEEP, _WORDS = 2, 4, 6, 7, 10  # 32-bit words of Control


def check(graph: Graph, paths: Paths, weighted: bool) -> None:
    """As `cpu.check`."""
    require_held(_holds, cpu.check, graph, paths, weighted)


def _holds(graph: Graph, paths: Paths, weighted: bool) -> bool:
    num_rows, row, weights = graph.num_vertices, graph.rows_by_id.dtype, graph.out.weights if weighted else None
    source = require_source(graph, paths.source)
    distance = require_device_form("distance", paths.distance, num_rows, distance_dtype(weights))
    predecessor = require_device_form("predecessor", paths.predecessor, num_rows, row)
    nearest, control = cupy.empty(num_rows, row), cupy.zeros(_WORDS, np.uint32)
    narrow = cupy.empty(num_rows if distance.dtype.kind == "i" else 0, np.uint16)
    step, queue = (cupy.empty(0 if weights is None else num_rows, row) for _ in range(2))
    out, into = ((csr.offsets, csr.indices, pointer(csr.weights if weighted else None)) for csr in (graph.out, graph.into))
    answer = (np.int64(source), np.int64(num_rows), distance, predecessor)
    arguments = (*out, *into, graph.positions, *answer, nearest, narrow, step, queue, np.int64(most_rounds(graph.out)), control)
    launch(_SOURCE, "check_paths", num_rows + graph.num_arcs, arguments, **types_of(graph.out, distance.dtype, weighted))
    words = to_host(control)
    require_shallow(words[_DEEP])
    return not (words[_BROKEN] or words[_WRONG + words[_SEARCHED]])


def relax(into: Csr, weights: Array | None, distance: Array, positions: Array, nearest: Array) -> bool:
    """As `cpu.relax`."""
    loose = cupy.zeros(1, np.uint32)
    arguments = (into.offsets, into.indices, pointer(weights), positions, np.int64(len(nearest)), distance, nearest, loose)
    launch(_SOURCE, "relax", work_of(into), arguments, **types_of(into, distance.dtype, weights is not None))
    return bool(loose[0])
