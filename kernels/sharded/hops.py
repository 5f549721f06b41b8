"""Breadth-first search from many rows at once, each with the hops that it starts at, over all ranks."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.backend import frozen, unsigned
from kernels.graph import Array, Csr
from kernels.sharded.fixpoint import settle
from kernels.sharded.halo import Halo

FAR = 2**63 - 1  # hops of a row that is not reached yet
_CROSSING = 1 / 16  # the part of the arcs that lead to ghosts, from which a superstep is one level


def count_hops(halo: Halo, arcs: Csr, hops: Array, rows: Array) -> int:
    """Lower `hops` to the fewest from `rows`; return the number of supersteps.

    Parameters
    ----------
    halo : Halo
    arcs : Csr
        Out-arcs by local numbers.
    hops : int64 [n + g]
        FAR where no path is known; lowered in place, ghosts as `kernels.sharded.fixpoint.settle` says.
    rows : index width [S]
        Own rows to start from, each once.
    """
    offsets, indices = unsigned(arcs.offsets), unsigned(arcs.indices)
    num_own = len(halo.shard.ids)

    def relax(starts: Array, limit: int) -> Array:
        starts = starts[np.argsort(hops[starts], kind="stable")]
        return _expand(offsets, indices, hops, num_own, frozen(starts), hops[starts], limit)

    crossing, all_arcs = halo.communicator.total(np.array([np.count_nonzero(arcs.indices >= num_own), len(arcs.indices)]))
    return settle(halo, relax, hops, rows, FAR, 1 if crossing >= _CROSSING * all_arcs else None)


@njit(cache=True, nogil=True)
def _expand(offsets, indices, hops, num_own, starts, starts_at, limit):  # type: ignore[no-untyped-def]
    """Expand the own rows of fewer than `limit` hops, in the order of their hops; return those that wait, each once.

    `starts` ascend by `starts_at`, their hops. A start that is found nearer on the way is expanded there.
    """
    queue = np.empty(num_own, starts.dtype)
    head = tail = start = 0
    while True:
        while start < len(starts) and hops[starts[start]] < starts_at[start]:
            start += 1
        if start < len(starts) and (head == tail or starts_at[start] <= hops[queue[head]]):
            row = starts[start]
            start += 1
        elif head < tail:
            row = queue[head]
            head += 1
        else:
            return queue[:0]
        if hops[row] >= limit:
            break
        for arc in range(offsets[row], offsets[row + 1]):
            far = indices[arc]
            if hops[row] + 1 < hops[far]:
                hops[far] = hops[row] + 1
                if far < num_own:
                    queue[tail] = far
                    tail += 1
    waiting = np.empty(1 + tail - head + len(starts) - start, starts.dtype)
    waiting[0] = row
    waiting[1 : 1 + tail - head] = queue[head:tail]
    num_waiting = 1 + tail - head
    for place in range(start, len(starts)):
        if hops[starts[place]] == starts_at[place]:
            waiting[num_waiting] = starts[place]
            num_waiting += 1
    return waiting[:num_waiting]
