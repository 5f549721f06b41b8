"""The names of a shard's trees on the GPU: where other ranks have no part of a tree, its rank names it by itself."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.arrays import is_cupy_array
from kernels.distributed.owners import Owners, smallest_ids
from kernels.distributed.shard import Shard
from kernels.gpu.loader import launch, minus_ones
from kernels.graph import Array

_SOURCE, _THREADS = "distributed/gpu/naming.cu", 512


def find_holders(ranks: Array, start: int, parent: Array, shift: int, names: Array) -> Array:
    """Find the row of smallest external id in each tree.

    Parameters
    ----------
    ranks : index width [n]
        Places of the rows in the order of external ids.
    start : int
        Number of the first row.
    parent : index width
        Union-find; the place of row `start + v` is `shift + v`. Every row gets its root.
    shift : int
    names : index width
        Of the places: those of rows their ranks, and others the largest number. Every root gets the smallest of its rows.

    Returns
    -------
    index width
        For the roots of rows, a row; NO_ROW elsewhere.
    """
    holders = minus_ones(names.shape, names.dtype)  # NO_ROW
    given = (parent, np.int64(shift), ranks, np.int64(len(ranks)), names)
    launch(_SOURCE, "find_least", _THREADS, len(ranks), *given, ROW=ranks.dtype)
    launch(_SOURCE, "find_holders", _THREADS, len(ranks), *given, np.int64(start), holders, ROW=ranks.dtype)
    return holders


def label(num_rows: int, parent: Array, shift: int, holders: Array) -> Array:
    """Label every row with what `holders` has for its root (index width [n]); `parent` and `shift` as in `find_holders`."""
    labels = cupy.empty(num_rows, holders.dtype)
    given = (parent, np.int64(shift), np.int64(num_rows), holders, labels)
    launch(_SOURCE, "label", _THREADS, num_rows, *given, ROW=holders.dtype)
    return labels


def name_own(shard: Shard, parent: Array, names: Array, shared: Array, numbers: Array, owners: Owners) -> Array:
    """Name the trees of all ranks by their smallest external ids. A collective.

    Parameters
    ----------
    shard : Shard
    parent, names : index width
        As in `find_holders`; the place of an own row is its local number.
    shared : int64 [T]
        Roots of the trees that other ranks may have parts of; each once.
    numbers : int64 [T]
        What parts of one tree have in common, of numbers that `owners` has; where they are NumPy's, the ranks speak of names so.
    owners : Owners

    Returns
    -------
    index width [n]
        Rows of the whole graph.
    """
    holders = find_holders(shard.positions, shard.rows.start, parent, 0, names)
    least, rows = names[shared], holders[shared]
    if not is_cupy_array(numbers):
        least, rows = least.get(), rows.get()
    holders[shared] = cupy.asarray(smallest_ids(owners, numbers, least, rows))
    return label(len(shard.ids), parent, 0, holders)
