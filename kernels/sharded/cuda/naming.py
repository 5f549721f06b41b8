"""The names of a shard's trees on the GPU: where other ranks have no part of a tree, its rank names it by itself."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.backend import is_cupy_array
from kernels.cuda import launch
from kernels.graph import NO_ROW, Array
from kernels.sharded.owners import Owners, smallest_ids
from kernels.sharded.shard import Shard

_SOURCE, _THREADS = "sharded/cuda/naming.cu", 512


def find_holders(shard: Shard, parent: Array, shift: int, names: Array) -> Array:
    """Find the own row of smallest external id in each tree.

    Parameters
    ----------
    shard : Shard
    parent : index width
        Union-find; the place of an own row is its local number and `shift`. Every own row gets its root.
    shift : int
    names : index width
        Of the places: own rows' ranks, and for others the largest number. Every root gets the smallest of its own rows.

    Returns
    -------
    index width
        For the roots of own rows, a row of the whole graph; NO_ROW elsewhere.
    """
    row, holders = shard.ranks.dtype, cupy.full_like(names, NO_ROW)
    given = (parent, np.int64(shift), shard.ranks, np.int64(len(shard.ids)), names)
    launch(_SOURCE, "find_least", _THREADS, len(shard.ids), *given, ROW=row)
    launch(_SOURCE, "find_holders", _THREADS, len(shard.ids), *given, np.int64(shard.rows.start), holders, ROW=row)
    return holders


def label_own(shard: Shard, parent: Array, shift: int, holders: Array) -> Array:
    """Label every own row with what `holders` has for its root (index width [n]); `parent` and `shift` as in `find_holders`."""
    num_own, row = len(shard.ids), shard.ranks.dtype
    labels = cupy.empty(num_own, row)
    launch(_SOURCE, "label", _THREADS, num_own, parent, np.int64(shift), np.int64(num_own), holders, labels, ROW=row)
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
    holders = find_holders(shard, parent, 0, names)
    least, rows = names[shared], holders[shared]
    if not is_cupy_array(numbers):
        least, rows = least.get(), rows.get()
    holders[shared] = cupy.asarray(smallest_ids(owners, numbers, least, rows))
    return label_own(shard, parent, 0, holders)
