"""Sets of rows as bits on a GPU."""

import cupy

from kernels.gpu.loader import launch
from kernels.graph import Array, Graph
from kernels.operators.constants import THREADS

_SOURCE = "operators/gpu/frontiers.cu"


def words_of(graph: Graph) -> int:
    """Words of 32 bits for the rows of a graph."""
    return -(-graph.num_vertices // 32)


def bits_of(graph: Graph, listed: Array) -> Array:
    """The bits of rows: uint32 [ceil(V / 32)]."""
    bits: Array = cupy.zeros(words_of(graph), cupy.uint32)
    if len(listed):
        launch(_SOURCE, "set_bits", THREADS, len(listed), listed, cupy.int64(len(listed)), bits, ROW=listed.dtype)
    return bits


def rows_of(graph: Graph, bits: Array, size: int) -> Array:
    """The rows whose bits are set, ascending (index width) [size]."""
    rows: Array = cupy.empty(size, graph.rows_by_id.dtype)
    counts = cupy.empty(-(-len(bits) // 32), cupy.int64)
    items, words = 32 * len(counts), cupy.int64(len(bits))
    if size:
        launch(_SOURCE, "count_bits", THREADS, items, bits, words, counts, ROW=rows.dtype)
        launch(_SOURCE, "list_bits", THREADS, items, bits, words, cupy.cumsum(counts), rows, ROW=rows.dtype)
    return rows
