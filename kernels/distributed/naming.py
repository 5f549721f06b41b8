"""The names of what edges between ranks join: all at once on every rank where it is little, else by rounds."""

from __future__ import annotations

import numpy as np

from kernels.distributed.joining import GATHERED, Edges, join, unite_all
from kernels.distributed.owners import Owners, smallest_ids
from kernels.graph import OFFSET, Array


def join_and_name(owners: Owners, near: Array, far: Array, ranks: Array, rows: Array, gathered: int) -> Array:
    """Name each own number by the row of smallest external id among the numbers that edges join it to. A collective, on CPUs.

    Parameters
    ----------
    owners : Owners
        Of the numbers.
    near, far : int64 [E]
        The edges of this rank.
    ranks, rows : index width [N]
        For each own number its place in the order of external ids, and its row.
    gathered : int
        Most numbers and edges, of all ranks together, that each rank may hold.

    Returns
    -------
    index width [N]
    """
    communicator = owners.communicator
    count = int(communicator.total(np.array([len(near)], OFFSET))[0]) + int(owners.bounds[-1])
    if count > gathered:
        return name_by_rounds(owners, near, far, ranks, rows, gathered)
    owners.supersteps += 1
    parts = communicator.gather(np.concatenate([part.astype(OFFSET) for part in (ranks, rows, near, far)]))
    numbers = np.diff(owners.bounds).tolist()
    rank, row = np.concatenate([part[: 2 * size].reshape(2, -1) for part, size in zip(parts, numbers, strict=True)], axis=1)
    ends = np.concatenate([part[2 * size :].reshape(2, -1) for part, size in zip(parts, numbers, strict=True)], axis=1)
    first = _first_of_joined(ends[0], ends[1], rank)
    return row[first[owners.own.start : owners.own.stop]].astype(rows.dtype)


def name_by_rounds(owners: Owners, near: Array, far: Array, ranks: Array, rows: Array, gathered: int) -> Array:
    """The same, also on GPUs, without any rank ever having all numbers."""
    edges = Edges(near, far, np.zeros_like(near), np.minimum(near, far), np.maximum(near, far))
    return smallest_ids(owners, join(owners, edges, min(gathered, GATHERED))[0], ranks, rows)


def _first_of_joined(near: Array, far: Array, ranks: Array) -> Array:
    """The number of smallest rank among those that edges join each number to."""
    tree = unite_all(len(ranks), near, far)
    order = np.argsort(-ranks, kind="stable")
    first = np.empty_like(tree)
    first[tree[order]] = order  # the last one, of the smallest rank, stays
    return first[tree]
