"""Where the rows are cut: contiguous ranges of about equal arc count."""

from __future__ import annotations

import numpy as np

from kernels.graph import Array


def cut(degrees: Array, shards: int) -> list[range]:
    """Cut rows into `shards` ranges, none of which has more than its even share of the arcs plus one row's.

    Parameters
    ----------
    degrees : int64 [V]
        Stored arcs of each row.
    shards : int
        With more shards than rows that have arcs, some ranges are empty.
    """
    up_to = np.cumsum(degrees)
    arcs = int(up_to[-1]) if len(up_to) else 0
    shares = [arcs * number // shards for number in range(1, shards)]
    stops = [*np.searchsorted(up_to, shares).tolist(), len(degrees)]
    return [range(start, stop) for start, stop in zip([0, *stops[:-1]], stops, strict=True)]


def validate(ranges: list[range], num_vertices: int) -> None:
    """Raise ValueError unless the ranges cover all rows in order, each row once."""
    stops = [0, *(rows.stop for rows in ranges)]
    if [rows.start for rows in ranges] != stops[:-1] or stops[-1] != num_vertices or stops != sorted(stops):
        raise ValueError(f"the shards' rows {[(rows.start, rows.stop) for rows in ranges]} do not cover 0..{num_vertices - 1}")
