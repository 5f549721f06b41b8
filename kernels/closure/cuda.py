"""The closure on the GPU (closure.cu): a share of the free memory decides how many bits of each node are computed at a time."""

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from kernels.answers import Closure, Condensation
from kernels.closure.constants import THREADS
from kernels.closure.order import by_height
from kernels.gpu.loader import free_bytes, launch
from kernels.graph import Graph

_SOURCE = "closure/closure.cu"
_SHARE = 4  # of the free memory, one part of so many for bits


def list_pairs(
    graph: Graph, nodes: Condensation, columns: range, require: Callable[[int], None], limit: int
) -> Closure:  # fmt: skip
    """As `kernels.closure.cpu.list_pairs`, on CuPy arrays."""
    sizes = np.bincount(nodes.node, minlength=nodes.num_nodes)
    row, num_rows = graph.rows_by_id.dtype, graph.num_vertices
    order, of_height = by_height(nodes)
    begins = np.concatenate([[0], np.cumsum(of_height)])
    dag = cupy.asarray(order), cupy.asarray(begins), np.int64(len(of_height)), nodes.children.offsets, nodes.children.indices
    alone = cupy.where(sizes == 1, graph.positions[nodes.names], -1).astype(np.int64)
    loops = graph.out.indices == cupy.searchsorted(graph.out.offsets, cupy.arange(graph.num_arcs), side="right") - 1
    alone[nodes.node[graph.out.indices[loops]]] = -1
    of_positions = nodes.node[graph.rows_by_id]
    most = free_bytes() // _SHARE // (4 * max(nodes.num_nodes, 1))
    width = min(max(1, most), -(-len(columns) // 32))  # words of a node
    bits, barrier = cupy.empty(nodes.num_nodes * width, np.uint32), cupy.zeros(1, np.uint32)
    blocks = range(columns.start, columns.stop, 32 * max(width, 1))

    def unite(first: int) -> None:
        bits.fill(0)
        size, end = np.int64(width), np.int64(min(first + 32 * width, columns.stop))
        launch(_SOURCE, "start_bits", THREADS, int(end) - first, of_positions, np.int64(first), size, end, bits, ROW=row)
        launch(_SOURCE, "unite", THREADS, nodes.num_nodes * width, *dag, size, bits, barrier, ROW=row)

    def of_vertices(name: str, first: int, *arrays: Any) -> None:
        block = of_positions, alone, bits, np.int64(first), np.int64(width), np.int64(num_rows)
        launch(_SOURCE, name, THREADS, 32 * num_rows, *block, *arrays, ROW=row)

    counts = cupy.zeros(num_rows, np.int64)
    for first in blocks:
        unite(first)
        of_vertices("count_pairs", first, counts)
        if int(counts.sum()) > limit:
            break
    total = int(counts.sum())
    require(total)
    cursors, vertex, reached = cupy.cumsum(counts) - counts, cupy.empty(total, row), cupy.empty(total, row)
    for first in blocks:
        if len(blocks) > 1:
            unite(first)
        of_vertices("list_pairs", first, graph.rows_by_id, cursors, vertex, reached)
    return Closure(vertex, reached)
