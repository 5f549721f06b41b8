"""The unique predecessors of final distances over shards; `kernels.paths.predecessors_cpu` defines them.

Every rank receives the distances of its ghosts; then each owner finds the first tight in-arcs of its rows. Rows that only arcs of
length zero reach are searched along such arcs over all ranks, from all other reached rows at once.
"""

from functools import partial

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.cpu.parallel import over_rows
from kernels.distributed.halo import Halo
from kernels.graph import NO_ROW, OFFSET, Array, Csr
from kernels.paths.predecessors_cpu import nearest_tight
from kernels.paths.sharded.multi_source_bfs_cpu import FAR, count_hops


def predecessors(halo: Halo, source_row: int, distance: Array, weights: tuple[Array, Array]) -> tuple[Array, int]:
    """Find the unique predecessors of the own rows.

    Args:
        source_row: Row of the whole graph.
        distance (int64 or float64 [n]): Final distances of the own rows; UNREACHED where no path leads.
        weights (two arrays, each as long as there are arcs): Of the out-arcs, and of the in-arcs.

    Returns:
        predecessor (index width [n]): Rows of the whole graph.
        supersteps.

    Raises:
        OverflowError: On all ranks, if an arc leads from a reached row to an unreached one: its sum did not fit the type of
            `distance`.
    """
    shard = halo.shard
    source = source_row - shard.rows.start if source_row in shard.rows else NO_ROW
    known = halo.extended(distance)
    predecessor = np.full(len(distance), NO_ROW, shard.ghosts.dtype)
    waiting, beyond = _first_tight(shard.local_into, weights[1], known, predecessor, source)
    waiting, beyond = halo.communicator.total(np.array([waiting, beyond], np.int64)).tolist()
    if beyond:
        raise OverflowError(f"a distance exceeds the largest {distance.dtype}")
    supersteps = _follow_zero_steps(halo, source, known, weights, predecessor) if waiting else 0
    has_one = predecessor >= 0
    predecessor[has_one] = shard.local_rows[predecessor[has_one]]
    return predecessor, supersteps


def _first_tight(into: Csr, weights: Array, known: Array, predecessor: Array, source: int) -> tuple[int, bool]:
    """Set predecessors as local rows; return the number of reached rows without one, and whether a sum did not fit."""
    own = Csr(into.offsets[: len(predecessor) + 1], into.indices, weights)
    arcs = unsigned(own.offsets), unsigned(own.indices), frozen(weights)
    parts = over_rows(own, partial(nearest_tight, *arcs, known, predecessor, source))
    return sum(waiting for waiting, _ in parts), any(beyond for _, beyond in parts)


def _follow_zero_steps(halo: Halo, source: int, known: Array, weights: tuple[Array, Array], predecessor: Array) -> int:
    num_own = len(predecessor)
    out, into = (
        _arcs_of_length_zero(csr, of, known)
        for csr, of in zip((halo.shard.local_out, halo.shard.local_into), weights, strict=True)
    )
    steps = np.full(len(known), FAR)
    steps[:num_own][predecessor >= 0] = 0
    if source != NO_ROW:
        steps[source] = 0
    starts = np.flatnonzero((steps[:num_own] == 0) & (np.diff(out.offsets[: num_own + 1]) > 0))
    supersteps = count_hops(halo, out, steps, starts.astype(predecessor.dtype))
    _first_tight(into, np.ones(len(into.indices), np.int64), halo.extended(steps[:num_own]), predecessor, source)
    return supersteps


def _arcs_of_length_zero(csr: Csr, weights: Array, known: Array) -> Csr:
    """The arcs between reached rows that add nothing to a distance."""
    near = np.repeat(np.arange(len(csr.offsets) - 1), np.diff(csr.offsets))
    kept = (known[near] >= 0) & (known[near] == known[csr.indices]) & (known[near] + weights == known[near])
    offsets = np.concatenate([np.zeros(1, OFFSET), np.cumsum(np.bincount(near[kept], minlength=len(csr.offsets) - 1))])
    return Csr(offsets, csr.indices[kept], None)
