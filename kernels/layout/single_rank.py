"""The layout on a single rank, in memory: its rows are made part by part, as they are taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.distributed import partition
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr, index_dtype
from kernels.layout.laid_out import LaidOut
from kernels.layout.orders import by_degree_in_windows, inverse
from kernels.layout.sorting import in_rows


def arrange(ids: Array, arcs: Csr, self_loops: int, both: bool, window: int | None, parts: int) -> LaidOut:
    """Arrange what `clean` returned: put the rows in order, and cut them (parameters of `kernels.layout.lay_out`)."""
    directions = {"out": arcs}
    if not both and (into := in_rows(arcs)) is not arcs:
        directions["in"] = into
    degrees = [np.diff(csr.offsets) for csr in directions.values()]
    if window is None:
        order = np.arange(len(ids), dtype=index_dtype(len(ids)), like=ids)
    else:
        order = by_degree_in_windows(degrees[0], window)
    total: Any = sum(degrees)
    cuts = [0, *(rows.stop for rows in partition.cut(to_host(total[order]), parts))]
    bounds = np.array(cuts, OFFSET)
    return LaidOut(bounds, range(parts), ids[order], order, 0, inverse(order), directions, True, self_loops)
