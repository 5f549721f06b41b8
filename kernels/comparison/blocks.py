"""Compare two blocks on the current GPU: one launch to find the rows that differ, two to prove those of a change table."""

from itertools import chain
from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.comparison.block import Block, Columns
from kernels.comparison.constants import MOST_COLUMNS
from kernels.gpu.loader import launch, to_host
from kernels.gpu.transfer import to_device
from kernels.graph import Array

_SOURCE, _THREADS = "comparison/comparison.cu", 256


class Differences(NamedTuple):
    """The rows by which two blocks differ.

    Attributes:
        rows (int64 [n]): The rows of the new block that were added or have other values, ascending.
        source (int32 [n]): The row of the old block with the same key, or -1.
        columns (uint32 [n]): A bit for each column whose value differs, the lowest for the first one; the highest bit if the row
            was added.
        removed (int64 [m]): The rows of the old block that the new one lacks, ascending.
    """

    rows: Array
    source: Array
    columns: Array
    removed: Array


class Blocks:
    """Two blocks in the memory of the GPU, with at most `MOST_COLUMNS` columns of values.

    Raises MemoryError if it is too small.
    """

    def __init__(self, old: Block, new: Block) -> None:
        assert len(old.values) <= MOST_COLUMNS
        self._sides = to_device((old, new))
        self._lengths = len(old.numbers), len(new.numbers)
        self._numbers = tuple(chain.from_iterable((side.numbers, np.int64(len(side.numbers))) for side in self._sides))
        self._num_values, self._num_columns = len(old.values), len(old.values) + len(old.keys)

    def differences(self) -> Differences | None:
        """The rows that differ; None if the numbers of a block do not ascend."""
        num_old, num_new = self._lengths
        source, differs = cupy.empty(num_new, np.int32), cupy.empty(num_new, np.uint32)
        removed, unsorted = cupy.empty(num_old, np.uint8), cupy.zeros(1, np.uint32)
        columns = self._columns()
        self._launch(
            "find_differences", num_old + num_new, columns, np.int32(self._num_values), source, differs, removed, unsorted
        )
        rows = cupy.flatnonzero(differs)
        found = rows, source[rows], differs[rows], cupy.flatnonzero(removed)
        return None if to_host(unsorted)[0] else Differences(*map(to_host, found))

    def replays(self, numbers: Array, kinds: Array, old: Columns, new: Columns) -> bool | None:
        """Whether these are all rows by which the new block differs from the old one; None if the blocks do not ascend.

        Args:
            numbers (int64 [n]): Those of the rows' keys.
            kinds (int8 [n]): `ADDED`, `REMOVED` or `CHANGED`; other numbers are wrong.
            old, new: For each column of values what the rows show: null where a block has not the key.
        """
        num_old, num_new = self._lengths
        marks = cupy.zeros(num_old, np.uint8), cupy.zeros(num_new, np.uint8)
        excess, flags = cupy.zeros(1, np.uint64), cupy.zeros(2, np.uint32)
        wrong, unsorted = flags[:1], flags[1:]
        numbers, kinds, old, new = to_device((numbers, kinds, old, new))
        columns = self._columns(old, new)
        rows = numbers, np.int64(len(numbers)), kinds
        mark = (*self._numbers, columns, np.int32(self._num_values), *marks, wrong)
        launch(_SOURCE, "mark_rows", _THREADS, len(numbers), *rows, *mark)
        others = columns, np.int32(self._num_columns), *marks, excess, wrong, unsorted
        self._launch("compare_others", num_old + num_new, *others)
        is_wrong, is_unsorted = to_host(flags).tolist()
        return None if is_unsorted else not (is_wrong or to_host(excess)[0])

    def _launch(self, kernel: str, rows: int, *arguments: Any) -> None:
        launch(_SOURCE, kernel, _THREADS, rows, *self._numbers, *arguments)

    def _columns(self, *shown: Columns) -> Any:
        """The columns of the CUDA source, int64 [columns, 13]; those of the keys, which come last, show nothing."""
        sides = [(*side.values, *side.keys) for side in self._sides]
        found = np.zeros((self._num_columns, 13), np.int64)
        found[:, 0] = [column.words.itemsize for column in sides[0]]
        for place, columns in enumerate((*sides, *shown)):
            for row, column in zip(found, columns, strict=False):
                row[1 + 3 * place :][:3] = _address(column.words), _address(column.valid), column.first
        return cupy.asarray(found)


def _address(array: Any) -> int:
    """Of an array on the GPU; 0 for None."""
    return 0 if array is None else int(array.data.ptr)
