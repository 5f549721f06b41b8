"""Queries on the GPU: a pass over all decides what labels decide, then warps search for the rest, and blocks for what is left.

Searches of a warp go both ways in shared memory; those that grow too large for it go side by side, a bit of a mask each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.answers import ReachabilityIndex, Reached
from kernels.gpu.loader import cooperative
from kernels.graph import Array
from kernels.reachability.gpu.launch import launch

PART = 1 << 27  # queries of a pass: 4 bytes each for the list of those left
# as in search.cu: the threads of a block, and the slots of a search's table, which with its queues takes 7/4 rows a slot
_BY_WARPS = {"search_in_little": (160, 1 << 11), "search_in_much": (64, 1 << 13)}
_BLOCK_THREADS = 512  # as in wide_search.cu
WIDTH = 64  # bits of a mask
WIDE_BYTES = 1 << 30  # of masks and lists, or as much as the records take, or what one block needs


class Records(NamedTuple):
    """The index as the kernels take it; `arguments` go first in every launch."""

    memory: Array
    arguments: tuple[Any, ...]


def reach(index: ReachabilityIndex, src: Array, dst: Array, width: int = WIDTH, by_warps: bool = True) -> Reached:
    """Answer `kernels.reachability.reach` on CuPy arrays.

    `width` is the bits of a mask, 32, 64 or 256; without `by_warps` all that the labels leave is searched with masks.
    """
    num_rows, row = len(index.condensation.node), index.condensation.node.dtype
    if len(src) != len(dst):
        raise ValueError(f"reach: {len(src)} sources, {len(dst)} destinations")
    answers = Reached(cupy.empty(len(src), np.bool_), cupy.empty(len(src), np.uint8))
    for begin in range(0, len(src), PART):
        part = slice(begin, begin + PART)
        ends = _rows(src[part], num_rows, row), _rows(dst[part], num_rows, row)
        part_of = Reached(answers.reachable[part], answers.decided[part])
        left, count = cut(index, *ends, part_of)
        undecided, wrong = count.tolist()
        if wrong < len(ends[0]):
            raise_wrong(src[part], dst[part], wrong, num_rows)
        if undecided and by_warps:
            left = left[:undecided]
            for name in _BY_WARPS:
                left, count = search(index, *ends, left, count, part_of, name)
            undecided = int(count[0])
        if undecided:
            search_wide(index, *ends, left, count, part_of, width)
    return answers


def raise_wrong(src: Array, dst: Array, query: int, num_rows: int) -> None:
    """Raise IndexError for the first query of an end that is no row."""
    ends = int(src[query]), int(dst[query])
    row = ends[0] if not 0 <= ends[0] < num_rows else ends[1]
    raise IndexError(f"row {row} is not in 0..{num_rows - 1}, the rows of this graph")


def records_of(index: ReachabilityIndex) -> Records:
    """Pack the index's records, 64 bytes a node (96 from 2^31 nodes on); made once an index and kept with it."""
    records: Records | None = vars(index).get("_records")
    if records is None:
        labels = index.labels
        size, alternating = np.int64(len(labels.level)), np.bool_(labels.method == "tree")
        dimensions = np.int32(labels.dimensions)
        memory = cupy.zeros((int(size), record_bytes(labels.low.itemsize)), np.uint8)  # the padding is loaded, too
        arrays = (labels.level, labels.height, labels.low, labels.post, labels.first, labels.last, labels.reaches, labels.reached)
        launch("filter", "pack_records", int(size), labels.low.dtype, *arrays, size, dimensions, alternating, memory)
        records = Records(memory, (memory, size, dimensions, alternating, labels.low, labels.post))
        vars(index)["_records"] = records
    return records


def record_bytes(index_bytes: int) -> int:
    """Bytes of a record, for numbers of nodes of so many bytes; as in records.cuh."""
    return 64 if index_bytes == 4 else 96


def cut(index: ReachabilityIndex, src: Array, dst: Array, answers: Reached) -> tuple[Array, Array]:
    """Decide what the labels decide; return the places of the other queries, and their number before that of a wrong query."""
    left = cupy.empty(len(src), np.uint32)
    count = cupy.array([0, len(src)], np.uint64)
    nodes = index.condensation.node
    arguments = (nodes, np.int64(len(nodes)), src, dst, np.int64(len(src)), answers.reachable, answers.decided, left, count)
    launch("filter", "filter_queries", len(src), index.labels.low.dtype, *records_of(index).arguments, *arguments)
    return left, count


def search(
    index: ReachabilityIndex, src: Array, dst: Array, left: Array, count: Array, answers: Reached, name: str = "search_in_little"
) -> tuple[Array, Array]:
    """Search for the first `count` of the queries `left`, a warp each; return those that are too large for one, and their number.

    The host does not ask how many there are: the GPU would have nothing to do until the answer is there.
    """
    dag, row = index.condensation, index.labels.low.dtype
    threads, slots = _BY_WARPS[name]
    shared = threads // 32 * (slots // 4 * 7 * row.itemsize + 16)
    kernel, blocks = cooperative("reachability/gpu/cu/search.cu", name, threads, cupy.cuda.Device().id, shared, ROW=row)
    rest, control = cupy.empty_like(left), cupy.zeros(2, np.uint64)
    arcs = (dag.children.offsets, dag.children.indices, dag.parents.offsets, dag.parents.indices, dag.node)
    arguments = (*records_of(index).arguments, *arcs, src, dst, left, count, answers.reachable, rest, control)
    kernel((blocks,), (threads,), arguments, shared_mem=shared)
    return rest, control[1:]


def search_wide(
    index: ReachabilityIndex, src: Array, dst: Array, left: Array, count: Array, answers: Reached, width: int = WIDTH
) -> None:
    """Search for the queries `left`, `width` of them side by side in a block."""
    dag, labels = index.condensation, index.labels
    row, num_nodes, words = labels.low.dtype, dag.num_nodes, -(-width // 64)
    record = record_bytes(row.itemsize)
    shared = width * (record + row.itemsize) + 2 * width // 8 + 64
    name = f"search_{width}"
    kernel, blocks = cooperative(
        "reachability/gpu/cu/wide_search.cu", name, _BLOCK_THREADS, cupy.cuda.Device().id, shared, ROW=row
    )
    a_block = num_nodes * (2 * width // 8 + 3 * words * row.itemsize)
    batches = -(-int(count[0]) // width)
    blocks = max(1, min(blocks, batches, max(WIDE_BYTES, num_nodes * record) // a_block))
    masks = cupy.zeros(blocks * 2 * num_nodes * width // 8, np.uint8)
    lists = cupy.empty(blocks * 3 * num_nodes * words, row)
    arguments = (*records_of(index).arguments, dag.children.offsets, dag.children.indices, dag.node)
    queries = (src, dst, left, count, answers.reachable, masks, lists, cupy.zeros(1, np.uint64))
    kernel((blocks,), (_BLOCK_THREADS,), (*arguments, *queries), shared_mem=shared)


def _rows(rows: Array, num_rows: int, row: np.dtype[Any]) -> Array:
    """The same rows in the width of the graph's, NO_ROW where they are none of its."""
    rows = cupy.asarray(rows)
    if rows.dtype.kind not in "iu":
        raise TypeError(f"reach: rows are {rows.dtype}, no integers")
    if rows.dtype == row:
        return cupy.ascontiguousarray(rows)
    return cupy.where((rows >= 0) & (rows < num_rows), rows.astype(row), row.type(-1))
