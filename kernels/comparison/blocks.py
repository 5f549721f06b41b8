"""Compare two blocks on the current GPU: one launch to find the rows that differ, two to prove those of a change table."""

from itertools import chain
from threading import local
from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.comparison.block import Block, Values
from kernels.comparison.constants import MOST_COLUMNS
from kernels.distributed.gpu.memory import Staging
from kernels.gpu.loader import launch, to_host
from kernels.graph import Array

_SOURCE, _THREADS = "comparison/comparison.cu", 256
_NOTHING = (0, 0, 0)


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
        self._held: list[Any] = []
        self._numbers = tuple(chain.from_iterable((_put(side.numbers), np.int64(len(side.numbers))) for side in (old, new)))
        self._sides = [self._described([*side.values, *side.keys]) for side in (old, new)]
        self._lengths = len(old.numbers), len(new.numbers)
        self._widths = [values.words.itemsize for values in (*old.values, *old.keys)]
        self._num_values = len(old.values)

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

    def replays(self, numbers: Array, kinds: Array, old: list[Values], new: list[Values]) -> bool | None:
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
        columns = self._columns(self._described(old), self._described(new))
        rows = _put(numbers), np.int64(len(numbers)), _put(kinds)
        mark = (*self._numbers, columns, np.int32(self._num_values), *marks, wrong)
        launch(_SOURCE, "mark_rows", _THREADS, len(numbers), *rows, *mark)
        others = columns, np.int32(len(self._widths)), *marks, excess, wrong, unsorted
        self._launch("compare_others", num_old + num_new, *others)
        is_wrong, is_unsorted = to_host(flags).tolist()
        return None if is_unsorted else not (is_wrong or to_host(excess)[0])

    def _launch(self, kernel: str, rows: int, *arguments: Any) -> None:
        launch(_SOURCE, kernel, _THREADS, rows, *self._numbers, *arguments)

    def _described(self, columns: list[Values]) -> list[tuple[int, int, int]]:
        """What `Values` of the CUDA source says of each column."""
        found = []
        for column in columns:
            words, valid = _put(column.words), None if column.valid is None else _put(column.valid)
            self._held += [words, valid]
            found.append((words.data.ptr, 0 if valid is None else valid.data.ptr, column.first))
        return found

    def _columns(self, *shown: list[tuple[int, int, int]]) -> Any:
        """The columns of the CUDA source, int64 [columns, 13]; those of the keys, which come last, show nothing."""
        padded = [(*of, *[_NOTHING] * (len(self._widths) - len(of))) for of in (*shown, *[[]] * (2 - len(shown)))]
        rows = zip(self._widths, *self._sides, *padded, strict=True)
        return cupy.asarray(np.array([[width, *chain.from_iterable(values)] for width, *values in rows], np.int64))


class _Own(local):
    """What a thread has of its own: pinned memory for each GPU."""

    def __init__(self) -> None:
        self.staging: dict[int, Staging] = {}


_own = _Own()


def _put(array: Array) -> Any:
    """A copy on the current GPU."""
    device = cupy.cuda.Device()
    if device.id not in _own.staging:
        _own.staging[device.id] = Staging(device)
    copied = cupy.empty(len(array), array.dtype)
    _own.staging[device.id].copy(array, copied)
    return copied
