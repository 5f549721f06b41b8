"""Loops of `iteration.py` on the GPU (seeded.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.derived import Derived
from kernels.gpu.loader import at_once, launch
from kernels.graph import Array, Csr
from kernels.pagerank.parameters import PageRankParameters
from kernels.pagerank.seeded.constants import CELL_THREADS, CHUNK

_SOURCE = "pagerank/seeded/seeded.cu"
_BLOCKS_PER_PROCESSOR = 8
_ARRAYS = 4  # scores, shares, those with ghosts, and results


class OnGpu:
    """See `StepOfColumns`."""

    def __init__(self, out_offsets: Array, into: Csr, derived: Derived) -> None:
        self._out_offsets, self._into = out_offsets, into
        self._long_rows, self._first_chunks = derived.get(OnGpu, lambda: _chunks_of(into.offsets))
        self._chunks: Array | None = None

    def at_once(self, rows: int) -> int:
        """See `StepOfColumns`."""
        return at_once("PageRank from a seed", _ARRAYS * 8 * rows)

    def empty(self, *shape: int) -> Array:
        """See `StepOfColumns`."""
        made: Array = cupy.empty(shape)
        return made

    def share(self, scores: Array, shares: Array) -> Array:
        """See `StepOfColumns`."""
        (rows, columns), lost = scores.shape, cupy.zeros(scores.shape[1], np.uint64)
        self._launch("share", self._out_offsets, np.int64(rows), np.int64(columns), scores, shares, lost)
        return _as_integers(lost)

    def pull(self, shares: Array, base: Array, parameters: PageRankParameters, scores: Array) -> Array:
        """See `StepOfColumns`."""
        rows, columns = scores.shape
        if self._chunks is None or self._chunks.shape[1] != columns:
            self._chunks = cupy.empty((int(self._first_chunks[-1]), columns))
        of_long = self._long_rows, self._first_chunks, np.int64(len(self._long_rows)), np.int64(columns)
        arcs, sums = (self._into.offsets, self._into.indices), cupy.zeros((2, columns), np.uint64)
        if len(self._long_rows):
            self._launch("sum_chunks", *arcs, *of_long, shares, self._chunks)
        factors = cupy.asarray(base), np.float64(parameters.damping), np.float64(parameters.settled)
        self._launch("pull", *arcs, np.int64(rows), *of_long, self._chunks, shares, *factors, scores, sums)
        return _as_integers(sums)

    def _launch(self, kernel: str, *arguments: Any) -> None:
        blocks = _BLOCKS_PER_PROCESSOR * cupy.cuda.Device().attributes["MultiProcessorCount"]
        launch(_SOURCE, kernel, CELL_THREADS, None, *arguments, blocks=blocks, plain=True, ROW=self._into.indices.dtype)


def _chunks_of(offsets: Array) -> tuple[Array, Array]:
    """The rows of more than CHUNK arcs, int64 [L], and the first chunk of each, with the number of all: int64 [L + 1]."""
    counts = cupy.diff(offsets)
    long_rows = cupy.flatnonzero(counts > CHUNK).astype(np.int64)
    first = cupy.zeros(len(long_rows) + 1, np.int64)
    first[1:] = cupy.cumsum((counts[long_rows] + CHUNK - 1) // CHUNK)
    return long_rows, first


def _as_integers(words: Any) -> Array:
    integers: Array = cupy.asnumpy(words).view(np.int64)
    return integers
