"""Launches of kernels that work by levels (levels.cuh): each goes on from some rows, to the rank's own fixpoint."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import cooperative

CHUNK = 1024  # arcs of an entry, as in levels.cuh
_THREADS = 512


class Levels:
    """Launches of one kernel of a source, one after the other, each with its starts.

    Parameters
    ----------
    source, name : str
    row : dtype
    capacity : int
        Entries that a level may queue: a row's arcs, up to `CHUNK` each.
    """

    def __init__(self, source: str, name: str, row: np.dtype[Any], capacity: int):
        self._kernel, self._blocks = cooperative(source, name, _THREADS, cupy.cuda.Device().id, ROW=row)
        self._entries = cupy.empty((2, capacity + 1, 2), np.int64), np.int64(capacity + 1)
        self._control = cupy.zeros(6, np.uint32)
        self._control[1] = 1  # the first level

    def run(self, *arguments: Any) -> None:
        """Launch the kernel; its last arguments, what levels need, are added."""
        self._kernel((self._blocks,), (_THREADS,), (*arguments, *self._entries, self._control))
