"""Local rows of the arcs of a shard on a GPU (numbering.cu)."""

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from kernels.arrays import ArcMemory, ArrayOrFile
from kernels.distributed.dealing import Dealing
from kernels.distributed.gpu.memory import put
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Csr, joined_offsets

_THREADS = 256
_PIECE = 1 << 30  # neighbours that are reduced at a time: of 2^31 and more, CuPy makes one block reduce them all
_BLOCK = 1 << 24  # rows of `rows_by_id` that are on the device at a time


def local_arcs(rows: range, num_vertices: int, ghosts: Array, csr: Csr, memory: ArcMemory = "device") -> Csr:
    """The arcs of `rows` by local rows, on the device; the given arrays may be NumPy's or CuPy's."""
    numbering = GhostNumbering(rows, num_vertices, ghosts.dtype)
    numbering.find([cupy.asarray(ghosts)])
    return numbering.number([csr], put([csr.indices], memory), len(ghosts), memory)


def ghosts_of(rows: range, neighbours: list[Array]) -> Array:
    """Answer `kernels.distributed.assembly.ghosts_of`."""
    pieces = (part[begin : begin + _PIECE] for part in neighbours for begin in range(0, len(part), _PIECE))
    greatest = max((int(piece.max()) for piece in pieces), default=0)
    return GhostNumbering(rows, greatest + 1, neighbours[0].dtype).find(neighbours)


class GhostNumbering:
    """Which rows are ghosts, one bit each, and how many ghosts precede every 32nd row.

    Args:
        rows: The own rows.
        num_vertices: Of the whole graph; or more than every row that is looked up.
        row: Index width.
    """

    def __init__(self, rows: range, num_vertices: int, row: np.dtype[Any]):
        self._rows, self._row = rows, row
        self._words = num_vertices // 32 + 1
        self._marks = cupy.zeros(self._words, np.uint32)
        self._own = np.int64(rows.start), np.int64(rows.stop)

    def find(self, neighbours: list[Array]) -> Array:
        """Return the ghosts among the neighbours, ascending, distinct. To be called once, before the other methods."""
        for rows in neighbours:
            self._launch("mark_ghosts", len(rows), rows, np.int64(len(rows)), *self._own, self._marks)
        counts = cupy.zeros(self._words + 1, self._row)
        self._launch("count_ghosts", self._words, self._marks, np.int64(self._words), counts[1:])
        self._before = cupy.cumsum(counts, dtype=self._row)
        ghosts: Array = cupy.empty(int(self._before[-1]), self._row)
        self._launch("list_ghosts", self._words, self._marks, self._before, np.int64(self._words), ghosts)
        return ghosts

    def number(self, blocks: Sequence[Csr], neighbours: Array, num_ghosts: int, memory: ArcMemory) -> Csr:
        """The arcs of all blocks by local rows, with the ghosts' empty rows; `neighbours`, their indices, are overwritten."""
        self._launch("number_arcs", len(neighbours), neighbours, np.int64(len(neighbours)), *self._own, self._marks, self._before)
        own_offsets = joined_offsets(blocks)
        offsets = cupy.full(len(own_offsets) + num_ghosts, len(neighbours), OFFSET)
        offsets[: len(own_offsets)] = cupy.asarray(own_offsets)
        weights = [block.weights for block in blocks if block.weights is not None]
        return Csr(offsets, neighbours, put(weights, memory) if weights else None)

    def positions(self, rows_by_id: ArrayOrFile, dealing: Dealing, num_ghosts: int) -> tuple[Array, Array]:
        """Positions in the order of external ids, of the own rows and of the ghosts; `rows_by_id` are stored rows."""
        positions, ghost_positions = cupy.empty(len(self._rows), self._row), cupy.empty(num_ghosts, self._row)
        given = self._marks, self._before, positions, ghost_positions
        for first in range(0, len(rows_by_id), _BLOCK):
            rows = dealing.dealt(cupy.asarray(rows_by_id[first : first + _BLOCK]))
            self._launch("place_rows", len(rows), rows, np.int64(len(rows)), np.int64(first), *self._own, *given)
        return positions, ghost_positions

    def _launch(self, kernel: str, threads: int, *arguments: Any) -> None:
        launch("distributed/gpu/numbering.cu", kernel, _THREADS, threads, *arguments, ROW=self._row)
