"""The passes of the certificate of paths over arcs on NumPy arrays, for all rows of a graph or one rank's own rows."""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from kernels.arrays import frozen
from kernels.certificate.local_arcs import first_found
from kernels.cpu.parallel import over_rows
from kernels.graph import Array, Csr


def relax(into: Csr, weights: Array | None, distance: Array, positions: Array, nearest: Array) -> bool:
    """Lower `nearest` [n] to the least position among tight in-arcs from strictly nearer rows; return whether an arc is loose.

    Parameters
    ----------
    into : Csr
        In-arcs of n rows.
    weights : [arcs], or None
        Of the in-arcs; None if all weigh 1.
    distance : int64 or float64
        Of the n rows and of all others that `into` names.
    positions : index width
        Of the same rows in ascending order of external ids.
    """
    arcs = frozen(into.offsets), frozen(into.indices), None if weights is None else frozen(weights)
    rows = frozen(distance), frozen(positions), _greatest_sum(distance), nearest
    return any(over_rows(into, partial(_relax, *arcs, *rows)))


def first_loose(out: Csr, weights: Array | None, distance: Array) -> int:
    """The first loose out-arc, or -1; parameters as for `relax`."""
    arcs = frozen(out.offsets), frozen(out.indices), None if weights is None else frozen(weights)
    return first_found(over_rows(out, partial(_first_loose, *arcs, frozen(distance), _greatest_sum(distance))))


def _greatest_sum(distance: Array) -> float:
    """The largest sum that the type of `distance` holds."""
    return np.iinfo(np.int64).max if distance.dtype.kind == "i" else np.inf


@njit(cache=True, nogil=True)
def _relax(
    offsets: Array, indices: Array, weights: Array | None, known: Array, positions: Array, greatest: float, nearest: Array,
    begin: int, end: int,
) -> bool:  # fmt: skip
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
                continue  # the sum exceeds int64, so it exceeds every distance
            length = near + weight
            if length < far:
                return True
            if length == far and near < far and positions[u] < nearest[v]:
                nearest[v] = positions[u]
    return False


@njit(cache=True, nogil=True)
def _first_loose(
    offsets: Array, indices: Array, weights: Array | None, known: Array, greatest: float, begin: int, end: int
) -> int:
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
