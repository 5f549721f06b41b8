"""Cutting rows into contiguous ranges of about equally many arcs."""

import numpy as np

from kernels.graph import Array


def cut(degrees: Array, parts: int) -> list[range]:
    """Divide rows into `parts` ranges; none has more arcs than its even share plus those of one row.

    Args:
        degrees (int64 [V]): Stored arcs of each row, a NumPy array.
        parts: If there are more parts than rows with arcs, some ranges are empty.
    """
    sums = np.cumsum(degrees)
    arcs = int(sums[-1]) if len(sums) else 0
    shares = [arcs * number // parts for number in range(1, parts)]
    stops = [*np.searchsorted(sums, shares).tolist(), len(degrees)]
    return [range(start, stop) for start, stop in zip([0, *stops[:-1]], stops, strict=True)]


def validate(ranges: list[range], num_vertices: int) -> None:
    """Raise ValueError unless the ranges cover all rows in order, each row once."""
    stops = [0, *(rows.stop for rows in ranges)]
    if [rows.start for rows in ranges] != stops[:-1] or stops[-1] != num_vertices or stops != sorted(stops):
        raise ValueError(f"the shards' rows {[(rows.start, rows.stop) for rows in ranges]} do not cover 0..{num_vertices - 1}")
