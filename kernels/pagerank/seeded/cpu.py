"""Loops of `iteration.py` on the CPU."""

from functools import partial
from typing import Any

import numpy as np

from kernels.arrays import unsigned
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, over_rows, ranges
from kernels.graph import Array, Csr
from kernels.pagerank.constants import UNIT
from kernels.pagerank.parameters import PageRankParameters
from kernels.pagerank.seeded.constants import CHUNK, COLUMNS

_CHUNK, _UNIT = CHUNK, float(UNIT)


class OnCpu:
    """See `StepOfColumns`."""

    def __init__(self, out_offsets: Array, into: Csr) -> None:
        self._out_offsets, self._into = out_offsets, into
        self._arcs = unsigned(into.offsets), unsigned(into.indices)

    def at_once(self, rows: int) -> int:
        """See `StepOfColumns`; callers pass as many rankings as memory has place for."""
        return COLUMNS

    def empty(self, *shape: int) -> Array:
        """See `StepOfColumns`."""
        return np.empty(shape)

    def share(self, scores: Array, shares: Array) -> Array:
        """See `StepOfColumns`."""

        def of_range(part: tuple[int, int]) -> Array:
            lost = np.zeros(scores.shape[1], np.int64)
            _share(self._out_offsets, scores, shares, lost, *part)
            return lost

        lost: Array = np.sum(over_items(ranges(len(scores), scores.size), of_range), axis=0)
        return lost

    def pull(self, shares: Array, base: Array, parameters: PageRankParameters, scores: Array) -> Array:
        """See `StepOfColumns`."""
        of_rows = partial(_pulled, (*self._arcs, shares, base, parameters.damping, parameters.settled, scores))
        sums: Array = np.sum(over_rows(self._into, of_rows), axis=0)
        return sums


def _pulled(arguments: tuple[Any, ...], begin: int, end: int) -> Array:
    sums = np.zeros((2, arguments[-1].shape[1]), np.int64)
    _pull(*arguments, sums, begin, min(end, len(arguments[-1])))
    return sums


@njit(cache=True, nogil=True)
def _share(out_offsets: Array, scores: Array, shares: Array, lost: Array, begin: int, end: int) -> None:
    for row in range(begin, end):
        degree = float(out_offsets[row + 1] - out_offsets[row])
        for column in range(scores.shape[1]):
            if degree > 0:
                shares[row, column] = scores[row, column] / degree
            else:
                shares[row, column] = 0.0
                lost[column] += np.int64(scores[row, column] * _UNIT)


@njit(cache=True, nogil=True)
def _pull(
    offsets: Array, indices: Array, shares: Array, base: Array, damping: float, settled: float, scores: Array, sums: Array,
    begin: int, end: int,
) -> None:  # fmt: skip
    count = scores.shape[1]
    of_row, of_chunk = np.empty(count), np.empty(count)
    for row in range(begin, end):
        of_row[:] = 0.0
        last = np.int64(offsets[row + 1])
        for first in range(np.int64(offsets[row]), last, _CHUNK):
            of_chunk[:] = 0.0
            for arc in range(first, first + _CHUNK if first + _CHUNK < last else last):
                tail = indices[arc]
                for column in range(count):
                    of_chunk[column] += shares[tail, column]
            for column in range(count):
                of_row[column] += of_chunk[column]
        for column in range(count):
            score = base[column] + damping * of_row[column]
            change = abs(score - scores[row, column])
            sums[0, column] += np.int64(change * _UNIT)
            sums[1, column] += change * settled > score
            scores[row, column] = score
