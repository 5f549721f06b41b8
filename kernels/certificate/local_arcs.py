"""The arcs of a rank's own rows, as the passes of sharded certificates read them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kernels.distributed.shard import Shard
from kernels.graph import Array, Csr


def of_first_rows(csr: Csr, num_rows: int) -> Csr:
    """The arcs of the first rows only, for loops over rows: own rows come before ghosts, which have none."""
    return Csr(csr.offsets[: num_rows + 1], csr.indices, csr.weights)


def first_found(found: Iterable[int]) -> int:
    """The first arc that a block of rows found, -1 if none did; `found` has an arc or -1 for each block in turn."""
    return next((arc for arc in found if arc >= 0), -1)


def evidence(shard: Shard, weights: Array | None, arc: int) -> tuple[Array, Array, Array]:
    """Tail, head and weight of an own out-arc, as rows of the graph, in arrays of one entry; of none for -1."""
    arcs = np.array([arc] if arc >= 0 else [], np.int64, like=shard.out.offsets)
    src = np.searchsorted(shard.out.offsets, arcs, side="right") - 1 + shard.rows.start
    dst = shard.local_rows[shard.local_out.indices[arcs]]
    return src, dst, (arcs if weights is None else weights[arcs])
