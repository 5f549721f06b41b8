"""Forests of method "tree" over shards, and the intervals that they give: `kernels.reachability` defines both.

A node draws its parent where its in-arcs are. The numbers of a subtree begin where its parent's begin, plus what the siblings
visited earlier take; this second part is known where the parent's row is, before anyone knows where the parent's begin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kernels.backend import frozen
from kernels.graph import NO_ROW, OFFSET, Array, Csr
from kernels.reachability.keys import key, salt_of
from kernels.reachability.numbering import widen
from kernels.sharded.columns import exchange_columns
from kernels.sharded.halo import Halo
from kernels.sharded.sweeps import Schedule, Work


class Way(NamedTuple):
    """The DAG in one direction, by local numbers: where arcs come from and lead to, depths, and how a sweep goes along them."""

    near: Csr
    far: Csr
    depth: Array
    schedule: Schedule


class Forest:
    """The forest of one dimension, its own nodes' parts.

    Attributes
    ----------
    first, last, low, post : index width [n + g]
        As `kernels.answers.Labels` has them, once the works are done in the order in which they stand here.
    """

    def __init__(self, halo: Halo, way: Way, seed: int, dimension: int):
        self._halo, self._way, self._ascending = halo, way, dimension == 0
        self._salt = np.uint64(0) if self._ascending else salt_of(seed, dimension)
        shard = halo.shard
        self._numbers, num_own = shard.local_rows, len(shard.ids)
        self._parent = np.full(num_own, NO_ROW, self._numbers.dtype)
        arcs = frozen(way.near.offsets), frozen(way.near.indices)
        _draw(*arcs, self._numbers, way.depth, self._salt, self._ascending, self._parent)
        named = np.where(self._parent == NO_ROW, self._parent, self._numbers[self._parent])
        self._named_parent = halo.extended(named)
        self._size, self._before, self.first = (np.zeros_like(self._numbers) for _ in range(3))

    def sizing(self) -> Work:
        """Backwards: sizes of subtrees, and what a parent's children get of its numbers."""
        rows = frozen(self._way.far.offsets), frozen(self._way.far.indices)
        trees = self._named_parent, self._size, self._before
        turn = self._salt, self._ascending, self._halo.shard.num_vertices
        return Work(lambda nodes: _deal(*rows, nodes, self._numbers, *trees, *turn), [self._size])

    def placing(self) -> Work:
        """Forwards: the first number of each subtree. Begins with a collective."""
        self._tell_children()
        self._place_roots()
        return Work(lambda nodes: _descend(nodes, self._parent, self._before, self.first), [self.first])

    def widening(self) -> Work:
        """Backwards: the extremes of what each node reaches."""
        self.last = self.first + self._size - 1
        self.low, self.post = self.last.copy(), self.last.copy()
        rows = frozen(self._way.far.offsets), frozen(self._way.far.indices)
        return Work(lambda nodes: widen(*rows, nodes[::-1].copy(), self.low, self.post), [self.low, self.post])

    def _tell_children(self) -> None:
        """Send what ghosts get of the numbers of their parents, which are own nodes, to the ghosts' owners."""
        shard = self._halo.shard
        num_own = len(shard.ids)
        parent = self._named_parent[num_own:]
        places = np.flatnonzero((parent >= shard.rows.start) & (parent < shard.rows.stop))
        cuts = np.searchsorted(places, shard.ghost_bounds[1:-1]).tolist()
        told = np.split(shard.ghosts[places], cuts), np.split(self._before[num_own:][places], cuts)
        nodes, before = exchange_columns(self._halo.communicator, *told)
        self._before[nodes - shard.rows.start] = before

    def _place_roots(self) -> None:
        """Fill in the first numbers of the roots' subtrees, which are visited as the heads of a virtual node are."""
        communicator, num_nodes = self._halo.communicator, self._halo.shard.num_vertices
        roots = np.flatnonzero(self._parent == NO_ROW)
        sizes = self._size[roots].astype(OFFSET)
        counts = np.stack(communicator.gather(np.array([len(roots), sizes.sum()], OFFSET)))
        (count, total), (first, taken) = counts.sum(axis=0), counts[: communicator.rank].sum(axis=0)
        if not count:
            return
        drawn = 0 if self._ascending else int(key(self._salt, num_nodes, num_nodes))
        start, backwards = (drawn >> 1) % int(count), drawn % 2 == 1
        upto = taken + np.cumsum(sizes)
        # What the roots up to where the visit starts take: where it goes backwards, that root included.
        at = start - first
        mine = at in range(len(roots))
        zero = int(communicator.total(np.array([(upto[at] - (0 if backwards else sizes[at])) if mine else 0], OFFSET))[0])
        before = (zero - upto if backwards else upto - sizes - zero) % total
        self.first[roots] = 1 + before


@njit(cache=True, nogil=True)
def _draw(offsets, indices, numbers, depth, salt, ascending, parent):  # type: ignore[no-untyped-def]
    """Draw each own node's parent, by its local number; a row's other ends ascend by their numbers."""
    for node in range(len(parent)):
        smallest = np.uint64(0)
        for arc in range(offsets[node], offsets[node + 1]):
            tail = indices[arc]
            if depth[tail] == depth[node] - 1:
                if ascending:
                    parent[node] = tail
                    break
                drawn = key(salt, numbers[tail], numbers[node])
                if parent[node] < 0 or drawn < smallest:
                    smallest = drawn
                    parent[node] = tail


@njit(cache=True, nogil=True)
def _deal(  # type: ignore[no-untyped-def]
    offsets, indices, nodes, numbers, parent, size, before, salt, ascending, num_nodes
):  # fmt: skip
    """Size the subtrees of `nodes`, and fill in what the children of each get, in the turned order of its row."""
    for node in nodes:
        begin, length = offsets[node], offsets[node + 1] - offsets[node]
        turn = np.uint64(0) if ascending else key(salt, numbers[node], num_nodes)
        place = np.int64((turn >> np.uint64(1)) % np.uint64(length)) if length else 0
        step = -1 if turn & np.uint64(1) else 1
        taken = 0
        for _ in range(length):
            child = indices[begin + place]
            if parent[child] == numbers[node]:
                before[child] = taken
                taken += size[child]
            place += step
            if place == length:
                place = 0
            elif place < 0:
                place = length - 1
        size[node] = taken + 1


@njit(cache=True, nogil=True)
def _descend(nodes, parent, before, first):  # type: ignore[no-untyped-def]
    for node in nodes:
        if parent[node] >= 0:
            first[node] = first[parent[node]] + before[node]
