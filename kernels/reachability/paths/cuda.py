"""Witness paths on CuPy arrays (paths.cu): each block searches for one path at a time."""

from collections.abc import Iterator

import cupy
import numpy as np

from kernels.answers import Witnesses
from kernels.gpu.loader import launch, minus_ones
from kernels.graph import Array, Graph
from kernels.reachability.paths.constants import PATH_THREADS, QUERIES, SEARCH_BYTES

_SOURCE = "reachability/paths/paths.cu"


def search(graph: Graph, src: Array, dst: Array, most_rows: int) -> Iterator[Witnesses]:
    """Answer `kernels.reachability.paths.shortest_paths` on CuPy arrays; `most_rows` is at least the number of vertices."""
    count, rows = graph.num_vertices, graph.rows_by_id.dtype
    blocks = max(1, min(len(src), 16 * QUERIES, SEARCH_BYTES // (4 * max(count, 1) * rows.itemsize)))
    scratch = minus_ones(2 * blocks * count, rows), cupy.empty(2 * blocks * count, rows)
    arcs = graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices, np.int64(count)
    nodes = cupy.empty(most_rows, rows)
    first, size = 0, 16 * QUERIES
    while first < len(src):
        part = slice(first, min(first + size, len(src)))
        queries = src[part].astype(rows), dst[part].astype(rows), np.int64(part.stop - first)
        used, (places, lengths) = cupy.zeros(1, np.uint64), cupy.empty((2, part.stop - first), np.int64)
        outputs = used, places, lengths, nodes, np.int64(most_rows)
        items = PATH_THREADS * min(blocks, part.stop - first)
        launch(_SOURCE, "find_paths", PATH_THREADS, items, *arcs, *queries, *scratch, *outputs, ROW=rows)
        if int(used[0]) > most_rows:  # some did not fit; a single one does
            size = max(1, (part.stop - first) // 2)
        else:
            yield _in_order(nodes, places, lengths)
            first = part.stop


def _in_order(nodes: Array, places: Array, lengths: Array) -> Witnesses:
    """The paths one after the other; blocks write them in any order, from `places` on."""
    begins = cupy.zeros(len(lengths) + 1, np.int64)
    begins[1:] = lengths.cumsum()
    entries = cupy.arange(int(begins[-1]))
    query = cupy.searchsorted(begins, entries, side="right") - 1
    return Witnesses(begins, lengths, nodes[entries + (places - begins[:-1])[query]])
