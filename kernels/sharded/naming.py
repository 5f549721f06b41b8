"""The names of what edges between ranks join: all at once on every rank where it is little, else by rounds."""

from __future__ import annotations

import numpy as np

from kernels.graph import OFFSET, Array
from kernels.sharded.joining import Edges, join, unite_all
from kernels.sharded.owners import Owners, smallest_ids


def join_and_name(owners: Owners, near: Array, far: Array, ranks: Array, rows: Array, gathered: int) -> Array:
    """Name each own number by the row of smallest external id among the numbers that edges join it to. A collective.

    Parameters
    ----------
    owners : Owners
        Of the numbers.
    near, far : int64 [E]
        The edges of this rank, NumPy arrays.
    ranks, rows : index width [N]
        For each own number its place in the order of external ids, and its row; NumPy arrays.
    gathered : int
        Most numbers and edges, of all ranks together, that each rank may hold.

    Returns
    -------
    index width [N]
    """
    communicator = owners.communicator
    count = int(communicator.total(np.array([len(near)], OFFSET))[0]) + int(owners.bounds[-1])
    if count > gathered:
        edges = Edges(near, far, np.zeros(len(near), np.int8), np.minimum(near, far), np.maximum(near, far))
        return smallest_ids(owners, join(owners, edges, gathered)[0], ranks, rows)
    owners.supersteps += 1
    parts = communicator.gather(np.concatenate([part.astype(OFFSET) for part in (ranks, rows, near, far)]))
    numbers = np.diff(owners.bounds).tolist()
    of_numbers = [part[: 2 * size].reshape(2, -1) for part, size in zip(parts, numbers, strict=True)]
    of_edges = [part[2 * size :].reshape(2, -1) for part, size in zip(parts, numbers, strict=True)]
    tree = unite_all(int(owners.bounds[-1]), *np.concatenate(of_edges, axis=1))
    rank, row = np.concatenate(of_numbers, axis=1)
    order = np.argsort(-rank, kind="stable")
    name = np.empty_like(row)
    name[tree[order]] = row[order]  # the last one, of the smallest rank, stays
    return name[tree[owners.own.start : owners.own.stop]].astype(rows.dtype)
