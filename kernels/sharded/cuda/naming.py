"""The names of a shard's trees on the GPU: where other ranks have no part of a tree, its rank names it by itself."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.backend import is_cupy_array
from kernels.cuda import launch
from kernels.graph import Array
from kernels.sharded.owners import Owners, smallest_ids
from kernels.sharded.shard import Shard

_SOURCE, _THREADS = "sharded/cuda/naming.cu", 512


def name_own(shard: Shard, parent: Array, shift: int, names: Array, shared: Array, numbers: Array, owners: Owners) -> Array:
    """Name the trees of all ranks by their smallest external ids. A collective.

    Parameters
    ----------
    shard : Shard
    parent : index width
        Union-find; the place of an own row is its local number and `shift`. Every own row gets its root.
    shift : int
    names : index width
        Of the places: own rows' ranks, and for others the largest number; overwritten.
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
    num_own, row = len(shard.ids), shard.ranks.dtype
    count, own = np.int64(num_own), (np.int64(shift), shard.ranks, np.int64(num_own))
    holders, labels = cupy.empty_like(names), cupy.empty(num_own, row)
    launch(_SOURCE, "find_least", _THREADS, num_own, parent, *own, names, ROW=row)
    launch(_SOURCE, "find_holders", _THREADS, num_own, parent, *own, names, np.int64(shard.rows.start), holders, ROW=row)
    least, rows = cupy.stack([names[shared], holders[shared]])
    if not is_cupy_array(numbers):
        least, rows = least.get(), rows.get()
    holders[shared] = cupy.asarray(smallest_ids(owners, numbers, least, rows))
    launch(_SOURCE, "label", _THREADS, num_own, parent, np.int64(shift), count, holders, labels, ROW=row)
    return labels
