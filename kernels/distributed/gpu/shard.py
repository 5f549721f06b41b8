"""Shards of CuPy arrays, which keep their arcs by local numbers only (numbering.cu).

Arcs are copied once, to where they stay, and numbered in place. Beside the shard the device holds, while it is made, a quarter of
a byte for each row of the whole graph: twice that from 2^31 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from kernels.distributed.dealing import Dealing
from kernels.distributed.gpu.memory import put
from kernels.distributed.shard import LocalArcs, Place, Shard
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Csr, joined_offsets

_THREADS = 256
_PIECE = 1 << 24  # rows of `rows_by_id` on the device at a time


def assemble(
    rank: int, dealing: Dealing, ids: Array, rows_by_id: Array, out: Sequence[Csr], into: Sequence[Csr], place: Place
) -> Shard:
    """Answer `kernels.distributed.shard.assemble` with CuPy arrays; those given may be NumPy's, also memory maps, or CuPy's."""
    bounds = dealing.bounds
    rows, num_vertices = range(int(bounds[rank]), int(bounds[rank + 1])), int(bounds[-1])
    numbering = _Numbering(rows, num_vertices, out[0].indices.dtype)
    directions = (out,) if into is out else (out, into)
    ends = [put([csr.indices for csr in parts], place) for parts in directions]
    for far in ends:
        dealing.dealt(far, far)
    ghosts = numbering.find(ends)
    ranks, ghost_positions = numbering.places(rows_by_id, dealing, len(ghosts))
    arcs = [
        LocalArcs(numbering.number(parts, far, len(ghosts), place), rows.start, len(rows), ghosts)
        for parts, far in zip(directions, ends, strict=True)
    ]
    return Shard(rank, bounds, cupy.asarray(ids), ranks, arcs[0], arcs[-1], ghosts, ghost_positions)


def to_device(shard: Shard, place: Place) -> Shard:
    """Answer `kernels.distributed.shard.to_device`."""
    ids, ranks, ghosts, ghost_positions = (
        cupy.array(array) for array in (shard.ids, shard.positions, shard.ghosts, shard.ghost_positions)
    )

    def moved(csr: Csr) -> Csr:
        return LocalArcs(local_arcs(shard, csr, place), shard.rows.start, len(shard.rows), ghosts)

    out = moved(shard.out)
    into = out if shard.symmetric else moved(shard.into)
    return Shard(shard.rank, shard.bounds, ids, ranks, out, into, ghosts, ghost_positions)


def local_arcs(shard: Shard, csr: Csr, place: Place = "device") -> Csr:
    """The arcs by local numbers, on the device, of a shard whose arrays may be NumPy's or CuPy's."""
    numbering = _Numbering(shard.rows, shard.num_vertices, shard.ghosts.dtype)
    numbering.find([cupy.asarray(shard.ghosts)])
    return numbering.number([csr], put([csr.indices], place), shard.num_ghosts, place)


def ghosts_of(rows: range, ends: list[Array]) -> Array:
    """Answer `kernels.distributed.shard.ghosts_of`."""
    greatest = max((int(far.max()) for far in ends if len(far)), default=0)
    return _Numbering(rows, greatest + 1, ends[0].dtype).find(ends)


class _Numbering:
    """Which rows are ghosts, a bit each, and how many stand before every 32nd."""

    def __init__(self, rows: range, num_vertices: int, row: np.dtype[Any]):
        self._rows, self._row = rows, row
        self._words = num_vertices // 32 + 1
        self._marks = cupy.zeros(self._words, np.uint32)
        self._own = np.int64(rows.start), np.int64(rows.stop)

    def find(self, ends: list[Array]) -> Array:
        """Return the ghosts among rows, ascending, each once. To be called once."""
        for rows in ends:
            self._launch("mark_ghosts", len(rows), rows, np.int64(len(rows)), *self._own, self._marks)
        counts = cupy.zeros(self._words + 1, self._row)
        self._launch("count_ghosts", self._words, self._marks, np.int64(self._words), counts[1:])
        self._before = cupy.cumsum(counts, dtype=self._row)
        ghosts = cupy.empty(int(self._before[-1]), self._row)
        self._launch("list_ghosts", self._words, self._marks, self._before, np.int64(self._words), ghosts)
        return ghosts

    def number(self, parts: Sequence[Csr], ends: Array, num_ghosts: int, place: Place) -> Csr:
        """The arcs of all parts by local numbers, ghosts' rows included; `ends`, the rows at their ends, are overwritten."""
        self._launch("number_arcs", len(ends), ends, np.int64(len(ends)), *self._own, self._marks, self._before)
        of_own = joined_offsets(parts)
        offsets = cupy.full(len(of_own) + num_ghosts, len(ends), OFFSET)
        offsets[: len(of_own)] = cupy.asarray(of_own)
        weights = None if parts[0].weights is None else put([csr.weights for csr in parts], place)
        return Csr(offsets, ends, weights)

    def places(self, rows_by_id: Array, dealing: Dealing, num_ghosts: int) -> tuple[Array, Array]:
        """Places in the order of external ids, of the own rows and of the ghosts; `rows_by_id` are stored rows."""
        ranks, ghost_positions = cupy.empty(len(self._rows), self._row), cupy.empty(num_ghosts, self._row)
        there = self._marks, self._before, ranks, ghost_positions
        for first in range(0, len(rows_by_id), _PIECE):
            rows = dealing.dealt(cupy.asarray(rows_by_id[first : first + _PIECE]))
            self._launch("place_rows", len(rows), rows, np.int64(len(rows)), np.int64(first), *self._own, *there)
        return ranks, ghost_positions

    def _launch(self, kernel: str, threads: int, *arguments: Any) -> None:
        launch("distributed/gpu/numbering.cu", kernel, _THREADS, threads, *arguments, ROW=self._row)
