"""`long_paths.cu` on the GPU: lengths that a team of blocks shortens from any rows on, again and again."""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy
import numpy as np

from kernels.gpu import loader as cuda
from kernels.gpu.loader import pointer
from kernels.graph import NO_ROW, Array, Csr
from kernels.paths.lengths import as_length, length_type

_EVERYWHERE = "paths/long_paths.cu", "shorten"
_BELOW = "paths/sharded/long_paths.cu", "shorten_below"
_TEAM = 16  # blocks of a cluster, from compute capability 9.0 on
_LIST_BYTES, _LIST_BYTES_ALONE = 4 * 49152, 4 * 24576  # of a block in a cluster, and without one, as in lists.cuh
_LEAST_WINDOW, _MOST_WINDOW = 4.0, 32.0  # mean weights
_FEW, _MANY = 2048, 8192  # rows at hand: below, the window widens, above, it narrows
_THREADS = 512
_CONTROL_WORDS = 3
_ASIDE = 2  # the word of the control that says how many rows are put aside, as in lists.cuh
_NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED


class Team:
    """The arcs of N rows, in Quads, and lengths of paths along them.

    Attributes
    ----------
    lengths : uint32 or uint64 [N]
        As lengths.cuh encodes them; of no path, but for the source.

    Parameters
    ----------
    out : Csr
        Every arc weighs 1 where it has no weights.
    sums : dtype
        Type in which weights are summed: int32, int64 or float64.
    mean : float
        Mean weight.
    quads : int
        See `quads_of`.
    source : int
        The first row to start from; NO_ROW where `start` says which.
    """

    def __init__(self, out: Csr, sums: np.dtype[Any], mean: float, quads: int, source: int = NO_ROW):
        row, num_rows = out.indices.dtype, len(out.offsets) - 1
        weight = np.dtype(np.int32) if out.weights is None else out.weights.dtype
        self._sums, self._types = sums, {"ROW": row, "WEIGHT": weight, "SUM": sums}
        self._quads = cupy.empty((quads, _quad_bytes(row, weight, sums)), np.uint8)
        self.lengths, self._pile = cupy.empty(num_rows, length_type(sums)), cupy.empty(num_rows, row)
        self._piled, self._control = cupy.empty(-(-num_rows // 32), np.uint32), cupy.zeros(_CONTROL_WORDS, np.uint64)
        self._aside: Array | None = None
        self._is_aside: Array | None = None
        self._windows = tuple(as_length(sums, factor * mean) for factor in (_LEAST_WINDOW, _MOST_WINDOW))
        self._launch("prepare", num_rows, out.offsets, out.indices, pointer(out.weights), np.int64(num_rows), np.int64(source),
                     self._quads, self.lengths, self._pile, self._piled, self._control)  # fmt: skip

    def start(self, rows: Array) -> None:
        """Set the rows, each once, from which `shorten` goes on with their lengths."""
        self._launch("pile_up", len(rows), rows, np.int64(len(rows)), self._pile, self._piled, self._control)

    def shorten(self, bound: int | None = None) -> None:
        """Lower the lengths to the smallest sums from the rows that were set; those at `bound` or beyond are put aside."""
        there = self._quads, self.lengths, self._pile, self._piled, *self._windows, np.int64(_FEW), np.int64(_MANY), self._control
        if bound is None:
            self._take_steps(_EVERYWHERE, *there)
            return
        if self._aside is None:
            self._aside, self._is_aside = cupy.empty_like(self._pile), cupy.zeros_like(self._piled)
        self._take_steps(_BELOW, *there, length_type(self._sums)(bound), self._aside, self._is_aside)

    def take_aside(self) -> Array:
        """The rows that were put aside, each once; then none is."""
        if self._aside is None or self._is_aside is None:
            return self._pile[:0]
        rows = self._aside[: int(self._control[_ASIDE])].copy()
        self._control[_ASIDE] = 0
        self._is_aside.fill(0)
        return rows

    def _take_steps(self, of: tuple[str, str], *arguments: Any) -> None:
        kernel, blocks, list_bytes = _kernel(*of, cupy.cuda.Device().id, *self._types.values())
        kernel((blocks,), (_THREADS,), arguments, shared_mem=list_bytes)

    def _launch(self, name: str, size: int, *arguments: Any) -> None:
        cuda.launch(_EVERYWHERE[0], name, _THREADS, size, *arguments, **self._types)


def quads_of(out: Csr) -> int:
    """How many Quads hold the arcs."""
    degrees = cupy.diff(out.offsets)
    chained = degrees[degrees > 4]
    return len(degrees) + int(((chained - 2) // 3).sum())


def _quad_bytes(row: np.dtype[Any], weight: np.dtype[Any], sums: np.dtype[Any]) -> int:
    weight_bytes = 4 if sums == np.int32 else weight.itemsize
    return -(-4 * (row.itemsize + weight_bytes) // 16) * 16


@cache
def _kernel(
    source: str, name: str, device: int, row: np.dtype[Any], weight: np.dtype[Any], sums: np.dtype[Any]
) -> tuple[Any, int, int]:
    """The kernel, the blocks of its launch, and the bytes of shared memory that each has for its lists."""
    has_teams = int(cupy.cuda.Device(device).compute_capability) >= 90
    list_bytes = _LIST_BYTES if has_teams else _LIST_BYTES_ALONE
    kernel = cuda.load(source, ROW=row, WEIGHT=weight, SUM=sums).get_function(name)
    kernel.max_dynamic_shared_size_bytes = list_bytes
    if has_teams:
        cupy.cuda.driver.funcSetAttribute(kernel.kernel.ptr, _NON_PORTABLE_CLUSTER, 1)
    return kernel, _TEAM if has_teams else 1, list_bytes
