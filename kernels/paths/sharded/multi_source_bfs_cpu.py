"""Breadth-first search over all ranks from many rows at once, each of which starts at its own distance."""

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.cpu.compiled import njit
from kernels.distributed import Halo, settle
from kernels.graph import Array, Csr

FAR = 2**63 - 1  # hops of a row that is not reached yet


def count_hops(halo: Halo, arcs: Csr, hops: Array, rows: Array) -> int:
    """Lower `hops` to the fewest from `rows`; return the number of supersteps.

    Args:
        arcs: Out-arcs by local rows.
        hops (int64 [n + g]): FAR where no path is known; lowered in place, ghosts as `kernels.distributed.fixpoint.settle`
            describes.
        rows (index width [S]): Own rows to start from, each once.
    """
    offsets, indices = unsigned(arcs.offsets), unsigned(arcs.indices)
    num_own = len(halo.shard.ids)

    def relax(starts: Array) -> None:
        in_order = starts[np.argsort(hops[starts], kind="stable")]
        _expand(offsets, indices, hops, num_own, frozen(in_order), hops[in_order])

    return settle(halo, relax, hops, rows)


@njit(cache=True, nogil=True)
def _expand(offsets: Array, indices: Array, hops: Array, num_own: int, starts: Array, starts_at: Array) -> None:
    """Expand own rows in the order of their hops; `starts` ascend by their hops `starts_at`.

    A row is queued when it is lowered. That happens at most once, because rows that are expanded later have no fewer hops.
    """
    queue = np.empty(num_own, starts.dtype)
    head = tail = start = 0
    while start < len(starts) or head < tail:
        if head == tail or (start < len(starts) and starts_at[start] <= hops[queue[head]]):
            row = starts[start]  # if it was lowered before its turn, the queue has expanded it, and it lowers nothing now
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
