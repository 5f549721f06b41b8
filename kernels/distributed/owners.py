"""Numbers that are spread over the ranks in contiguous ranges, so that what is known of a number is known to its owner only."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kernels.distributed.columns import exchange_columns, lower_at
from kernels.distributed.communicator import Communicator
from kernels.graph import OFFSET, Array


class Owners:
    """The numbers 0 to N - 1: rank r owns `bounds[r]:bounds[r + 1]`. All methods are collective.

    Attributes
    ----------
    bounds : int64 [size + 1]
    communicator : Communicator
    supersteps : int
        How often the ranks told or asked each other.
    """

    def __init__(self, bounds: Array, communicator: Communicator):
        self.bounds, self.communicator, self.supersteps = bounds, communicator, 0

    @classmethod
    def of_counts(cls, count: int, communicator: Communicator) -> Owners:
        """Number what the ranks have: `count` on this one."""
        counts = np.concatenate(communicator.gather(np.array([count], OFFSET), alike=True))
        return cls(np.concatenate([np.zeros(1, OFFSET), np.cumsum(counts)]), communicator)

    @property
    def own(self) -> range:
        """The numbers of this rank."""
        return range(int(self.bounds[self.communicator.rank]), int(self.bounds[self.communicator.rank + 1]))

    def tell(self, numbers: Array, *columns: Array) -> tuple[Array, ...]:
        """Send each number's entry of `columns` to its owner.

        Parameters
        ----------
        numbers : int64 [E]
            Ascending.
        columns : [E]

        Returns
        -------
        tuple of arrays [R]
            What all ranks told this one, in rank order: places in its range, and the columns.
        """
        self.supersteps += 1
        here, *told = exchange_columns(self.communicator, *(self._by_owner(numbers, column) for column in (numbers, *columns)))
        return here - self.own.start, *told

    def ask(self, numbers: Array, *values: Array) -> tuple[Array, ...]:
        """Return what the owners have of `numbers`, int64 [E] in any order, in their `values`, one for each number they own."""
        self.supersteps += 1
        wanted, place = np.unique(numbers, return_inverse=True)
        asked = [part - self.own.start for part in self.communicator.exchange(self._by_owner(wanted, wanted))]
        answers = exchange_columns(self.communicator, *([value[part] for part in asked] for value in values))
        return tuple(answer[place] for answer in answers)

    def any(self, count: int) -> bool:
        """Whether `count` is not zero on some rank."""
        return bool(self.communicator.most(np.array([count], OFFSET))[0])

    def _by_owner(self, numbers: Array, column: Array) -> list[Array]:
        cuts = np.searchsorted(numbers, np.asarray(self.bounds, like=numbers)).tolist()
        return [column[begin:end] for begin, end in pairwise(cuts)]


def smallest_ids(owners: Owners, numbers: Array, ranks: Array, rows: Array) -> Array:
    """Name each item by the row of smallest external id among the items, of all ranks, with its number.

    Parameters
    ----------
    owners : Owners
    numbers : int64 [E]
        What items that are named alike have in common.
    ranks, rows : index width [E]
        The items' places in the order of external ids, and their rows.

    Returns
    -------
    index width [E]
    """
    shared, place = np.unique(numbers, return_inverse=True)
    here, rank, row = owners.tell(shared, *least_of_groups(place, len(shared), ranks, rows))
    _, names = least_of_groups(here, len(owners.own), rank, row)
    (name,) = owners.ask(shared, names)
    return name[place]


def least_of_groups(group: Array, groups: int, ranks: Array, rows: Array) -> tuple[Array, Array]:
    """The smallest rank of each group, the groups' numbers being 0 to `groups` - 1, and its row.

    The largest number is nobody's rank: a group that has nothing else has it, and the row -1.
    """
    nobody = np.iinfo(ranks.dtype).max
    least = np.full_like(ranks, nobody, ranks.dtype, shape=(groups,))
    lower_at(least, group, ranks)
    has = np.flatnonzero((ranks == least[group]) & (ranks < nobody))
    row = np.full_like(rows, -1, rows.dtype, shape=(groups,))
    row[group[has]] = rows[has]
    return least, row
