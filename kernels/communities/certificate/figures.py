"""Figures that a proof of communities states: how many are not connected, and the modularity, from sums over arcs and labels."""

from typing import NamedTuple

from kernels.distributed.lists import owners, running
from kernels.graph import Array, Csr

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
    return int((labels[owners(side.offsets)] == labels[side.indices]).sum())


def within(side: Csr, labels: Array) -> Csr:
    """The arcs within communities; `labels` of all rows that arcs lead to."""
    kept = labels[owners(side.offsets)] == labels[side.indices]
    offsets = running(kept)[side.offsets]
    return Csr(offsets, side.indices[kept], None)
