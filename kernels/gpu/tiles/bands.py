"""Puts the arcs of rows in the order of tiles, one band of rows after the other, so that temporary arrays stay small."""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.constants import TILE_CHUNK_ARCS
from kernels.gpu.loader import launch, pointer
from kernels.gpu.radix_sort import KEY, sort
from kernels.gpu.tiles import BAND_ARCS
from kernels.graph import Array, Csr

ALIGNED = 8  # arcs of a load: those of a tile and band begin at a multiple of it
_BAND = BAND_ARCS
_JOB = 256  # tasks of a tile that a block takes at a time, at most
_THREADS = 256
_BLOCKS = 512  # at most; threads stride on


def band_limits(offsets: Array) -> list[int]:
    """First rows of the bands, and the number of rows."""
    num_arcs, num_rows = int(offsets[-1]), len(offsets) - 1
    firsts = cupy.searchsorted(offsets[:-1], cupy.arange(0, max(num_arcs, 1), _BAND), side="left")
    return sorted({0, num_rows, *cupy.asnumpy(firsts).tolist()})


def ordered_tasks(parts: list[Any]) -> tuple[Array, Array]:
    """The tasks of all bands in the order of tiles, and the jobs: numbers of their first tasks, and the number of tasks.

    A job has tasks of one tile. A graph of few tasks has smaller jobs, so that every block gets one.
    """
    tasks = cupy.concatenate(parts)
    tasks = tasks[cupy.argsort(tasks[:, 0])]
    job = max(1, min(_JOB, len(tasks) // cupy.cuda.Device().attributes["MultiProcessorCount"]))
    tiles = tasks[:, 0]
    of_tile = cupy.arange(len(tasks)) - cupy.searchsorted(tiles, tiles)
    return tasks, cupy.append(cupy.flatnonzero(of_tile % job == 0), len(tasks)).astype(np.int64)


def launch_over(source: str, kernel: str, threads: int, *arguments: Any, row: Any) -> None:
    """Launch a kernel whose threads stride over its work."""
    blocks = min(-(-threads // _THREADS), _BLOCKS)
    launch(source, kernel, _THREADS, None, *arguments, blocks=blocks, plain=True, ROW=row)


class Band:
    """The arcs of rows `first:end` while they are put in order, for tiles of 2^tile_bits heads.

    Attributes:
        num_segments: A row's arcs in a tile are a segment, or several, because none crosses a chunk.
        padded_arcs: Places that its arcs take.
        items (int64 [num_segments]): In the order of the arcs: the row within the band << 32 | number of the segment, from 1.
    """

    def __init__(self, csr: Csr, limits: tuple[int, int], num_tiles: int, tile_bits: int, weighted: bool = False) -> None:
        first, end = limits
        self.first, self.num_rows, self._row = first, end - first, csr.indices.dtype
        self.row_bits = self.num_rows.bit_length()
        self._bits = np.int32(self.row_bits), np.int32(tile_bits)
        offsets = csr.offsets[first : end + 1]
        from_arc, to_arc = int(offsets[0]), int(offsets[-1])
        self._num_arcs = to_arc - from_arc
        keys = cupy.empty(self._num_arcs, np.int64)
        self._run("make_keys", self.num_rows * 32, offsets, csr.indices, np.int64(self.num_rows), *self._bits, keys)
        weights = csr.weights[from_arc:to_arc].copy() if weighted and csr.weights is not None else None
        # Stable: within a tile the rows stay in order
        first_bit = self.row_bits + tile_bits
        sorted_keys, self._weights = sort(keys.view(KEY), weights, first_bit, first_bit + (num_tiles - 1).bit_length())
        self._keys = sorted_keys.view(np.int64)
        self._starts = cupy.searchsorted(self._keys, cupy.arange(num_tiles + 1) << first_bit).astype(np.int64)
        self._ends = cupy.empty(self._num_arcs, np.uint8)
        self._run("mark_ends", self._num_arcs, self._keys, np.int64(self._num_arcs), *self._bits, self._starts, self._ends)
        self._ordinals = cupy.cumsum(self._ends, dtype=np.int64)
        self.num_segments = int(self._ordinals[-1]) if self._num_arcs else 0
        self._lengths = -(-cupy.diff(self._starts) // ALIGNED) * ALIGNED
        self.padded_arcs = int(self._lengths.sum())

    def write_arcs(self, arcs: Array, weights: Array | None, first_arc: int, first_segment: int) -> Any:
        """Write the arcs, and the weights if the band has them, from `first_arc` on; return the tasks.

        The first segment of the band gets the number `first_segment`.
        """
        num_tasks = -(-cupy.diff(self._starts) // TILE_CHUNK_ARCS)
        tasks = cupy.empty((int(num_tasks.sum()), 4), np.int64)
        self.items = cupy.empty(self.num_segments, np.int64)
        first_arcs = first_arc + cupy.cumsum(self._lengths) - self._lengths
        first_tasks = cupy.cumsum(num_tasks) - num_tasks
        weight_bytes = np.int32(0 if self._weights is None else self._weights.itemsize)
        self._run(
            "write_arcs", self._num_arcs, self._keys, pointer(self._weights), weight_bytes, np.int64(self._num_arcs), *self._bits,
            self._starts, self._ends, self._ordinals, first_arcs, first_tasks, np.int64(first_segment), arcs,
            pointer(weights), tasks, self.items,
        )  # fmt: skip
        del self._keys, self._weights, self._ends, self._ordinals
        return tasks

    def _run(self, kernel: str, threads: int, *arguments: Any) -> None:
        launch_over("gpu/tiles/tiles.cu", kernel, threads if self._num_arcs else 0, *arguments, row=self._row)
