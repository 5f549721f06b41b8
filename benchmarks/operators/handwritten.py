"""The hand-written kernel beside which searches in Python are timed (search.cu)."""

import cupy
import numpy as np

from kernels.gpu.loader import launch
from kernels.graph import Array, Graph
from kernels.library.operators.gpu.bits import words_of

_SOURCE = "../benchmarks/operators/search.cu"  # relative to kernels/
_THREADS, _CHUNK, _WIDE = 256, 1024, 32


def search(graph: Graph, source: int, weighed: bool) -> Array:
    """Levels (int32 [V], -1 if not reached) or, `weighed`, distances (float64 [V], infinite if not reached) from a row."""
    out, size = graph.out, graph.num_vertices
    values = cupy.empty(size, np.int64 if weighed else np.int32)
    chunks = graph.derived.get(search, lambda: _chunks(out.offsets))
    rows, queue = cupy.empty(2 * size, graph.rows_by_id.dtype), cupy.empty(4 * max(1, chunks), np.int32)
    weights = graph.rows_by_id if out.weights is None else out.weights
    launch(
        _SOURCE, "search", _THREADS, None, out.offsets, out.indices, weights, np.int64(size), np.int64(source), values,
        cupy.zeros(2 * words_of(graph), np.uint32), rows, queue, np.int64(chunks), cupy.zeros(7, np.int64),
        ROW=rows.dtype, WEIGHT=weights.dtype, VALUE=values.dtype, WEIGHED=int(weighed), THREADS=_THREADS,
    )  # fmt: skip
    return values.view(np.float64) if weighed else values


def _chunks(offsets: Array) -> int:
    degrees = cupy.diff(offsets)
    return int((-(-degrees // _CHUNK))[degrees >= _WIDE].sum())
