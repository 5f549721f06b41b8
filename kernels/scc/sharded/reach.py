"""Steps of a round on the arcs that are left: peel off rows on no cycle, and find the first row that reaches each row."""

from dataclasses import dataclass

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.distributed import Halo, settle
from kernels.graph import OFFSET, Array, Csr


@dataclass(frozen=True)
class ShardArcs:
    """The arcs left of a shard between local rows, ghosts included; `into` is the transpose of `out`."""

    out: Csr
    into: Csr

    def within(self, *classes: Array) -> "ShardArcs":
        """The arcs whose endpoints are in the same class by each of `classes` [n + g]."""
        return ShardArcs(_within(self.out, classes), _within(self.into, classes))

    def among(self, rows: Array) -> "ShardArcs":
        """The arcs with both endpoints among `rows`, bool [n + g]."""
        # Every other row is a class of its own, which keeps only self-loops, and these make no difference.
        return self.within(np.where(rows, -1, np.arange(len(rows), like=rows)))


def _within(csr: Csr, classes: tuple[Array, ...]) -> Csr:
    degrees = np.diff(csr.offsets)
    same = np.ones_like(csr.indices, np.bool_, shape=(len(csr.indices),))
    for of_row in classes:
        same &= np.repeat(of_row, degrees) == of_row[csr.indices]
    kept = np.concatenate([np.zeros(1, OFFSET, like=csr.offsets), np.cumsum(same, dtype=OFFSET)])
    return Csr(kept[csr.offsets], csr.indices[same], None)


def trim(arcs: ShardArcs, halo: Halo) -> tuple[Array, int]:
    """Find rows on no cycle, by repeatedly peeling off rows without in-arcs or without out-arcs.

    Returns:
        bool [n + g]: The local rows that are peeled off.
        Supersteps.
    """
    num_own = len(halo.shard.ids)
    degrees = np.stack([_degrees(arcs.out), _degrees(arcs.into)])
    gone = np.zeros(degrees.shape[1], np.bool_)
    ends = _ends(arcs)
    rows, supersteps = np.flatnonzero((degrees[:, :num_own] == 0).any(axis=0)), 0
    while halo.communicator.any(len(rows)):
        _peel(*ends, degrees, gone, num_own, rows)
        news = halo.refresh(gone[:num_own])
        rows = num_own + np.flatnonzero(news & ~gone[num_own:])
        supersteps += 1
    return gone, supersteps


def first_reaching(arcs: Csr, halo: Halo, order: Array) -> tuple[Array, int]:
    """Find the first row in the order that reaches each row; a row reaches itself.

    Args:
        arcs: Out-arcs left; in-arcs, to find the first row that each row reaches.
        order (uint64 [n + g]): Places of the local rows in the order, all different.

    Returns:
        uint64 [n + g]: The place of that row; only those of own rows are final.
        Supersteps.
    """
    first = order.copy()
    offsets, indices = frozen(arcs.offsets), frozen(arcs.indices)

    def relax(starts: Array) -> None:
        _expand(offsets, indices, first, starts[np.argsort(first[starts])])

    own = np.arange(len(halo.shard.ids), dtype=arcs.indices.dtype)
    starts = own[_degrees(arcs)[: len(own)] > 0]
    return first, settle(halo, relax, first, starts)


def _degrees(csr: Csr) -> Array:
    return np.diff(csr.offsets)


def _ends(arcs: ShardArcs) -> tuple[Array, ...]:
    return tuple(frozen(array) for csr in (arcs.out, arcs.into) for array in (csr.offsets, csr.indices))


@njit(cache=True, nogil=True)
def _expand(offsets: Array, indices: Array, first: Array, starts: Array) -> None:
    """Lower `first` along all paths from `starts`, which ascend by `first`, so that no row is lowered twice."""
    stack = np.empty(len(first) + 1, starts.dtype)
    for start in starts:
        stack[0], size = start, 1
        while size:
            size -= 1
            row = stack[size]
            for head in indices[offsets[row] : offsets[row + 1]]:
                if first[row] < first[head]:
                    first[head] = first[row]
                    stack[size] = head
                    size += 1


@njit(cache=True, nogil=True)
def _peel(
    out_offsets: Array, out_indices: Array, into_offsets: Array, into_indices: Array, degrees: Array, gone: Array, num_own: int,
    rows: Array,
) -> None:  # fmt: skip
    """Peel off `rows`, then every own row left without in-arcs or out-arcs; `degrees` [2, n + g] counts out-arcs and in-arcs."""
    stack = np.empty(len(gone) + 1, np.int64)
    for start in rows:
        if gone[start]:
            continue
        stack[0], size = start, 1
        gone[start] = True
        while size:
            size -= 1
            row = stack[size]
            for way, offsets, indices in ((1, out_offsets, out_indices), (0, into_offsets, into_indices)):
                for other in indices[offsets[row] : offsets[row + 1]]:
                    degrees[way, other] -= 1
                    if other < num_own and degrees[way, other] == 0 and not gone[other]:
                        gone[other] = True
                        stack[size] = other
                        size += 1
