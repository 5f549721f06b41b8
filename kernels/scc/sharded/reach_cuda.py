"""Steps of a round on the arcs that are left: peel off rows on no cycle, and find the first row that reaches each row."""

from dataclasses import dataclass

import cupy
import numpy as np

from kernels.components.arc_chunks import arc_chunks
from kernels.distributed import Halo, settle
from kernels.distributed.gpu.bits import HaloBits
from kernels.distributed.gpu.constants import LEVEL_CHUNK, LEVEL_LANE_ARCS, LEVEL_THREADS
from kernels.distributed.gpu.levels import Levels
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Csr

_SOURCE = "scc/sharded/reach.cu"


@dataclass(frozen=True)
class ArcsLeft:
    """The arcs left of own rows, to local rows."""

    out: Csr
    into: Csr

    def within(self, classes: Array) -> "ArcsLeft":
        """The arcs whose endpoints are in the same class; `classes` (uint32 [n + g]) are 0 for rows that lose all arcs."""
        return ArcsLeft(_within(self.out, classes), _within(self.into, classes))


def _within(csr: Csr, classes: Array) -> Csr:
    offsets, row = csr.offsets, csr.indices.dtype
    num_own = len(offsets) - 1
    large = cupy.flatnonzero(cupy.diff(offsets) >= LEVEL_LANE_ARCS).astype(row)
    chunk_rows, chunk_firsts = arc_chunks(offsets, large, LEVEL_CHUNK)
    given = (offsets, csr.indices, row.type(num_own), classes, chunk_rows, chunk_firsts, np.int64(len(chunk_rows)))
    kept = cupy.zeros(num_own + 1, OFFSET)
    launch(_SOURCE, "count_kept", LEVEL_THREADS, max(num_own, 32 * len(chunk_rows)), *given, kept[1:], ROW=row)
    kept = cupy.cumsum(kept)
    indices = cupy.empty(int(kept[-1]), row)
    launch(_SOURCE, "keep", LEVEL_THREADS, max(num_own, 32 * len(chunk_rows)), *given, kept.copy(), indices, ROW=row)
    return Csr(kept, indices, None)


def trim(arcs: ArcsLeft, halo: Halo, unfound: Array) -> tuple[Array, int]:
    """Find rows on no cycle, by repeatedly peeling off rows without in-arcs or without out-arcs.

    Args:
        unfound (bool [n]): Own rows to consider; the others have no arcs.

    Returns:
        bool [n].
        Supersteps.
    """
    row, num_own, num_ghosts = arcs.out.indices.dtype, len(unfound), halo.shard.num_ghosts
    out, into = (cupy.diff(csr.offsets).astype(row) for csr in (arcs.out, arcs.into))
    lost_out, lost_in = cupy.zeros(num_ghosts, row), cupy.zeros(num_ghosts, row)
    gone = cupy.zeros(num_own, np.uint32)
    levels = Levels(_SOURCE, "peel", row, 2 * num_own + (len(arcs.out.indices) + len(arcs.into.indices)) // LEVEL_CHUNK)
    sides = (arcs.out.offsets, arcs.out.indices, arcs.into.offsets, arcs.into.indices, row.type(num_own))
    rows, supersteps = cupy.flatnonzero(unfound & ((out == 0) | (into == 0))), 0
    while halo.communicator.any(len(rows)):
        levels.run(*sides, rows.astype(row), np.int64(len(rows)), out, into, lost_out, lost_in, gone)
        rows = _subtract_lost(halo, lost_out, lost_in, out, into)
        rows = rows[(gone[rows] == 0) & ((out[rows] == 0) | (into[rows] == 0))]
        supersteps += 1
    return gone != 0, supersteps


def _subtract_lost(halo: Halo, lost_out: Array, lost_in: Array, out: Array, into: Array) -> Array:
    """Subtract from own rows' degrees the arcs that they lost on other ranks, and clear those counts; return these own rows."""
    ghosts = cupy.flatnonzero(lost_out | lost_in)
    rows, fewer_out, fewer_in = halo.send(ghosts, lost_out, lost_in)
    lost_out[ghosts], lost_in[ghosts] = 0, 0
    for degrees, fewer in ((out, fewer_out), (into, fewer_in)):
        launch(_SOURCE, "subtract", LEVEL_THREADS, len(rows), rows, fewer, np.int64(len(rows)), degrees, ROW=rows.dtype)
    lost: Array = cupy.unique(rows)
    return lost


def first_reaching(arcs: Csr, halo: Halo, order: Array, inactive: Array) -> tuple[Array, int]:
    """Find the first row in the order that reaches each row; a row reaches itself.

    Args:
        arcs: Out-arcs left; in-arcs, to find the first row that each row reaches.
        order (uint64 [n + g]): Places of the local rows in the order, all different. The rows that the first row (place 0)
            reaches are found by a search of their own and not visited again.
        inactive (bool [n + g]): Rows that take no part.

    Returns:
        uint64 [n]: The place of that row.
        Supersteps.
    """
    row, num_own = arcs.indices.dtype, len(halo.shard.ids)
    marked, steps = _reach_from_pivot(arcs, halo, cupy.flatnonzero((order[:num_own] == 0) & ~inactive[:num_own]), inactive)
    first = cupy.where(halo.extended(marked), np.uint64(0), order)
    stamps = cupy.zeros(num_own, np.uint32)
    levels = Levels(_SOURCE, "spread", row, num_own + len(arcs.indices) // LEVEL_CHUNK)

    def relax(starts: Array) -> None:
        levels.run(arcs.offsets, arcs.indices, row.type(num_own), starts.astype(row), np.int64(len(starts)), first, stamps)

    rest = cupy.flatnonzero(~marked & (cupy.diff(arcs.offsets) > 0))
    return first[:num_own], steps + 1 + settle(halo, relax, first, rest)


def _reach_from_pivot(arcs: Csr, halo: Halo, rows: Array, inactive: Array) -> tuple[Array, int]:
    """Return which own rows are inactive or reached by the pivot (bool [n]), and supersteps; `rows` is the pivot on its owner."""
    row, num_own, supersteps = arcs.indices.dtype, len(halo.shard.ids), 0
    bits, levels = HaloBits(halo), Levels(_SOURCE, "mark", row, num_own + len(arcs.indices) // LEVEL_CHUNK)
    closed = inactive.copy()
    closed[rows] = True
    marks = bits.empty()
    packed = cupy.packbits(closed, bitorder="little")
    marks.view(np.uint8)[: len(packed)] = packed
    while halo.communicator.any(len(rows)):
        levels.run(arcs.offsets, arcs.indices, row.type(num_own), rows.astype(row), np.int64(len(rows)), marks)
        before = marks.copy()
        bits.mark_owners(marks)
        rows = cupy.flatnonzero(_unpacked(marks & ~before, num_own))
        supersteps += 1
    return _unpacked(marks, num_own), supersteps


def _unpacked(marks: Array, count: int) -> Array:
    unpacked: Array = cupy.unpackbits(marks.view(np.uint8), bitorder="little")[:count].view(np.bool_)
    return unpacked
