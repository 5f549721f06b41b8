"""Sets of rows as bits on a GPU."""

from typing import Any

import cupy

from kernels.gpu.loader import launch
from kernels.graph import Array, Graph
from kernels.library.operators.constants import THREADS
from kernels.library.operators.gpu.constants import MARKED_WORDS

_SOURCE = "library/operators/gpu/frontiers.cu"


def words_of(graph: Graph) -> int:
    """Words of 32 bits for the rows of a graph."""
    return -(-graph.num_vertices // 32)


def bits_of(graph: Graph, listed: Array) -> Array:
    """The bits of rows: uint32 [ceil(V / 32)]."""
    bits: Array = cupy.zeros(words_of(graph), cupy.uint32)
    if len(listed):
        over(len(listed), "set_bits", listed, cupy.int64(len(listed)), bits, row=listed.dtype)
    return bits


def rows_of(graph: Graph, bits: Array, size: int) -> Array:
    """The rows whose bits are set, ascending (index width) [size]."""
    rows: Array = cupy.empty(size, graph.rows_by_id.dtype)
    counts = cupy.empty(-(-len(bits) // 32), cupy.int64)
    items, words = 32 * len(counts), cupy.int64(len(bits))
    if size:
        over(items, "count_bits", bits, words, counts, row=rows.dtype)
        over(items, "list_bits", bits, words, cupy.cumsum(counts), rows, row=rows.dtype)
    return rows


def list_marked(graph: Graph, bits: int, queue: int, capacity: int, size: int) -> None:
    """Count the rows whose bits are set, and list the first ones that are found, as operators do that find rows one by one.

    Args:
        bits, queue, size: Addresses of the graph's bits, of the list, and of the number of rows.
        capacity: The most rows that the list has.
    """
    words, row = words_of(graph), graph.rows_by_id.dtype
    over(-(-words // MARKED_WORDS), "list_marked", bits, words, size, queue, capacity, row=row)


def over(items: int, name: str, *arguments: Any, row: Any) -> None:
    """Launch a kernel of frontiers.cu with a thread for each item; a cooperative launch would take longer."""
    launch(_SOURCE, name, THREADS, None, *arguments, blocks=-(-items // THREADS), plain=True, ROW=row)
