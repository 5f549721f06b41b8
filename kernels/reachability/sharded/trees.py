"""Forests of method "tree" over shards, and the intervals that they give: `kernels.reachability` defines both.

A node draws its parent where its in-arcs are. The numbers of a subtree begin where its parent's begin, plus what the siblings
visited earlier take; this second part is known where the parent's row is, before anyone knows where the parent's begin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from kernels.arrays import frozen, is_cupy
from kernels.distributed.columns import exchange_columns
from kernels.distributed.halo import Halo
from kernels.graph import NO_ROW, OFFSET, Array
from kernels.reachability.keys import key, salt_of
from kernels.reachability.labels.numbering import widen
from kernels.reachability.labels.supports import gather_bits
from kernels.reachability.sharded.sweeps import Way, Work


class Forest:
    """The forest of one dimension, its own nodes' parts. To make one is a collective.

    Attributes
    ----------
    way : Way
    numbers : index width [n + g]
        Of own nodes and ghosts in the whole graph, of `num_nodes`.
    ascending, salt
        Whether rows are visited as they are, as those of dimension 0 are; else what the dimension's keys have in common.
    parent : index width [n + g]
        By local numbers; NO_ROW for roots, and for ghosts whose parents others own.
    size, before : index width [n + g]
        Of subtrees, and what the siblings that are visited before take.
    first, last, low, post : index width [n + g]
        As `kernels.answers.Labels` has them, of the own nodes.
    """

    last: Array
    low: Array
    post: Array

    def __init__(self, halo: Halo, way: Way, seed: int, dimension: int):
        self._halo, self.way, self.ascending = halo, way, dimension == 0
        self.salt = np.uint64(0) if self.ascending else salt_of(seed, dimension)
        shard = halo.shard
        self.numbers, self.num_nodes, self.num_own = shard.local_rows, shard.num_vertices, len(shard.ids)
        self.parent = self._drawn_parents()
        self.size, self.before, self.first = (np.zeros_like(self.numbers) for _ in range(3))

    def _drawn_parents(self) -> Array:
        start, near = self._halo.shard.rows.start, self.way.near
        parent = np.full_like(self.numbers[: self.num_own], NO_ROW)
        if is_cupy(near):
            from kernels.reachability.sharded import cuda_sweeps as cuda

            cuda.draw(self.way, self, parent)
        else:
            turn = self.salt, self.ascending
            _draw(frozen(near.offsets), frozen(near.indices), self.numbers, self.way.depth, *turn, parent)
        of_ghosts = self._halo.refresh(np.where(parent == NO_ROW, parent, self.numbers[parent])) - start
        of_ghosts[(of_ghosts < 0) | (of_ghosts >= self.num_own)] = NO_ROW
        return np.concatenate([parent, of_ghosts])

    def tell_children(self) -> None:
        """Send what ghosts get of the numbers of their parents, which are own nodes, to the ghosts' owners. A collective."""
        shard = self._halo.shard
        places = np.flatnonzero(self.parent[self.num_own :] != NO_ROW)
        cuts = np.searchsorted(places, np.asarray(shard.ghost_bounds[1:-1], like=places)).tolist()
        told = np.split(shard.ghosts[places], cuts), np.split(self.before[self.num_own :][places], cuts)
        nodes, before = exchange_columns(self._halo.communicator, *told)
        self.before[nodes - shard.rows.start] = before

    def place_roots(self) -> None:
        """Fill in the first numbers of the roots' subtrees, visited as the heads of a virtual node are. A collective."""
        communicator = self._halo.communicator
        roots = np.flatnonzero(self.parent[: self.num_own] == NO_ROW)
        sizes = self.size[roots].astype(OFFSET)
        counts = np.stack(communicator.gather(np.array([len(roots), int(sizes.sum())], OFFSET)))
        (count, total), (first, taken) = counts.sum(axis=0).tolist(), counts[: communicator.rank].sum(axis=0).tolist()
        if not count:
            return
        drawn = 0 if self.ascending else int(key(self.salt, self.num_nodes, self.num_nodes))
        start, backwards = (drawn >> 1) % count, drawn % 2 == 1
        upto = taken + np.cumsum(sizes)
        # What the roots up to where the visit starts take: where it goes backwards, that root included.
        at = start - first
        mine = at in range(len(roots))
        zero = int(communicator.total(np.array([int(upto[at] - (0 if backwards else sizes[at])) if mine else 0], OFFSET))[0])
        before = (zero - upto if backwards else upto - sizes - zero) % total
        self.first[roots] = 1 + before


def measuring(way: Way, bits: Array, forests: Sequence[Forest]) -> list[Work]:
    """Give each node the `bits` (uint64 [n + g]) of what it comes after; size the subtrees of forests that grow against `way`.

    On the CPU they deal what a parent's children get of its numbers, too.
    """
    if is_cupy(way.near):
        from kernels.reachability.sharded import cuda_sweeps as cuda

        return cuda.measuring(way, bits, forests)
    rows = frozen(way.near.offsets), frozen(way.near.indices)
    return [Work(lambda nodes: gather_bits(*rows, nodes, bits), [bits]), *(_sizing(forest) for forest in forests)]


def placing(forests: Sequence[Forest]) -> list[Work]:
    """The first number of each subtree, where sizes are known. A collective."""
    if not forests:
        return []
    if is_cupy(forests[0].way.far):
        from kernels.reachability.sharded import cuda_sweeps as cuda

        for forest in forests:
            cuda.deal(forest)
        works = [cuda.placing(forest) for forest in forests]
    else:
        works = [_placing(forest) for forest in forests]
    for forest in forests:
        forest.tell_children()
        forest.place_roots()
    return works


def widening(forests: Sequence[Forest]) -> list[Work]:
    """Backwards: the extremes of what each node reaches, where first numbers are known."""
    if forests and is_cupy(forests[0].way.far):
        from kernels.reachability.sharded import cuda_sweeps as cuda

        return cuda.widening(forests)
    return [_widening(forest) for forest in forests]


def _sizing(forest: Forest) -> Work:
    rows = frozen(forest.way.far.offsets), frozen(forest.way.far.indices)
    trees, turn = (forest.parent, forest.size, forest.before), (forest.salt, forest.ascending, forest.num_nodes)
    return Work(lambda nodes: _deal(*rows, nodes, forest.numbers, *trees, *turn), [forest.size])


def _placing(forest: Forest) -> Work:
    return Work(lambda nodes: _descend(nodes, forest.parent, forest.before, forest.first), [forest.first])


def _widening(forest: Forest) -> Work:
    forest.last = forest.first + forest.size - 1
    forest.low, forest.post = forest.last.copy(), forest.last.copy()
    rows = frozen(forest.way.far.offsets), frozen(forest.way.far.indices)
    return Work(lambda nodes: widen(*rows, nodes[::-1].copy(), forest.low, forest.post), [forest.low, forest.post])


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
            if parent[child] == node:
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
