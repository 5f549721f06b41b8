"""Weak components over shards on GPUs: each joins what its arcs join, and the ranks join the few components that they share.

The giant component of a social network has most of all rows and ghosts. Its parts on the ranks are joined at once, when each
rank knows which of its ghosts are in their owners' giant trees, and again when the rest is read. Only ghosts that are outside
then, and that own rows have joined, are told to their owners, and joined one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from kernels.answers import Components
from kernels.cuda import cooperative, launch
from kernels.graph import Array
from kernels.sharded.communicator import Communicator
from kernels.sharded.cuda.facts import kept
from kernels.sharded.cuda.naming import find_holders, label
from kernels.sharded.halo import Halo
from kernels.sharded.naming import join_and_name
from kernels.sharded.owners import Owners
from kernels.sharded.shard import Part, Shard
from kernels.wcc.cuda import MANY_ARCS, SAMPLED_THREADS, TILE, TILE_THREADS, WARP_ROW, tile_rows

_SOURCE, _THREADS = "sharded/cuda/wcc.cu", 512
_GIANT, _FIRST = 0, 1  # places of the giant component and of the first own row, as in wcc.cu


def components(shard: Shard, communicator: Communicator, gathered: int) -> Part[Components]:
    """Answer `kernels.sharded.wcc.wcc` on CuPy arrays."""
    trees, halo = _Trees(shard), Halo(shard, communicator)
    in_giant = halo.refresh(trees.join_own())
    joined = _largest_cluster(communicator.gather(trees.meetings(in_giant)))
    trees.join_rest(in_giant, joined)
    listed, roots = trees.open_ghosts(halo.refresh(trees.members()))
    told, code = cupy.unique(cupy.concatenate([cupy.full(1, _GIANT, roots.dtype), roots]), return_inverse=True)
    here, far, source = _exchange(shard, communicator, listed, code[1:].astype(shard.ghosts.dtype))
    near = here - shard.rows.start + _FIRST
    trees.put_in_giant(near[far == _GIANT])
    # What a rank told is a vertex, and so is what it has now, after it was told itself: there it may have joined trees.
    shared, now = cupy.unique(trees.roots(cupy.concatenate([told, near])), return_inverse=True)
    owners = Owners.of_counts(len(told) + len(shared), communicator)
    others = cupy.flatnonzero(far != _GIANT)
    base = cupy.asarray(owners.bounds)
    ends = cupy.concatenate([cupy.arange(len(told)) + owners.own.start, base[source[others]] + far[others]])
    now += owners.own.start + len(told)
    now = cupy.concatenate([now[: len(told)], now[len(told) :][others]])
    return Part(Components(trees.labels(owners, *_distinct(owners, ends, now), shared, gathered)), owners.supersteps + 4)


def _distinct(owners: Owners, ends: Array, now: Array) -> tuple[Array, Array]:
    """The edges between components, each once, and one from the giant component to rank 0's."""
    total = int(owners.bounds[-1])
    edges = cupy.unique(cupy.append(ends * total + now, owners.own.start * total))
    return edges // total, edges % total


def _exchange(shard: Shard, communicator: Communicator, listed: Array, code: Array) -> tuple[Array, Array, Array]:
    """Tell the owners of the listed ghosts these codes; return the own rows told of here, codes, and the ranks they are from."""
    cuts = cupy.searchsorted(listed, cupy.asarray(shard.ghost_bounds[1:-1])).tolist()
    parts = zip(np.split(shard.ghosts[listed], cuts), np.split(code, cuts), strict=True)
    told = [part.reshape(2, -1) for part in communicator.exchange([cupy.concatenate(part) for part in parts])]
    source = np.repeat(np.arange(len(told)), [part.shape[1] for part in told])
    rows, codes = cupy.concatenate(told, axis=1)
    return rows, codes, cupy.asarray(source)


def _largest_cluster(meets: Sequence[Array]) -> Array:
    """Which ranks' giant trees are one component, bool [size]: the most that `meets`, each rank's row [size], connects."""
    linked = cupy.stack(meets).get().astype(np.bool_)
    linked |= linked.T | np.eye(len(linked), dtype=np.bool_)
    for _ in range(len(linked).bit_length()):
        linked = linked @ linked
    cluster: Array = linked[linked.sum(axis=1).argmax()]
    return cluster


def _rows_with_arcs(shard: Shard) -> int:
    return int(cupy.count_nonzero(cupy.diff(shard.local_out.offsets)))


class _Trees:
    """Union-find over a shard's own rows and ghosts; places, names and the giant component are as wcc.cu says."""

    def __init__(self, shard: Shard):
        self._shard, row = shard, shard.ghosts.dtype
        self._row, size = row, _FIRST + len(shard.ids) + shard.num_ghosts
        self._parent, self._names = cupy.empty(size, row), cupy.empty(size, row)
        self._bounds = cupy.asarray(shard.ghost_bounds)
        self._rows = (row.type(len(shard.ids)), row.type(shard.num_ghosts))
        sides = (shard.local_out, shard.local_into)
        self._arcs = (*(array for csr in sides for array in (csr.offsets, csr.indices)), np.bool_(shard.symmetric), self._rows[0])
        arcs = sum(len(csr.indices) for csr in (sides[:1] if shard.symmetric else sides))
        self._sampled = len(sides[0].indices) >= MANY_ARCS * kept(shard, "rows with out-arcs", _rows_with_arcs)
        self._queue = cupy.empty(2 * (arcs // WARP_ROW), np.int64)  # pairs
        self._control = cupy.zeros(3, np.int64)

    def join_own(self) -> Array:
        """Join by the rank's own arcs, or a sample of them; return which own rows are in the giant tree (uint8 [n])."""
        shard = self._shard
        in_giant = cupy.empty(len(shard.ids), np.uint8)
        self._run("start_ghosts", SAMPLED_THREADS, *self._rows, self._parent, self._names)
        given = (*self._arcs, shard.ranks, self._parent, self._names, self._queue, self._control)
        if self._sampled:
            self._run("join_sample", SAMPLED_THREADS, *given)
        else:
            kernel, blocks = cooperative(_SOURCE, "join_whole", TILE_THREADS, cupy.cuda.Device().id, 2 * TILE, ROW=self._row)
            tile = tile_rows(len(shard.ids), blocks, TILE)
            blocks = max(1, min(blocks, -(-len(shard.ids) // tile)))
            open_rows = cupy.empty(-(-len(shard.ids) // 32), np.uint32)
            kernel((blocks,), (TILE_THREADS,), (*given, np.int32(tile), open_rows), shared_mem=2 * TILE)
            self._run("join_ghosts", SAMPLED_THREADS, *self._arcs, self._parent, self._queue, self._control)
        self._run("find_giant", SAMPLED_THREADS, self._rows[0], self._parent, in_giant, self._control)
        return in_giant

    def meetings(self, in_giant: Array) -> Array:
        """Whose giant trees meet this rank's (uint8 [size]); `in_giant` is of the ghosts [g], as their owners have them."""
        meets = cupy.zeros(len(self._bounds) - 1, np.uint8)
        given = (*self._rows, self._parent, self._control, in_giant, self._bounds, np.int32(len(meets)), meets)
        launch(_SOURCE, "find_meetings", _THREADS, self._shard.num_ghosts, *given, ROW=self._row)
        return meets

    def join_rest(self, in_giant: Array, joined: Array) -> None:
        """Join the giant trees of the ranks `joined`, bool [size], and what a sample left."""
        ghosts = (in_giant, self._bounds, cupy.asarray(joined.view(np.uint8)), np.int32(len(joined)))
        given = (*self._arcs, self._rows[1], np.bool_(self._sampled), np.int32(self._shard.rank), *ghosts)
        self._run("join_rest", SAMPLED_THREADS, *given, self._parent, self._queue, self._control, cupy.zeros(3, np.int64))

    def members(self) -> Array:
        """Which own rows are in the giant component (uint8 [n])."""
        in_giant = cupy.empty(len(self._shard.ids), np.uint8)
        launch(_SOURCE, "find_members", _THREADS, len(in_giant), self._rows[0], self._parent, in_giant, ROW=self._row)
        return in_giant

    def open_ghosts(self, in_giant: Array) -> tuple[Array, Array]:
        """Put the ghosts that their owners have in the giant component there, too.

        Returns
        -------
        int64 [L], index width [L]
            The other ghosts that own rows have joined, ascending, and their roots.
        """
        is_open = cupy.empty(len(in_giant), np.bool_)
        given = (*self._rows, np.bool_(self._sampled), self._parent, in_giant, is_open)
        launch(_SOURCE, "find_open_ghosts", _THREADS, len(is_open), *given, ROW=self._row)
        listed = cupy.flatnonzero(is_open)
        return listed, self.roots((listed + _FIRST + len(self._shard.ids)).astype(self._row))

    def put_in_giant(self, places: Array) -> None:
        """Put the trees of these places into the giant component."""
        launch(_SOURCE, "put_in_giant", _THREADS, len(places), places, np.int64(len(places)), self._parent, ROW=self._row)

    def roots(self, places: Array) -> Array:
        """Return the roots of these places."""
        roots = cupy.empty_like(places)
        launch(_SOURCE, "find_roots", _THREADS, len(places), places, np.int64(len(places)), self._parent, roots, ROW=self._row)
        return roots

    def labels(self, owners: Owners, near: Array, far: Array, shared: Array, gathered: int) -> Array:
        """Name the own rows, when edges have joined trees of all ranks; the roots `shared` have the last of the own numbers."""
        shard, most = self._shard, np.iinfo(self._row).max
        holders = find_holders(shard.ranks, shard.rows.start, self._parent, _FIRST, self._names)
        bare = len(owners.own) - len(shared)
        ranks, rows = (cupy.concatenate([cupy.full(bare, most, self._row), part[shared]]) for part in (self._names, holders))
        holders[shared] = join_and_name(owners, near, far, ranks, rows, gathered)[bare:]
        return label(len(shard.ids), self._parent, _FIRST, holders)

    def _run(self, name: str, threads: int, *arguments: Any) -> None:
        launch(_SOURCE, name, threads, max(len(self._shard.ids), self._shard.num_ghosts), *arguments, ROW=self._row)
