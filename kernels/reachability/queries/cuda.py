"""Queries on the GPU: one pass decides what labels decide, then warps search for undecided queries, and blocks for the last ones.

A warp searches from both ends in shared memory; searches that become too large for that run side by side, one bit of a mask each.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.answers import ReachabilityIndex, Reached, Witnesses
from kernels.gpu.loader import cooperative, launch, pointer, spare_shared
from kernels.graph import NO_ROW, Array
from kernels.reachability.queries.constants import (
    LARGE_SEARCH_LOG_SLOTS,
    LARGE_SEARCH_THREADS,
    SMALL_SEARCH_LOG_SLOTS,
    SMALL_SEARCH_THREADS,
    WIDE_SEARCH_THREADS,
)
from kernels.reachability.queries.sizes import QUERIES_PER_PASS, WIDE_SEARCH_BYTES, record_bytes_on_gpu

WIDTH = 64  # bits of a mask
_FILTER, _SEARCH = "reachability/queries/filter.cu", "reachability/queries/search.cu"
_FILTER_THREADS = 512
# Most threads of a block, and slots of a search's table, which together with its queues takes 7/4 nodes per slot.
_BY_WARPS = {
    "search_in_little": (SMALL_SEARCH_THREADS, 1 << SMALL_SEARCH_LOG_SLOTS),
    "search_in_much": (LARGE_SEARCH_THREADS, 1 << LARGE_SEARCH_LOG_SLOTS),
}
Rows = tuple[Array, Array]


class DeviceRecords(NamedTuple):
    """The index as the kernels read it; `arguments` come first in every launch."""

    buffer: Array
    arguments: tuple[Any, ...]


def answer(index: ReachabilityIndex, src: Array, dst: Array, width: int = WIDTH, by_warps: bool = True) -> Reached:
    """Answer `kernels.reachability.reach` on CuPy arrays.

    `width` is the number of bits of a mask, 32, 64 or 256. Without `by_warps` masks search for all undecided queries.
    """
    answers = _unanswered(src, dst)
    for rows, part_of, undecided, number in _cuts(index, src, dst, answers):
        left, count = undecided[: int(number[0])], number
        for name in _BY_WARPS if by_warps and len(left) else ():
            left, count = search(index, *rows, left, count, part_of, name)
        if int(count[0]):
            search_wide(index, *rows, left, count, part_of, width)
    return answers


def answer_by_labels(index: ReachabilityIndex, src: Array, dst: Array) -> Reached:
    """The answers that labels decide; those of other queries, decided by SEARCH, are no. Raises as `reach`."""
    answers = _unanswered(src, dst)
    for _ in _cuts(index, src, dst, answers):
        pass
    return answers


def trace(index: ReachabilityIndex, src: Array, dst: Array, begins: Array) -> Witnesses:
    """Search for a path for every pair of nodes that no label decides; query q may use `nodes[begins[q]:begins[q + 1]]`."""
    names, num_queries = index.condensation.names, len(src)
    paths = Witnesses(begins, cupy.zeros(num_queries, np.int64), cupy.empty(int(begins[-1]), names.dtype))
    rows, answers = (names[src], names[dst]), _unanswered(src, dst)
    left, count = cupy.arange(num_queries, dtype=np.uint32), cupy.array([num_queries], np.uint64)
    for name in _BY_WARPS:
        left, count = search(index, *rows, left, count, answers, name, paths)
    if int(count[0]):
        search_wide(index, *rows, left, count, answers, paths=paths)
    return paths


def _unanswered(src: Array, dst: Array) -> Reached:
    if len(src) != len(dst):
        raise ValueError(f"reach: {len(src)} sources, {len(dst)} destinations")
    return Reached(cupy.empty(len(src), np.bool_), cupy.empty(len(src), np.uint8))


def _cuts(index: ReachabilityIndex, src: Array, dst: Array, answers: Reached) -> Iterator[tuple[Rows, Reached, Array, Array]]:
    """Decide what labels decide, in parts: yields the part's rows and answers, the undecided queries and [their number]."""
    num_rows, row = len(index.condensation.node), index.condensation.node.dtype
    for begin in range(0, len(src), QUERIES_PER_PASS):
        part = slice(begin, begin + QUERIES_PER_PASS)
        rows = _narrowed(src[part], num_rows, row), _narrowed(dst[part], num_rows, row)
        part_of = Reached(answers.reachable[part], answers.decided[part])
        left, count = cut(index, *rows, part_of)
        if (wrong := int(count[1])) < len(rows[0]):
            _raise_wrong(src[part], dst[part], wrong, num_rows)
        yield rows, part_of, left, count


def _raise_wrong(src: Array, dst: Array, query: int, num_rows: int) -> None:
    """Raise IndexError for a query with an entry that is not a row."""
    rows = int(src[query]), int(dst[query])
    wrong = rows[0] if not 0 <= rows[0] < num_rows else rows[1]
    raise IndexError(f"row {wrong} is not in 0..{num_rows - 1}, the rows of this graph")


def records_of(index: ReachabilityIndex) -> DeviceRecords:
    """The records of an index, 64 bytes per node (96 from 2^31 nodes on), which are made once and kept with it."""
    return index.derived.get(records_of, lambda: _pack(index))


def _pack(index: ReachabilityIndex) -> DeviceRecords:
    labels = index.labels
    size, alternating = np.int64(len(labels.level)), np.bool_(labels.method == "tree")
    dimensions = np.int32(labels.dimensions)
    # Zeros, because the kernels load the padding, too.
    buffer = cupy.zeros((int(size), record_bytes_on_gpu(labels.low.itemsize)), np.uint8)
    arrays = (labels.level, labels.height, labels.low, labels.post, labels.first, labels.last, labels.reaches, labels.reached)
    facts = size, dimensions, alternating
    launch(_FILTER, "pack_records", _FILTER_THREADS, int(size), *arrays, *facts, buffer, ROW=labels.low.dtype)
    return DeviceRecords(buffer, (buffer, *facts, labels.low, labels.post))


def cut(index: ReachabilityIndex, src: Array, dst: Array, answers: Reached) -> tuple[Array, Array]:
    """Decide what the labels decide; return the undecided queries, and [their number, the first query of a wrong row]."""
    left = cupy.empty(len(src), np.uint32)
    count = cupy.array([0, len(src)], np.uint64)
    node, row = index.condensation.node, index.labels.low.dtype
    queries = node, np.int64(len(node)), src, dst, np.int64(len(src)), answers.reachable, answers.decided
    arguments = *records_of(index).arguments, *queries, left, count
    launch(_FILTER, "filter_queries", _FILTER_THREADS, len(src), *arguments, ROW=row)
    return left, count


def search(
    index: ReachabilityIndex, src: Array, dst: Array, left: Array, count: Array, answers: Reached, name: str = "search_in_little",
    paths: Witnesses | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Search for the first `count` of the queries `left`, one warp each; return those that are too large, and their number.

    The paths of those that are reachable are written to `paths`, if given.
    The host does not read how many there are, because the GPU would be idle until it had.
    """
    row = index.labels.low.dtype
    threads, slots = _BY_WARPS[name]
    warp_bytes = slots // 4 * 7 * row.itemsize + 24
    warps = min(threads // 32, spare_shared(_SEARCH, name, cupy.cuda.Device().id, ROW=row) // warp_bytes)
    if not warps:  # left to wide searches
        return left, count
    rest, control = cupy.empty_like(left), cupy.zeros(2, np.uint64)
    queries = src, dst, left, count, answers.reachable, *_paths(index, paths)
    arguments = *records_of(index).arguments, *_arcs(index), *queries, rest, control
    launch(_SEARCH, name, 32 * warps, None, *arguments, shared=warps * warp_bytes, ROW=row)
    return rest, control[1:]


def search_wide(
    index: ReachabilityIndex, src: Array, dst: Array, left: Array, count: Array, answers: Reached, width: int = WIDTH,
    paths: Witnesses | None = None,
) -> None:  # fmt: skip
    """Search for the queries `left`, `width` of them side by side in a block. `paths` as in `search`."""
    row, num_nodes, words = index.labels.low.dtype, index.condensation.num_nodes, -(-width // 64)
    record = record_bytes_on_gpu(row.itemsize)
    shared = width * (record + 2 * row.itemsize) + 2 * width // 8 + 64
    source, device = "reachability/queries/wide_search.cu", cupy.cuda.Device().id
    kernel, blocks = cooperative(source, f"search_{width}", WIDE_SEARCH_THREADS, device, shared, ROW=row)
    block_bytes = num_nodes * (2 * width // 8 + 3 * words * row.itemsize)
    batches = -(-int(count[0]) // width)
    blocks = max(1, min(blocks, batches, max(WIDE_SEARCH_BYTES, num_nodes * record) // block_bytes))
    masks = cupy.zeros(blocks * 2 * num_nodes * width // 8, np.uint8)
    lists = cupy.empty(blocks * 3 * num_nodes * words, row)
    queries = src, dst, left, count, answers.reachable, *_paths(index, paths), masks, lists, cupy.zeros(1, np.uint64)
    arguments = *records_of(index).arguments, *_arcs(index), *queries
    kernel((blocks,), (WIDE_SEARCH_THREADS,), arguments, shared_mem=shared)


def _arcs(index: ReachabilityIndex) -> tuple[Array, ...]:
    dag = index.condensation
    return dag.children.offsets, dag.children.indices, dag.parents.offsets, dag.parents.indices, dag.node


def _paths(index: ReachabilityIndex, paths: Witnesses | None) -> tuple[Any, ...]:
    """The arguments of Paths (paths.cuh)."""
    arrays = (paths.begins, paths.lengths, paths.nodes) if paths else (None, None, None)
    return *map(pointer, arrays), index.labels.supports


def _narrowed(rows: Array, num_rows: int, row: np.dtype[Any]) -> Array:
    """The same rows in the graph's row type; an entry that is not a row becomes NO_ROW."""
    rows = cupy.asarray(rows)
    if rows.dtype.kind not in "iu":
        raise TypeError(f"reach: rows are {rows.dtype}, not integers")
    narrowed: Array = cupy.ascontiguousarray(rows)
    if rows.dtype != row:
        narrowed = cupy.where((rows >= 0) & (rows < num_rows), rows.astype(row), row.type(NO_ROW))
    return narrowed
