"""The passes over a rank's arcs on NumPy arrays."""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from kernels.arrays import frozen
from kernels.cpu.parallel import over_rows
from kernels.distributed.shard import Shard
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
