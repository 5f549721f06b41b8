"""Names of the components that edges between ranks form: on every rank at once if they are few, otherwise by rounds."""

import numpy as np

from kernels.components.sharded.joining import GATHERED, RankedEdges, join, unite_all
from kernels.distributed.columns import indexed, lower_at
from kernels.distributed.owners import Owners
from kernels.graph import NO_ROW, OFFSET, Array


def join_and_name(owners: Owners, near: Array, far: Array, positions: Array, rows: Array, gathered: int) -> Array:
    """Name each own number by the row of smallest external id among the numbers that edges join it to. Collective, on CPUs.

    Args:
        owners: Of the numbers.
        near, far (integer [E]): The edges of this rank.
        positions, rows (index width [N]): For each own number its position in the order of external ids, and its row.
        gathered: Most numbers and edges, of all ranks together, that each rank may hold.

    Returns:
        index width [N].
    """
    communicator = owners.communicator
    if communicator.sum(len(near)) + int(owners.bounds[-1]) > gathered:
        return name_by_rounds(owners, near, far, positions, rows, gathered)
    owners.supersteps += 1
    parts = communicator.gather(np.concatenate([part.astype(OFFSET) for part in (positions, rows, near, far)]))
    numbers = np.diff(owners.bounds).tolist()
    position, row = np.concatenate([part[: 2 * size].reshape(2, -1) for part, size in zip(parts, numbers, strict=True)], axis=1)
    ends = np.concatenate([part[2 * size :].reshape(2, -1) for part, size in zip(parts, numbers, strict=True)], axis=1)
    first = _first_of_joined(ends[0], ends[1], position)
    names: Array = row[first[owners.own.start : owners.own.stop]]
    return names.astype(rows.dtype)


def name_by_rounds(owners: Owners, near: Array, far: Array, positions: Array, rows: Array, gathered: int) -> Array:
    """As `join_and_name`, also on GPUs; no rank ever holds all numbers."""
    edges = RankedEdges(near, far, np.zeros_like(near), np.minimum(near, far), np.maximum(near, far))
    return smallest_ids(owners, join(owners, edges, min(gathered, GATHERED))[0], positions, rows)


def _first_of_joined(near: Array, far: Array, positions: Array) -> Array:
    """For each number, the number of smallest position among those that edges join it to."""
    tree = unite_all(len(positions), near, far)
    order = np.argsort(-positions, kind="stable")
    first = np.empty_like(tree)
    first[tree[order]] = order  # the last assignment, of the smallest position, stays
    return first[tree]


def smallest_ids(owners: Owners, numbers: Array, positions: Array, rows: Array) -> Array:
    """Name each item by the row of smallest external id among the items, of all ranks, with the same number.

    Args:
        numbers (integer [E]): Equal for items that get the same name.
        positions, rows (index width [E]): The items' positions in the order of external ids, and their rows.

    Returns:
        index width [E].
    """
    shared, place = indexed(numbers)
    here, position, row = owners.send(shared, *least_of_groups(place, len(shared), positions, rows))
    _, names = least_of_groups(here, len(owners.own), position, row)
    (name,) = owners.request(shared, names)
    return name[place]


def least_of_groups(group: Array, groups: int, positions: Array, rows: Array) -> tuple[Array, Array]:
    """The smallest position in each group, and its row; groups are numbered from 0 to `groups` - 1.

    The largest integer is not a valid position: a group with no other one has it, and NO_ROW.
    """
    largest = np.iinfo(positions.dtype).max
    least = np.full_like(positions, largest, positions.dtype, shape=(groups,))
    lower_at(least, group, positions)
    has = np.flatnonzero((positions == least[group]) & (positions < largest))
    row = np.full_like(rows, NO_ROW, rows.dtype, shape=(groups,))
    row[group[has]] = rows[has]
    return least, row
