"""Arrays that memory does not hold, in files without a name: the kernel removes them with their last map, however a run ends."""

import mmap
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from kernels.graph import Array
from pipeline.runtime.memory import share_of_arcs
from pipeline.store.arrays import SteadyFile


class SpillFiles:
    """Makes arrays in the file system of a folder: `kernels.layout.spilling.Spill`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def most(self) -> int:
        """Bytes that the arcs of a share, or a table, may take in memory now."""
        return share_of_arcs()

    def array(self, dtype: np.dtype[Any]) -> "SpilledArray":
        """A new array."""
        return SpilledArray(self._folder, dtype)


class SpilledArray:
    """An array that is made piece by piece, and then mapped into memory."""

    def __init__(self, folder: Path, dtype: np.dtype[Any]) -> None:
        self._file, self._dtype, self._length = TemporaryFile(dir=folder, buffering=0), dtype, 0  # noqa: SIM115
        self._steady = SteadyFile(self._file)

    def append(self, piece: Array) -> None:
        """Write the next entries."""
        self._length += len(piece)
        self._steady.append(piece)

    def close(self) -> Array:
        """All of it, read-only."""
        with self._file:
            if not self._length:
                return np.empty(0, self._dtype)
            return np.frombuffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ), self._dtype)
