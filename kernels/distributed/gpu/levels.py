"""Launches of kernels that proceed by levels (levels.cuh): each starts from some rows and ends at the rank's local fixpoint."""

from typing import Any

import cupy
import numpy as np

from kernels.distributed.gpu.constants import LEVEL_THREADS
from kernels.gpu.loader import cooperative


class Levels:
    """Successive launches of one kernel of a source, each with its own starts.

    Args:
        row: Index width.
        capacity: Entries that a level may queue: for each row, one per `LEVEL_CHUNK` arcs begun.
    """

    def __init__(self, source: str, name: str, row: np.dtype[Any], capacity: int):
        # Loaded here, because `run` may be called where a kernel must not be loaded (`Communicator.exchange_then`)
        self._kernel, self._blocks = cooperative(source, name, LEVEL_THREADS, cupy.cuda.Device().id, ROW=row)
        self._entries = cupy.empty((2, capacity + 1, 2), np.int64), np.int64(capacity + 1)
        self._control = cupy.zeros(6, np.uint32)
        self._control[1] = 1  # the first level

    def run(self, *arguments: Any) -> None:
        """Launch the kernel with these arguments, followed by the queues and the control words."""
        self._kernel((self._blocks,), (LEVEL_THREADS,), (*arguments, *self._entries, self._control))
