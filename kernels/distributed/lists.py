"""Lists of ghosts, from their owners, some at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.certificate.global_view import local_rows_of
from kernels.distributed.columns import exchange_columns
from kernels.distributed.halo import Halo
from kernels.graph import OFFSET, Array


class GhostLists(NamedTuple):
    """Lists of some ghosts, without the rows that this rank does not have."""

    ghosts: Array  # int64 [k]: their numbers, ascending
    begins: Array  # int64 [k]: the list of the i-th is `rows[begins[i]:ends[i]]`
    ends: Array  # int64 [k]
    rows: Array  # int64 [E]: local rows
    values: Array  # [E]: what is listed beside the rows


def fetch_lists(
    halo: Halo, lists: tuple[Array, Array], entries: tuple[Array, Array], wanted: Array, most: int
) -> Iterator[GhostLists]:  # fmt: skip
    """Fetch the lists of ghosts in blocks of at most `most` entries, or of one list. A collective, as is each step.

    Args:
        lists (int64 [n] each): Where those of the own rows begin and end among the entries.
        entries ([E] each): The rows that are listed, as local rows, and the values beside them, of one type on all ranks.
        wanted (bool [g]): Whether this rank wants the list of a ghost; empty lists are left out.

    Yields:
        Equally many blocks on all ranks.
    """
    shard, lengths = halo.shard, halo.refresh(lists[1] - lists[0])
    ghosts = np.flatnonzero(wanted & (lengths > 0))
    of_graph = shard.local_rows[entries[0]]
    cuts = _cuts(lengths[ghosts], most)
    bounds = np.asarray(shard.ghost_bounds[1:-1], like=ghosts)
    for number in range(halo.communicator.max(len(cuts) - 1)):
        some = ghosts[cuts[number] : cuts[number + 1]] if number < len(cuts) - 1 else ghosts[:0]
        requested = halo.communicator.exchange(np.split(shard.ghosts[some], np.searchsorted(some, bounds).tolist()))
        places = [gathered(*lists, rows - shard.rows.start)[0] for rows in requested]
        rows, values = exchange_columns(
            halo.communicator, [of_graph[here] for here in places], [entries[1][here] for here in places]
        )
        local = local_rows_of(shard, rows)
        known = np.flatnonzero(local >= 0)
        left = np.bincount(owners(running(lengths[some]))[known], minlength=len(some))
        ends = np.cumsum(left)
        yield GhostLists(some, ends - left, ends, local[known], values[known])


def _cuts(lengths: Array, most: int) -> list[int]:
    """Where blocks of lists begin, and the number of lists."""
    ends, cuts = running(lengths), [0]
    while cuts[-1] < len(lengths):
        full = np.searchsorted(ends, ends[cuts[-1] : cuts[-1] + 1] + most, side="right")
        cuts.append(max(int(full[0]) - 1, cuts[-1] + 1))
    return cuts


def gathered(begins: Array, ends: Array, rows: Array) -> tuple[Array, Array]:
    """The places of the entries of some rows' lists, one list behind the other, and the number of the list of each; int64."""
    offsets = running(ends[rows] - begins[rows])
    numbers = owners(offsets)
    places: Array = np.arange(len(numbers), dtype=OFFSET, like=numbers) + (begins[rows] - offsets[:-1])[numbers]
    return places, numbers


def owners(offsets: Array) -> Array:
    """The list of each entry of consecutive lists, from 0: int64."""
    if not is_cupy_array(offsets):
        return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    entries = np.arange(int(offsets[0]), int(offsets[-1]), dtype=OFFSET, like=offsets)
    lists: Array = np.searchsorted(offsets, entries, side="right") - 1
    return lists


def running(values: Array) -> Array:
    """0 and the sums of the first values, int64."""
    return np.concatenate([np.zeros_like(values, OFFSET, shape=(1,)), np.cumsum(values, dtype=OFFSET)])
