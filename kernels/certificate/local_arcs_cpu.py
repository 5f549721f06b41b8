"""The passes over a rank's arcs on NumPy arrays."""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from kernels.arrays import frozen
from kernels.cpu.parallel import over_rows
from kernels.distributed.shard import Shard
from kernels.forest.certificate.hierarchy import Hierarchy
from kernels.graph import Array, Csr


def relax(shard: Shard, weights: Array | None, known: Array, ranks: Array, nearest: Array) -> bool:
    """Take the tight in-arcs of own rows from strictly nearer ones into `nearest` [n]; return whether an arc is not relaxed.

    `known` [n + g] are distances, `weights` the in-arcs' or None for 1, and `ranks` [n + g] places in the order of ids.
    """
    into = _own(shard, shard.local_into)
    arcs = frozen(into.offsets), frozen(into.indices), None if weights is None else frozen(weights)
    return any(over_rows(into, partial(_relax, *arcs, frozen(known), frozen(ranks), _greatest(known), nearest)))


def first_loose(shard: Shard, weights: Array | None, known: Array) -> int:
    """The first own out-arc that is not relaxed, or -1."""
    out = _own(shard, shard.local_out)
    arcs = frozen(out.offsets), frozen(out.indices), None if weights is None else frozen(weights)
    found = over_rows(out, partial(_first_loose, *arcs, frozen(known), _greatest(known)))
    return next((arc for arc in found if arc >= 0), -1)


def _own(shard: Shard, csr: Csr) -> Csr:
    return Csr(csr.offsets[: len(shard.ids) + 1], csr.indices, None)


def _greatest(known: Array) -> float:
    return np.iinfo(np.int64).max if known.dtype.kind == "i" else np.inf


@njit(cache=True, nogil=True)
def _relax(offsets, indices, weights, known, ranks, greatest, nearest, begin, end):  # type: ignore[no-untyped-def]
    for v in range(begin, end):
        far = known[v]
        for arc in range(offsets[v], offsets[v + 1]):
            u = indices[arc]
            near = known[u]
            if near < 0:
                continue
            if far < 0:
                return True
            weight = 1 if weights is None else weights[arc]
            if weight > greatest - near:
                continue  # the sum leaves int64, so it is over any distance
            length = near + weight
            if length < far:
                return True
            if length == far and near < far and ranks[u] < nearest[v]:
                nearest[v] = ranks[u]
    return False


@njit(cache=True, nogil=True)
def _first_loose(offsets, indices, weights, known, greatest, begin, end):  # type: ignore[no-untyped-def]
    for u in range(begin, end):
        near = known[u]
        if near < 0:
            continue
        for arc in range(offsets[u], offsets[u + 1]):
            far = known[indices[arc]]
            weight = 1 if weights is None else weights[arc]
            if far < 0 or (weight <= greatest - near and near + weight < far):
                return arc
    return -1


def first_across(shard: Shard, labels: Array) -> int:
    """The first own out-arc that joins two classes, or -1; `labels` are [n + g]."""
    out = _own(shard, shard.local_out)
    found = over_rows(out, partial(_first_across, frozen(out.offsets), frozen(out.indices), frozen(labels)))
    return next((arc for arc in found if arc >= 0), -1)


def trees(shard: Shard) -> Array:
    """The smallest local number that the rank's own arcs connect with each one: index width [n + g]."""
    parent = np.arange(len(shard.local_rows), dtype=shard.ghosts.dtype)
    for csr in (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into):
        _unite(frozen(csr.offsets), frozen(csr.indices), parent, len(shard.ids))
    _flatten(parent)
    return parent


def count_entering(arcs: Csr, classes: Array, num_own: int, entering: Array) -> None:
    """Add to `entering` [classes] how many arcs of own rows lead into each class from another one."""
    _count_entering(frozen(arcs.offsets), frozen(arcs.indices), frozen(classes), num_own, entering)


def peel(
    arcs: Csr, classes: Array, home: Array, num_own: int, waits: bool, waiting: Array, read: Array, left: Array, starts: Array
) -> None:
    """Search inside the classes from `starts`, as far as the rank's own arcs lead.

    Parameters
    ----------
    arcs : Csr
        Of own rows to local numbers.
    classes : [n + g]
        Numbers of classes.
    home : [classes]
        The own row that names a class; -1 where another rank has it.
    num_own : int
    waits : bool
        Whether a class is searched only when the arcs into it are read.
    waiting : int64 [n]
        How many are not, for the class that an own row names; lowered.
    read : int64 [classes]
        How many were read, for a class whose name another rank has; raised.
    left : uint32 [n + g]
        0 where reached, own rows and ghosts; lowered.
    starts : index width [S]
        Own rows that were reached just now.
    """
    _peel(frozen(arcs.offsets), frozen(arcs.indices), frozen(classes), frozen(home), num_own, waits, waiting, read, left, starts)


@njit(cache=True, nogil=True)
def _first_across(offsets, indices, labels, begin, end):  # type: ignore[no-untyped-def]
    for u in range(begin, end):
        for arc in range(offsets[u], offsets[u + 1]):
            if labels[indices[arc]] != labels[u]:
                return arc
    return -1


@njit(cache=True, nogil=True)
def _root(parent, row):  # type: ignore[no-untyped-def]
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row


@njit(cache=True, nogil=True)
def _unite(offsets, indices, parent, num_own):  # type: ignore[no-untyped-def]
    for u in range(num_own):
        for arc in range(offsets[u], offsets[u + 1]):
            one, other = _root(parent, u), _root(parent, indices[arc])
            parent[max(one, other)] = min(one, other)


@njit(cache=True, nogil=True)
def _flatten(parent):  # type: ignore[no-untyped-def]
    for row in range(len(parent)):
        parent[row] = parent[parent[row]]


@njit(cache=True, nogil=True)
def _count_entering(offsets, indices, classes, num_own, entering):  # type: ignore[no-untyped-def]
    for u in range(num_own):
        for arc in range(offsets[u], offsets[u + 1]):
            entering[classes[indices[arc]]] += classes[indices[arc]] != classes[u]


@njit(cache=True, nogil=True)
def _peel(offsets, indices, classes, home, num_own, waits, waiting, read, left, starts):  # type: ignore[no-untyped-def]
    stack = np.empty(num_own + 1, np.int64)
    for start in starts:
        stack[0], size = start, 1
        while size:
            size -= 1
            u = stack[size]
            for arc in range(offsets[u], offsets[u + 1]):
                v = indices[arc]
                if classes[v] != classes[u]:
                    if not waits:
                        continue
                    label = home[classes[v]]
                    if label < 0:
                        read[classes[v]] += 1
                        continue
                    waiting[label] -= 1
                    if waiting[label] > 0:
                        continue
                    v = label
                if left[v]:
                    left[v] = 0
                    if v < num_own:
                        stack[size] = v
                        size += 1


def first_contradiction(shard: Shard, ranks: Array, tree: Hierarchy, greatest: Array) -> tuple[int, int]:
    """The first own out-arc that the greatest edge between its ends contradicts, and the time of that edge, -1 for none.

    (-1, -1) where no arc is contradicted. `ranks` [n + g] are places in the order of ids; `greatest` are the weights of
    `tree.edges`. Of a symmetric graph's arcs those are asked that leave the smaller id.
    """
    out = _own(shard, shard.local_out)
    arcs = frozen(out.offsets), frozen(out.indices), None if shard.out.weights is None else frozen(shard.out.weights)
    ways = tree.parent, tree.time, tree.root, tree.top, greatest, tree.edges.low, tree.edges.high
    found = over_rows(out, partial(_first_contradiction, *arcs, frozen(ranks), shard.symmetric, *map(frozen, ways)))
    return next((pair for pair in found if pair[0] >= 0), (-1, -1))


@njit(cache=True, nogil=True)
def _first_contradiction(offsets, indices, weights, ranks, symmetric, parent, time, root, top, greatest, lows, highs, begin, end):  # type: ignore[no-untyped-def]
    for u in range(begin, end):
        for arc in range(offsets[u], offsets[u + 1]):
            v = indices[arc]
            if u == v or (symmetric and ranks[u] > ranks[v]):
                continue  # the reverse, of the same weight, is asked
            if root[u] != root[v]:
                return arc, -1
            weight = 1 if weights is None else weights[arc]
            if weight > greatest[max(top[u], top[v])]:
                continue
            one, other, last = np.int64(u), np.int64(v), np.int64(-1)
            while one != other:
                last = max(last, time[one], time[other])
                one, other = parent[one], parent[other]
            if weight < greatest[last]:
                return arc, last
            ends = min(ranks[u], ranks[v]), max(ranks[u], ranks[v])
            if weight == greatest[last] and ends < (lows[last], highs[last]):
                return arc, last
    return -1, -1
