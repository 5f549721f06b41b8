"""Division of the arcs of large rows into chunks, so that many warps read one row."""

import cupy

from kernels.graph import OFFSET, Array


def arc_chunks(offsets: Array, rows: Array, size: int) -> tuple[Array, Array]:
    """Divide the arcs of `rows` [L], which all have some, into chunks of at most `size` arcs.

    Returns:
        rows ([C]): The row of each chunk.
        firsts (int64 [C]): Its first arc.
    """
    firsts = offsets[rows]
    ends = cupy.cumsum(-(-(offsets[rows + 1] - firsts) // size))
    chunks = cupy.arange(int(ends[-1]) if len(rows) else 0, dtype=OFFSET)
    owner = cupy.searchsorted(ends, chunks, side="right")
    number = chunks - cupy.concatenate([cupy.zeros(1, OFFSET), ends])[owner]
    return rows[owner], firsts[owner] + size * number
