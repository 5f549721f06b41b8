"""Breadth-first search from many rows at once, each with the hops that it starts at, over all ranks."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.arrays import frozen, unsigned
from kernels.distributed.fixpoint import settle
from kernels.distributed.halo import Halo
from kernels.graph import Array, Csr

FAR = 2**63 - 1  # hops of a row that is not reached yet


def count_hops(halo: Halo, arcs: Csr, hops: Array, rows: Array) -> int:
    """Lower `hops` to the fewest from `rows`; return the number of supersteps.

    Parameters
    ----------
    halo : Halo
    arcs : Csr
        Out-arcs by local numbers.
    hops : int64 [n + g]
        FAR where no path is known; lowered in place, ghosts as `kernels.distributed.fixpoint.settle` says.
    rows : index width [S]
        Own rows to start from, each once.
    """
    offsets, indices = unsigned(arcs.offsets), unsigned(arcs.indices)
    num_own = len(halo.shard.ids)

    def relax(starts: Array) -> None:
        in_order = starts[np.argsort(hops[starts], kind="stable")]
        _expand(offsets, indices, hops, num_own, frozen(in_order), hops[in_order])

    return settle(halo, relax, hops, rows)


@njit(cache=True, nogil=True)
def _expand(offsets, indices, hops, num_own, starts, starts_at):  # type: ignore[no-untyped-def]
    """Expand own rows in the order of their hops; `starts` ascend by `starts_at`, theirs.

    A row is queued when it is lowered, and that is once: what is expanded later has no fewer hops.
    """
    queue = np.empty(num_own, starts.dtype)
    head = tail = start = 0
    while start < len(starts) or head < tail:
        if head == tail or (start < len(starts) and starts_at[start] <= hops[queue[head]]):
            row = starts[start]  # lowered before its turn, it was expanded from the queue, and now lowers nothing
            start += 1
        else:
            row = queue[head]
            head += 1
        for arc in range(offsets[row], offsets[row + 1]):
            far = indices[arc]
            if hops[row] + 1 < hops[far]:
                hops[far] = hops[row] + 1
                if far < num_own:
                    queue[tail] = far
                    tail += 1
