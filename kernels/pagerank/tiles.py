"""What PageRank derives of a graph on the GPU: the in-arcs in order of tiles, two bytes each, and the rows in slices.

Made once a graph and kept with it; band of rows after band, so that the arrays beside it stay small. The encodings are those of
`tiles.cu`, the method that of `pagerank.cu`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import load
from kernels.gpu.radix_sort import KEY, sort
from kernels.graph import Array, Csr, Graph

TILE_BITS = 15  # as in tiles.cu
_CHUNK = 2048  # arcs, as in tiles.cu
_BAND = 1 << 25  # arcs, unless a row has more
_WINDOW_BITS = 10  # rows, within which slices take those of about as many partials
_ALIGNED = 8  # arcs of a load
_JOB = 256  # tasks of a tile that a block takes at a time
_THREADS = 256
_BLOCKS = 512  # at most; threads stride on


@dataclass(frozen=True)
class Plan:
    """The in-arcs of rows in order of tiles, and the rows in slices; `S` slices, `N` tasks, `J` jobs.

    Attributes
    ----------
    arcs : uint16
        Every in-arc: its source's place in its tile, and 2^15 on the last of its row in the tile and chunk.
    tasks : int64 [N, 4]
        Tile, first arc, number of arcs and first partial, by tile.
    jobs : int64 [J + 1]
        First tasks of the jobs, each of one tile, and N.
    slices : int64 [S, 3]
        First item, items a row, and the first partial of the band, which is no row's and always 0.
    items : uint32
        Partials of a slice's rows, counted from that one; item k of lane i lies at `first + 32 k + i`.
    rows, degrees : index width and float32 [32 S]
        Row of each lane, -1 where there is none, and its out-degree.
    bands : int64
        Where each band's partials begin.
    num_partials : int
    num_without_arcs : int
        Rows without in-arcs and out-arcs, which are in no slice.
    """

    arcs: Array
    tasks: Array
    jobs: Array
    slices: Array
    items: Array
    rows: Array
    degrees: Array
    bands: Array
    num_partials: int
    num_without_arcs: int


def plan_of(graph: Graph) -> Plan:
    """Return the graph's plan, made on the first call."""
    plan: Plan | None = vars(graph).get("_pagerank_plan")
    if plan is None:
        plan = vars(graph)["_pagerank_plan"] = make_plan(graph.into, graph.out.offsets, graph.num_vertices)
    return plan


def make_plan(into: Csr, out_offsets: Array, num_sources: int, room: Callable[[int, Any], Array] = cupy.zeros) -> Plan:
    """Make the plan of rows whose in-arcs come from `num_sources` sources, which may be more than these rows.

    `out_offsets`, as long as `into.offsets`, tell the rows' out-degrees; `room` makes the array of arcs, of zeros.
    """
    num_tiles, num_rows = (num_sources >> TILE_BITS) + 1, len(out_offsets) - 1
    limits = _band_limits(into.offsets)
    arcs = room(len(into.indices) + _ALIGNED * num_tiles * len(limits), np.uint16)
    tasks, slices, items, rows, bands = [], [], [], [], []
    used = num_items = num_partials = 0
    for first, end in pairwise(limits):
        band = _Band(into, first, end, num_tiles)
        tasks.append(band.write_arcs(arcs, used, num_partials))
        dealt, rows_of_slots, slices_of_band = band.deal(out_offsets)
        slices_of_band += cupy.asarray([num_items, 0, num_partials])
        slices.append(slices_of_band)
        items.append(dealt)
        rows.append(rows_of_slots)
        bands.append(num_partials)
        used += band.room
        num_items += len(dealt)
        num_partials += 1 + band.num_items
        del band
    cupy.get_default_memory_pool().free_all_blocks()
    tasks = cupy.concatenate(tasks)
    tasks = tasks[cupy.argsort(tasks[:, 0])]
    in_rows = cupy.concatenate(rows)
    degrees = cupy.where(in_rows < 0, 0, cupy.diff(out_offsets)[in_rows]).astype(np.float32)
    idle = num_rows - int(cupy.count_nonzero(in_rows >= 0))
    all_items, all_slices = cupy.concatenate(items), cupy.concatenate(slices)
    return Plan(arcs, tasks, _jobs(tasks), all_slices, all_items, in_rows, degrees, cupy.asarray(bands), num_partials, idle)


def _band_limits(offsets: Array) -> list[int]:
    """First rows of the bands, and the number of rows."""
    num_arcs, num_rows = int(offsets[-1]), len(offsets) - 1
    firsts = cupy.searchsorted(offsets[:-1], cupy.arange(0, max(num_arcs, 1), _BAND), side="left")
    return sorted({0, num_rows, *cupy.asnumpy(firsts).tolist()})


def _jobs(tasks: Array) -> Array:
    """First tasks of the jobs, and the number of tasks."""
    tiles = tasks[:, 0]
    of_tile = cupy.arange(len(tasks)) - cupy.searchsorted(tiles, tiles)
    return cupy.append(cupy.flatnonzero(of_tile % _JOB == 0), len(tasks)).astype(np.int64)


class _Band:
    """The in-arcs of the rows from `first` to before `end`, while they are put in order."""

    def __init__(self, into: Csr, first: int, end: int, num_tiles: int) -> None:
        self._first, self._num_rows = first, end - first
        self._row = into.indices.dtype
        self._row_bits = np.int32(self._num_rows.bit_length())
        offsets = into.offsets[first : end + 1]
        self._num_arcs = int(offsets[-1] - offsets[0])
        self._keys = cupy.empty(self._num_arcs, np.int64)
        self._run("make_keys", self._num_rows * 32, offsets, into.indices, np.int64(self._num_rows), self._row_bits, self._keys)
        # Rows come in their order, and keep it
        first_bit, tile_bits = int(self._row_bits) + TILE_BITS, (num_tiles - 1).bit_length()
        self._keys = sort(self._keys.view(KEY), None, first_bit, first_bit + tile_bits)[0].view(np.int64)
        firsts = cupy.arange(num_tiles + 1) << (int(self._row_bits) + TILE_BITS)
        self._starts = cupy.searchsorted(self._keys, firsts).astype(np.int64)
        self._ends = cupy.empty(self._num_arcs, np.uint8)
        self._run("mark_ends", self._num_arcs, self._keys, np.int64(self._num_arcs), self._row_bits, self._starts, self._ends)
        self._ordinals = cupy.cumsum(self._ends, dtype=np.int64)
        self.num_items = int(self._ordinals[-1]) if self._num_arcs else 0
        self._lengths = -(-cupy.diff(self._starts) // _ALIGNED) * _ALIGNED
        self.room = int(self._lengths.sum())

    def write_arcs(self, arcs: Array, first_arc: int, first_partial: int) -> Array:
        """Write the arcs from `first_arc` on, and return the tasks; the band's first partial is the one that is no row's."""
        num_tasks = -(-cupy.diff(self._starts) // _CHUNK)
        tasks = cupy.empty((int(num_tasks.sum()), 4), np.int64)
        self._items = cupy.empty(self.num_items, np.int64)
        places = first_arc + cupy.cumsum(self._lengths) - self._lengths
        first_tasks = cupy.cumsum(num_tasks) - num_tasks
        self._run(
            "write_arcs", self._num_arcs, self._keys, np.int64(self._num_arcs), self._row_bits, self._starts, self._ends,
            self._ordinals, places, first_tasks, np.int64(first_partial + 1), arcs, tasks, self._items,
        )  # fmt: skip
        del self._keys, self._ends, self._ordinals
        return tasks

    def deal(self, out_offsets: Array) -> tuple[Array, Array, Array]:
        """Return the items, the rows of the slots and the slices, counted from the band's."""
        # A row's partials are numbered in their order
        self._items = sort(self._items.view(KEY), None, 32, 32 + int(self._row_bits))[0].view(np.int64)
        counts = cupy.diff(cupy.searchsorted(self._items, cupy.arange(self._num_rows + 1) << 32))
        rows = cupy.flatnonzero((counts > 0) | (cupy.diff(out_offsets[self._first : self._first + self._num_rows + 1]) > 0))
        rows = rows[cupy.argsort((rows >> _WINDOW_BITS) << 32 | (0xFFFFFFFF - counts[rows]))]
        slots = cupy.zeros(self._num_rows, np.int64)
        slots[rows] = cupy.arange(len(rows))
        padded = cupy.full(-(-len(rows) // 32) * 32, -1, self._row)
        padded[: len(rows)] = rows
        widths = cupy.where(padded < 0, 0, counts[padded]).reshape(-1, 32).max(axis=1)
        first_items = cupy.cumsum(widths * 32) - widths * 32
        dealt = cupy.zeros(int(widths.sum()) * 32, np.uint32)
        first_of_row = cupy.cumsum(counts) - counts
        self._run("deal_items", self.num_items, self._items, np.int64(self.num_items), first_of_row, slots, first_items, dealt)
        padded[: len(rows)] += self._row.type(self._first)
        return dealt, padded, cupy.stack([first_items, widths, cupy.zeros_like(widths)], axis=1)

    def _run(self, kernel: str, threads: int, *arguments: Any) -> None:
        if self._num_arcs:
            blocks = min(-(-threads // _THREADS), _BLOCKS)
            module = load("pagerank/tiles.cu", cooperative=False, ROW=self._row)
            module.get_function(kernel)((blocks,), (_THREADS,), arguments)
