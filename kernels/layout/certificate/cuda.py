"""The passes of the layout's certificate on CuPy arrays (proof.cu); functions and parameters are those of `cpu`.

The GPU finds that an arc is wrong, the CPU which one.
"""

import cupy
import numpy as np

from kernels.certificate.launches import launch, work_of
from kernels.gpu.loader import pointer
from kernels.gpu.transfer import on_host
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.certificate import cpu

_SOURCE = "layout/certificate/proof.cu"


class Directory:
    """As `cpu.Directory`, by binary search."""

    def __init__(self, ids: Array):
        self._ids = ids

    def places(self, wanted: Array) -> Array:
        """As `cpu.Directory.places`."""
        positions: Array = cupy.full(len(wanted), -1, OFFSET)
        if len(self._ids):
            places = cupy.minimum(cupy.searchsorted(self._ids, wanted), len(self._ids) - 1)
            positions = cupy.where(self._ids[places] == wanted, places, positions)
        return positions


def arc_sums(csr: Csr, ids: Array, role: int, distinct: bool, keys: Array) -> tuple[Array, int]:
    """As `cpu.arc_sums`."""
    sums = cupy.zeros(5, np.uint64)
    arcs = (csr.offsets, csr.indices, *_words(csr.weights), np.int64(len(csr.offsets) - 1))
    rules = (ids, np.int64(len(ids)), np.int32(role), np.bool_(distinct), cupy.asarray(keys))
    launch(_SOURCE, "arc_sums", work_of(csr), (*arcs, *rules, sums, sums[4:]), ROW=csr.indices.dtype, EDGE=ids.dtype)
    words = sums.get()
    return cpu.arc_sums(on_host(csr), on_host(ids), role, distinct, keys) if words[4] else (words[:4], -1)


def sums_before(old: Csr, csr: Csr, of_csr: Array, ids: Array, rules: tuple[int, bool], keys: Array) -> tuple[Array, int]:
    """As `cpu.sums_before`, but all arcs are read: that takes milliseconds."""
    return arc_sums(old, ids[: len(old.offsets) - 1], *rules, keys)


def edge_sums(src: Array, dst: Array, weights: Array | None, rules: tuple[int, bool], keys: Array) -> Array:
    """As `cpu.edge_sums`."""
    sums = cupy.zeros(4, np.uint64)
    edges = (src, dst, *_words(weights), np.int64(len(src)))
    arguments = (*edges, np.int32(rules[0]), np.bool_(rules[1]), cupy.asarray(keys), sums)
    launch(_SOURCE, "edge_sums", max(len(src), 1), arguments, ROW=np.int32, EDGE=src.dtype)
    words: Array = sums.get()
    return words


def first_not_stored(rows: Array, neighbours: Array, weights: Array | None, csr: Csr, ids: Array, *, alike: bool = False) -> int:
    """As `cpu.first_not_stored`."""
    missing, count = cupy.zeros(1, np.uint64), len(rows)
    inputs = (rows, neighbours, pointer(weights), np.int64(count))
    arguments = (*inputs, csr.offsets, csr.indices, *_words(csr.weights), ids, np.bool_(alike), missing)
    launch(_SOURCE, "all_stored", max(count, 1), arguments, ROW=csr.indices.dtype, EDGE=ids.dtype)
    return cpu.first_not_stored(*map(on_host, (rows, neighbours, weights, csr, ids)), alike=alike) if int(missing[0]) else -1


def _words(weights: Array | None) -> tuple[Array | np.uint64, np.int32]:
    return pointer(weights), np.int32(0 if weights is None else weights.itemsize)
