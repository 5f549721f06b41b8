"""The layout that PageRank derives from a graph on the GPU: in-arcs in the order of tiles, two bytes each, and rows in slices.

`kernels/gpu/tiles` makes the order of tiles and has its encodings, `step.cuh` has the method.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cupy
import numpy as np

from kernels.arrays import ArcMemory
from kernels.distributed.gpu.memory import memory_of, put, zeros
from kernels.gpu.devices import spare_bytes
from kernels.gpu.loader import free_bytes, to_host
from kernels.gpu.radix_sort import KEY, sort
from kernels.gpu.tiles.bands import ALIGNED, Band, band_limits, launch_over, ordered_tasks
from kernels.graph import Array, Csr, Graph
from kernels.pagerank.constants import ROUND, THREADS, TILE_BITS

_FLOAT_BYTES = np.dtype(np.float32).itemsize
_PLAN_BYTES = 6  # of an arc in a plan, its items and partials: R-MAT 28 takes 5
_PARTIALS = 1 << 30  # most partials of a group, unless a band has more
# Of rows among which slices collect those with about equally many partials. Rows next to each other read partials that are also
# close; where they have so different numbers that more than half as many items as partials are padding, windows are large.
_WINDOW_BITS, _LARGE_WINDOW_BITS = 5, 10
# A block's warps take the next slices several times in turn if all of these together read few partials of a tile, fewer than L1
# loads at once, and if no run of slices has more than twice the items of the average one.
_AT_ONCE, _FEW, _RUN, _UNEVEN = THREADS // 32, 6, 4, 2


@dataclass(frozen=True)
class TilePlan:
    """The in-arcs of rows in the order of tiles, and the rows in slices; `S` slices, `N` tasks, `J` jobs, `G` groups of bands.

    Groups use the same partials one after the other.
    """

    # uint16: for every in-arc, its tail's row within the tile, and 2^15 on the last arc of its row in the tile and chunk.
    arcs: Array
    tasks: Array  # int64 [N, 4]: tile, first arc, numbers of arcs and of partials, first partial; ordered by group, then by tile
    jobs: Array  # int64 [J + 1]: first tasks of the jobs, each of one tile, and N
    # int64 [S, 3]: first item, items per row, and the first partial of the band, which belongs to no row; ordered by group.
    slices: Array
    # uint32: partials of a slice's rows, counted from that first one, or 0 for none; item k of lane i is at `first + 32 k + i`.
    items: Array
    # rows, degrees: index width and float32 [32 S]: row of each lane, -1 if it has none, and its out-degree.
    rows: Array
    degrees: Array
    groups: Array  # int64 [G + 1, 2]: first jobs and slices of the groups, and J and S
    num_partials: int  # of the group that has most
    num_without_arcs: int  # rows without in-arcs and out-arcs, which are in no slice
    run: int  # how many times a block's warps in turn take the next slices, before they leave those to other blocks

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The first arguments of `iterate`, in the order of TilePlan in step.cuh."""
        lanes = self.items, self.rows, self.degrees, np.int64(self.run)
        return self.tasks, self.jobs, self.arcs, self.slices, *lanes, self.groups, np.int32(len(self.groups) - 1)

    def next_shares(self, shares: Array) -> Array:
        """Where an iteration writes the next shares (float32, as many): over the shares, if there is only one group."""
        held_back: Array = shares if len(self.groups) == 2 else cupy.zeros_like(shares)
        return held_back


def sizes() -> dict[str, int]:
    """Sizes of a launch on the current GPU: a block holds a tile in shared memory where that fits. The sums are the same."""
    staged, tile = THREADS // 32 * ROUND * _FLOAT_BYTES, _FLOAT_BYTES << TILE_BITS
    held = int(staged + tile <= spare_bytes(cupy.cuda.Device().id))
    return {"TILE_IN_SHARED": held, "shared": staged + held * tile}


def plan_of(graph: Graph) -> TilePlan:
    """Return the graph's plan; the first call makes it.

    If the graph's arcs are in pinned memory of the host, and the GPU's does not hold a plan, its arcs and items are there,
    too: an iteration reads both once, in the order of their places.
    """

    def make() -> TilePlan:
        apart = memory_of(graph.into.indices) == "host" and not _surely_fits(graph.into)
        memory: ArcMemory = "host" if apart else "device"
        return make_plan(graph.into, graph.out.offsets, graph.num_vertices, memory, memory)

    return graph.derived.get(plan_of, make)


def _surely_fits(into: Csr) -> bool:
    """Whether the GPU's memory surely holds a plan, also while it is made."""
    return free_bytes() >= _PLAN_BYTES * len(into.indices)


def make_plan(
    into: Csr, out_offsets: Array, num_tails: int, arcs_in: ArcMemory = "device", items_in: ArcMemory = "device"
) -> TilePlan:
    """Make the plan of rows whose in-arcs have tails in 0..num_tails - 1, which may be more than these rows.

    `out_offsets`, as long as `into.offsets`, give the rows' out-degrees; `arcs_in` and `items_in` are the memories of these
    arrays.
    """
    num_tiles, num_rows = (num_tails >> TILE_BITS) + 1, len(out_offsets) - 1
    limits, fits = band_limits(into.offsets), items_in == "device" and _surely_fits(into)  # for the items of the bands beside all
    arcs = zeros(len(into.indices) + ALIGNED * num_tiles * len(limits), np.uint16, arcs_in)
    tasks: list[list[Any]] = []  # of each group's bands
    slices, items, rows, first_slices = [], [], [], []
    used = num_items = num_slices = num_segments = num_partials = most = 0
    for of_band in pairwise(limits):
        band = Band(into, of_band, num_tiles, TILE_BITS)
        if not tasks or num_partials + band.num_segments >= _PARTIALS:  # a new group
            tasks.append([])
            first_slices.append(num_slices)
            num_partials = 0
        tasks[-1].append(band.write_arcs(arcs, None, used, num_partials + 1))  # the band's first partial belongs to no row
        items_of_band, rows_of_lanes, slices_of_band = _slice_rows(band, out_offsets, into.indices.dtype)
        slices_of_band += cupy.asarray([num_items, 0, num_partials])
        slices.append(slices_of_band)
        items.append(items_of_band if fits else to_host(items_of_band))
        rows.append(rows_of_lanes)
        used += band.padded_arcs
        num_items += len(items_of_band)
        num_slices += len(slices_of_band)
        num_segments += band.num_segments
        num_partials += 1 + band.num_segments
        most = max(most, num_partials)
        del band
    cupy.get_default_memory_pool().free_all_blocks()
    all_rows = cupy.concatenate(rows)
    degrees = cupy.where(all_rows < 0, 0, cupy.diff(out_offsets)[all_rows]).astype(np.float32)
    without_arcs = num_rows - int(cupy.count_nonzero(all_rows >= 0))
    all_items, all_slices = put(items, items_in), cupy.concatenate(slices)
    all_tasks, jobs, groups = _in_groups(tasks, [*first_slices, num_slices])
    numbers = most, without_arcs, _run_of(all_slices, num_segments, num_tiles)
    return TilePlan(arcs, all_tasks, jobs, all_slices, all_items, all_rows, degrees, groups, *numbers)


def _in_groups(tasks: list[list[Any]], slices: list[int]) -> tuple[Array, Array, Array]:
    """The tasks, the jobs and the groups; given are the tasks of each group's bands, and where its slices begin and end."""
    ordered, jobs, num_jobs, num_tasks = [], [], [0], 0
    for of_group in tasks:
        of_tiles, firsts = ordered_tasks(of_group)
        ordered.append(of_tiles)
        jobs.append(num_tasks + firsts[:-1])
        num_jobs.append(num_jobs[-1] + len(firsts) - 1)
        num_tasks += len(of_tiles)
    jobs.append(cupy.asarray([num_tasks]))
    return cupy.concatenate(ordered), cupy.concatenate(jobs), cupy.asarray(np.stack([num_jobs, slices], axis=1))


def _run_of(slices: Any, num_segments: int, num_tiles: int) -> int:
    """TilePlan.run: the slices of a run read partials that are next to each other, which pays if the work is even."""
    if num_segments * _AT_ONCE >= _FEW * num_tiles * len(slices):
        return 1
    whole = len(slices) // (_RUN * _AT_ONCE) * _RUN * _AT_ONCE
    items = slices[:whole, 1].reshape(-1, _RUN * _AT_ONCE).sum(axis=1)
    return _RUN if len(items) and int(items.max()) * len(items) <= _UNEVEN * int(items.sum()) else 1


def _collected(rows: Any, counts: Any, window_bits: int, row: Any) -> tuple[Any, Any, Any]:
    """The rows in the order of lanes, these with -1 behind the last one, and the most partials in each slice."""
    rows = rows[cupy.argsort((rows >> window_bits) << 32 | (0xFFFFFFFF - counts[rows]))]
    padded = cupy.full(-(-len(rows) // 32) * 32, -1, row)
    padded[: len(rows)] = rows
    return rows, padded, cupy.where(padded < 0, 0, counts[padded]).reshape(-1, 32).max(axis=1)


def _slice_rows(band: Band, out_offsets: Array, row: Any) -> tuple[Any, Any, Any]:
    """Return the items, the rows of the lanes, and the slices with items counted from the band's first."""
    first, num_rows = band.first, band.num_rows
    # The partials of a row are numbered in the order of the items
    by_row = sort(band.items.view(KEY), None, 32, 32 + band.row_bits)[0].view(np.int64)
    counts = cupy.diff(cupy.searchsorted(by_row, cupy.arange(num_rows + 1) << 32))
    rows = cupy.flatnonzero((counts > 0) | (cupy.diff(out_offsets[first : first + num_rows + 1]) > 0))
    rows, padded, widths = _collected(rows, counts, _WINDOW_BITS, row)
    if 2 * 32 * int(widths.sum()) > 3 * band.num_segments:
        rows, padded, widths = _collected(rows, counts, _LARGE_WINDOW_BITS, row)
    lanes = cupy.zeros(num_rows, np.int64)
    lanes[rows] = cupy.arange(len(rows))
    first_items = cupy.cumsum(widths * 32) - widths * 32
    items = cupy.zeros(int(widths.sum()) * 32, np.uint32)
    first_of_row = cupy.cumsum(counts) - counts
    arguments = by_row, np.int64(len(by_row)), first_of_row, lanes, first_items, items
    launch_over("pagerank/slices.cu", "deal_items", len(by_row), *arguments, row=row)
    padded[: len(rows)] += row.type(first)
    return items, padded, cupy.stack([first_items, widths, cupy.zeros_like(widths)], axis=1)
