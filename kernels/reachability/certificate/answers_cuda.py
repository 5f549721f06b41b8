"""Checks of searched answers on CuPy arrays (answers.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.answers import ReachabilityIndex, Witnesses
from kernels.gpu.loader import launch, pointer
from kernels.graph import Array, Csr
from kernels.reachability.queries.sizes import WIDE_SEARCH_BYTES

_SOURCE = "reachability/certificate/answers.cu"
_THREADS = 256


def first_wrong_path(arcs: Csr, src: Array, dst: Array, paths: Witnesses, ids: Array | None = None) -> int:
    """The first query with a path that does not lead from its row of `src` to that of `dst` along arcs; -1 if there is none.

    The heads of a row's arcs ascend by `ids`, or by their numbers if None.
    """
    return _first("check_paths", arcs, src, dst, 32 * len(src), pointer(ids), paths.begins, paths.lengths, paths.nodes)


def first_reached(index: ReachabilityIndex, src: Array, dst: Array) -> int:
    """The first query whose node of `src` reaches that of `dst`; -1 if there is none."""
    labels, num_nodes = index.labels, index.condensation.num_nodes
    words = -(-num_nodes // 32)
    blocks = min(len(src), WIDE_SEARCH_BYTES // max(4 * words + num_nodes * labels.low.itemsize, 1) + 1)
    scratch = cupy.zeros(blocks * words, np.uint32), cupy.empty(blocks * num_nodes, labels.low.dtype)
    arrays = labels.level, labels.height, labels.low, labels.post, labels.reaches, labels.reached
    facts = np.int64(num_nodes), np.int32(labels.dimensions), np.bool_(labels.method == "tree")
    return _first("find_paths", index.condensation.children, src, dst, blocks * _THREADS, *arrays, *facts, *scratch)


def _first(kernel: str, arcs: Csr, src: Array, dst: Array, work: int, *arguments: Any) -> int:
    """The first query that a kernel notes."""
    if not len(src):
        return -1
    wrong = cupy.array([len(src)], np.uint64)
    row = arcs.indices.dtype
    ends = (cupy.ascontiguousarray(rows, row) for rows in (src, dst))
    queries = arcs.offsets, arcs.indices, *ends, np.int64(len(src))
    launch(_SOURCE, kernel, _THREADS, work, *queries, *arguments, wrong, ROW=row)
    first = int(wrong[0])
    return first if first < len(src) else -1
