"""The layout that PageRank derives from a graph on the GPU: in-arcs in the order of tiles, two bytes each, and rows in slices.

It is made one band of rows after the other, so that temporary arrays stay small. `tiles.cu` has the encodings, `step.cuh` the
method.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cupy
import numpy as np

from kernels.gpu.devices import spare_bytes
from kernels.gpu.loader import launch
from kernels.gpu.radix_sort import KEY, sort
from kernels.graph import Array, Csr, Graph
from kernels.pagerank.constants import CHUNK_ARCS, ROUND, THREADS, TILE_BITS

_FLOAT_BYTES = np.dtype(np.float32).itemsize
_BAND = 1 << 25  # arcs, unless a row has more
_WINDOW_BITS = 10  # of rows among which slices collect those with about equally many partials
_ALIGNED = 8  # arcs of a load
_JOB = 256  # tasks of a tile that a block takes at a time, at most
_TILING_THREADS = 256
_BLOCKS = 512  # at most; threads stride on


@dataclass(frozen=True)
class TilePlan:
    """The in-arcs of rows in the order of tiles, and the rows in slices; `S` slices, `N` tasks, `J` jobs."""

    # uint16: for every in-arc, its tail's row within the tile, and 2^15 on the last arc of its row in the tile and chunk.
    arcs: Array
    tasks: Array  # int64 [N, 4]: tile, first arc, number of arcs and first partial; ordered by tile
    jobs: Array  # int64 [J + 1]: first tasks of the jobs, each of one tile, and N
    # int64 [S, 3]: first item, items per row, and the first partial of the band, which belongs to no row and is always 0.
    slices: Array
    items: Array  # uint32: partials of a slice's rows, counted from that first one; item k of lane i is at `first + 32 k + i`
    # rows, degrees: index width and float32 [32 S]: row of each lane, -1 if it has none, and its out-degree.
    rows: Array
    degrees: Array
    bands: Array  # int64: first partial of each band
    num_partials: int
    num_without_arcs: int  # rows without in-arcs and out-arcs, which are in no slice

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The first arguments of `iterate`, in the order of TilePlan in step.cuh."""
        num_jobs, num_slices = np.int64(len(self.jobs) - 1), np.int64(len(self.slices))
        return self.tasks, self.jobs, num_jobs, self.arcs, self.slices, num_slices, self.items, self.rows, self.degrees

    def new_partials(self) -> Array:
        """An array for the partials, in which those that belong to no row are 0."""
        partials: Array = cupy.empty(self.num_partials, np.float32)
        partials[self.bands] = 0
        return partials


def sizes() -> dict[str, int]:
    """Sizes of a launch on the current GPU: a block holds a tile in shared memory where that fits. The sums are the same."""
    staged, tile = THREADS // 32 * ROUND * _FLOAT_BYTES, _FLOAT_BYTES << TILE_BITS
    held = int(staged + tile <= spare_bytes(cupy.cuda.Device().id))
    return {"TILE_IN_SHARED": held, "shared": staged + held * tile}


def plan_of(graph: Graph) -> TilePlan:
    """Return the graph's plan; the first call makes it."""
    return graph.derived.get(plan_of, lambda: make_plan(graph.into, graph.out.offsets, graph.num_vertices))


def make_plan(into: Csr, out_offsets: Array, num_tails: int, zeros: Callable[[int, Any], Array] = cupy.zeros) -> TilePlan:
    """Make the plan of rows whose in-arcs have tails in 0..num_tails - 1, which may be more than these rows.

    `out_offsets`, as long as `into.offsets`, give the rows' out-degrees; `zeros` allocates the array of arcs.
    """
    num_tiles, num_rows = (num_tails >> TILE_BITS) + 1, len(out_offsets) - 1
    limits = _band_limits(into.offsets)
    arcs = zeros(len(into.indices) + _ALIGNED * num_tiles * len(limits), np.uint16)
    tasks, slices, items, rows, bands = [], [], [], [], []
    used = num_items = num_partials = 0
    for first, end in pairwise(limits):
        band = _Band(into, first, end, num_tiles)
        tasks.append(band.write_arcs(arcs, used, num_partials))
        items_of_band, rows_of_lanes, slices_of_band = band.slice_rows(out_offsets)
        slices_of_band += cupy.asarray([num_items, 0, num_partials])
        slices.append(slices_of_band)
        items.append(items_of_band)
        rows.append(rows_of_lanes)
        bands.append(num_partials)
        used += band.padded_arcs
        num_items += len(items_of_band)
        num_partials += 1 + band.num_items
        del band
    cupy.get_default_memory_pool().free_all_blocks()
    tasks = cupy.concatenate(tasks)
    tasks = tasks[cupy.argsort(tasks[:, 0])]
    all_rows = cupy.concatenate(rows)
    degrees = cupy.where(all_rows < 0, 0, cupy.diff(out_offsets)[all_rows]).astype(np.float32)
    without_arcs = num_rows - int(cupy.count_nonzero(all_rows >= 0))
    all_items, all_slices = cupy.concatenate(items), cupy.concatenate(slices)
    return TilePlan(
        arcs, tasks, _jobs(tasks), all_slices, all_items, all_rows, degrees, cupy.asarray(bands), num_partials, without_arcs
    )


def _band_limits(offsets: Array) -> list[int]:
    """First rows of the bands, and the number of rows."""
    num_arcs, num_rows = int(offsets[-1]), len(offsets) - 1
    firsts = cupy.searchsorted(offsets[:-1], cupy.arange(0, max(num_arcs, 1), _BAND), side="left")
    return sorted({0, num_rows, *cupy.asnumpy(firsts).tolist()})


def _jobs(tasks: Any) -> Any:
    """First tasks of the jobs, and the number of tasks. A graph of few tasks has smaller jobs, so that every block gets one."""
    job = max(1, min(_JOB, len(tasks) // cupy.cuda.Device().attributes["MultiProcessorCount"]))
    tiles = tasks[:, 0]
    of_tile = cupy.arange(len(tasks)) - cupy.searchsorted(tiles, tiles)
    return cupy.append(cupy.flatnonzero(of_tile % job == 0), len(tasks)).astype(np.int64)


class _Band:
    """The in-arcs of rows `first:end` while they are put in order."""

    def __init__(self, into: Csr, first: int, end: int, num_tiles: int) -> None:
        self._first, self._num_rows = first, end - first
        self._row = into.indices.dtype
        self._row_bits = np.int32(self._num_rows.bit_length())
        offsets = into.offsets[first : end + 1]
        self._num_arcs = int(offsets[-1] - offsets[0])
        self._keys = cupy.empty(self._num_arcs, np.int64)
        self._run("make_keys", self._num_rows * 32, offsets, into.indices, np.int64(self._num_rows), self._row_bits, self._keys)
        # Stable: within a tile the rows stay in order
        first_bit, tile_bits = int(self._row_bits) + TILE_BITS, (num_tiles - 1).bit_length()
        self._keys = sort(self._keys.view(KEY), None, first_bit, first_bit + tile_bits)[0].view(np.int64)
        firsts = cupy.arange(num_tiles + 1) << (int(self._row_bits) + TILE_BITS)
        self._starts = cupy.searchsorted(self._keys, firsts).astype(np.int64)
        self._ends = cupy.empty(self._num_arcs, np.uint8)
        self._run("mark_ends", self._num_arcs, self._keys, np.int64(self._num_arcs), self._row_bits, self._starts, self._ends)
        self._ordinals = cupy.cumsum(self._ends, dtype=np.int64)
        self.num_items = int(self._ordinals[-1]) if self._num_arcs else 0
        self._lengths = -(-cupy.diff(self._starts) // _ALIGNED) * _ALIGNED
        self.padded_arcs = int(self._lengths.sum())

    def write_arcs(self, arcs: Array, first_arc: int, first_partial: int) -> Any:
        """Write the arcs from `first_arc` on and return the tasks; the band's first partial belongs to no row."""
        num_tasks = -(-cupy.diff(self._starts) // CHUNK_ARCS)
        tasks = cupy.empty((int(num_tasks.sum()), 4), np.int64)
        self._items = cupy.empty(self.num_items, np.int64)
        first_arcs = first_arc + cupy.cumsum(self._lengths) - self._lengths
        first_tasks = cupy.cumsum(num_tasks) - num_tasks
        self._run(
            "write_arcs", self._num_arcs, self._keys, np.int64(self._num_arcs), self._row_bits, self._starts, self._ends,
            self._ordinals, first_arcs, first_tasks, np.int64(first_partial + 1), arcs, tasks, self._items,
        )  # fmt: skip
        del self._keys, self._ends, self._ordinals
        return tasks

    def slice_rows(self, out_offsets: Array) -> tuple[Any, Any, Any]:
        """Return the items, the rows of the lanes, and the slices with items counted from the band's first."""
        # The partials of a row are numbered in the order of the items
        self._items = sort(self._items.view(KEY), None, 32, 32 + int(self._row_bits))[0].view(np.int64)
        counts = cupy.diff(cupy.searchsorted(self._items, cupy.arange(self._num_rows + 1) << 32))
        rows = cupy.flatnonzero((counts > 0) | (cupy.diff(out_offsets[self._first : self._first + self._num_rows + 1]) > 0))
        rows = rows[cupy.argsort((rows >> _WINDOW_BITS) << 32 | (0xFFFFFFFF - counts[rows]))]
        lanes = cupy.zeros(self._num_rows, np.int64)
        lanes[rows] = cupy.arange(len(rows))
        padded = cupy.full(-(-len(rows) // 32) * 32, -1, self._row)
        padded[: len(rows)] = rows
        widths = cupy.where(padded < 0, 0, counts[padded]).reshape(-1, 32).max(axis=1)
        first_items = cupy.cumsum(widths * 32) - widths * 32
        items = cupy.zeros(int(widths.sum()) * 32, np.uint32)
        first_of_row = cupy.cumsum(counts) - counts
        self._run("deal_items", self.num_items, self._items, np.int64(self.num_items), first_of_row, lanes, first_items, items)
        padded[: len(rows)] += self._row.type(self._first)
        return items, padded, cupy.stack([first_items, widths, cupy.zeros_like(widths)], axis=1)

    def _run(self, kernel: str, threads: int, *arguments: Any) -> None:
        blocks = min(-(-threads // _TILING_THREADS), _BLOCKS) if self._num_arcs else 0
        launch("pagerank/tiles.cu", kernel, _TILING_THREADS, None, *arguments, blocks=blocks, plain=True, ROW=self._row)
