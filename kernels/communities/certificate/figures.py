"""Figures that a proof of communities states: how many are not connected, and the modularity, from sums over arcs and labels."""

from typing import NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import OFFSET, Array, Csr

_BITS = 20


class ArcSums(NamedTuple):
    """Sums over all arcs and labels."""

    inside: int  # arcs within communities
    # Sums of out_c in_c over communities c, with the parts of out_c from bit 20 on and below: their own may exceed int64.
    high: int
    low: int


def connected(apart: int, named: int) -> str:
    """How many communities are not connected."""
    return f"{apart} of {named} communities are not connected"


def modularity(arcs: int, sums: ArcSums) -> str:
    """The modularity as a fraction of integers, and rounded."""
    if not arcs:
        return "modularity is 0: there is no arc"
    above = arcs * sums.inside - (sums.high << _BITS) - sums.low
    return f"modularity is {above} / {arcs * arcs}, {above / (arcs * arcs):.6f}"


def products(tails: Array, heads: Array) -> tuple[int, int]:
    """`ArcSums.high` and `low`, from out_c and in_c, int64; neither exceeds int64 below 2^43 arcs."""
    return int(((tails >> _BITS) * heads).sum()), int(((tails & ((1 << _BITS) - 1)) * heads).sum())


def arcs_inside(side: Csr, labels: Array) -> int:
    """Number of arcs within communities; `labels` of all rows that arcs lead to."""
    return int((labels[tails_of(side.offsets)] == labels[side.indices]).sum())


def within(side: Csr, labels: Array) -> Csr:
    """The arcs within communities; `labels` of all rows that arcs lead to."""
    kept = labels[tails_of(side.offsets)] == labels[side.indices]
    offsets = running(kept)[side.offsets]
    return Csr(offsets, side.indices[kept], None)


def tails_of(offsets: Array) -> Array:
    """The row of each arc of consecutive rows, from 0: int64."""
    if not is_cupy_array(offsets):
        return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    arcs = np.arange(int(offsets[0]), int(offsets[-1]), dtype=OFFSET, like=offsets)
    tails: Array = np.searchsorted(offsets, arcs, side="right") - 1
    return tails


def running(values: Array) -> Array:
    """0 and the sums of the first values, int64."""
    return np.concatenate([np.zeros_like(values, OFFSET, shape=(1,)), np.cumsum(values, dtype=OFFSET)])
