"""Names of a shard's trees on the GPU: a tree without parts on other ranks is named by its own rank."""

from typing import Any

import cupy
import numpy as np

from kernels.arrays import is_cupy_array
from kernels.components.sharded.naming import smallest_ids
from kernels.distributed import Owners, Shard
from kernels.gpu.loader import launch, minus_ones
from kernels.graph import Array

_SOURCE, _THREADS = "components/sharded/naming.cu", 512


def find_holders(positions: Array, start: int, parent: Array, shift: int, names: Array) -> Any:
    """Find the row of smallest external id in each tree.

    Args:
        positions (index width [n]): Positions of the rows in the order of external ids.
        start: The first row.
        parent (index width): Union-find; row `start + v` has the index `shift + v`. Every row's entry is replaced by its root.
        names (index width): For each index of `parent`: the position of a row, and the largest integer elsewhere. A root's entry
            is replaced by the smallest one of its rows.

    Returns:
        index width: For the roots of rows, a row; NO_ROW elsewhere.
    """
    holders = minus_ones(names.shape, names.dtype)  # NO_ROW
    given = (parent, np.int64(shift), positions, np.int64(len(positions)), names)
    launch(_SOURCE, "find_least", _THREADS, len(positions), *given, ROW=positions.dtype)
    launch(_SOURCE, "find_holders", _THREADS, len(positions), *given, np.int64(start), holders, ROW=positions.dtype)
    return holders


def label(num_rows: int, parent: Array, shift: int, holders: Array) -> Any:
    """Label every row with its root's entry of `holders` (index width [n]); `parent` and `shift` as in `find_holders`."""
    labels = cupy.empty(num_rows, holders.dtype)
    given = (parent, np.int64(shift), np.int64(num_rows), holders, labels)
    launch(_SOURCE, "label", _THREADS, num_rows, *given, ROW=holders.dtype)
    return labels


def name_own(shard: Shard, parent: Array, names: Array, shared: Array, numbers: Array, owners: Owners) -> Any:
    """Name the trees of all ranks by their smallest external ids. A collective.

    Args:
        parent, names (index width): As in `find_holders`; the index of an own row is its local row.
        shared (int64 [T]): Roots of the trees that may have parts on other ranks; distinct.
        numbers (int64 [T]): A number per tree of all ranks, from those of `owners`. If they are NumPy's, the ranks exchange NumPy
            arrays.

    Returns:
        index width [n]: Rows of the whole graph.
    """
    holders = find_holders(shard.positions, shard.rows.start, parent, 0, names)
    least, rows = names[shared], holders[shared]
    if not is_cupy_array(numbers):
        least, rows = cupy.asnumpy(least), cupy.asnumpy(rows)
    holders[shared] = cupy.asarray(smallest_ids(owners, numbers, least, rows))
    return label(len(shard.ids), parent, 0, holders)
