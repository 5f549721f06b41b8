"""The directory of owners: each rank owns a contiguous range of numbers, and stores the values that belong to them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.distributed.columns import exchange_columns, indexed
from kernels.distributed.communicator import Communicator
from kernels.graph import OFFSET, Array

_BLOCK = 1 << 18  # numbers whose values a CPU sends at a time


def rounds(count: int, like: Array) -> list[slice]:
    """Slices of `count` items, at least one; one on a GPU, whose exchanges take longer than its work. `like` has its arrays."""
    size = max(count, 1) if is_cupy_array(like) else _BLOCK
    return [slice(first, first + size) for first in range(0, max(count, 1), size)]


class Owners:
    """The numbers 0 to N - 1: rank r owns `bounds[r]:bounds[r + 1]`. Methods are collective unless they say otherwise.

    Attributes:
        bounds (int64 [size + 1]): A NumPy array.
        supersteps: Number of calls of `send`, `request` and `fetch`.
    """

    def __init__(self, bounds: Array, communicator: Communicator):
        self.bounds, self.communicator, self.supersteps = bounds, communicator, 0
        self.start, self.stop = (int(bound) for bound in bounds[communicator.rank : communicator.rank + 2])

    @classmethod
    def evenly(cls, count: int, communicator: Communicator) -> "Owners":
        """The numbers 0 to `count` - 1 in ranges of about equal length. Not collective."""
        size = communicator.size
        return cls(np.array([count * rank // size for rank in range(size + 1)], OFFSET), communicator)

    @classmethod
    def of_counts(cls, count: int, communicator: Communicator) -> "Owners":
        """Number the items of all ranks consecutively, rank after rank: `count` on this one."""
        counts = np.concatenate(communicator.gather(np.array([count], OFFSET), alike=True))
        return cls(np.concatenate([np.zeros(1, OFFSET), np.cumsum(counts)]), communicator)

    @classmethod
    def of_marked(cls, marked: Array, communicator: Communicator) -> "tuple[Owners, Array, Array]":
        """Number the items that ranks have `marked`, bool [I]; also return those of this rank, and each item's number or -1."""
        own = np.flatnonzero(marked)
        owners, number = cls.of_counts(len(own), communicator), np.full_like(own, -1, OFFSET, shape=(len(marked),))
        number[own] = np.arange(owners.start, owners.stop, like=own)
        return owners, own, number

    @property
    def own(self) -> range:
        """The numbers of this rank."""
        return range(self.start, self.stop)

    def blocks(self, count: int, like: Array) -> list[slice]:
        """Slices of `count` items of this rank, as many as on all ranks, so that a `send` for each takes little memory.

        A GPU, whose exchanges take longer than its work, has one; `like` has its arrays.
        """
        return rounds(count if is_cupy_array(like) else self.communicator.max(count), like)

    def send(self, numbers: Array, *columns: Array) -> tuple[Array, ...]:
        """Send each number's entry of `columns` to its owner.

        Args:
            numbers (integer [E]): Ascending.
            columns: [E].

        Returns:
            tuple of arrays [R]: What this rank received, in rank order: offsets in its range, and the columns.
        """
        self.supersteps += 1
        here, *received = exchange_columns(self.communicator, *(self._by_owner(numbers, of) for of in (numbers, *columns)))
        return here - self.start, *received

    def request(self, numbers: Array, *values: Array) -> tuple[Array, ...]:
        """Return the owners' `values` for each of the numbers.

        Args:
            numbers (integer [E]): In any order.
            values: one entry for each number that this rank owns.

        Returns:
            tuple of arrays [E].
        """
        self.supersteps += 1
        if is_cupy_array(numbers):
            return self._replies(numbers, values)
        # Own numbers need no sorting. On a GPU, selecting them costs more than that, because it waits for the GPU.
        mine, others = self._own_and_others(numbers)
        answers = tuple(np.empty(len(numbers), value.dtype) for value in values)
        for column, value, reply in zip(answers, values, self._replies(numbers[others], values), strict=True):
            column[mine] = value[numbers[mine] - self.start]
            column[others] = reply
        return answers

    def fetch(self, ascending: Array, *values: Array) -> Iterator[Array]:
        """`request` for distinct numbers in ascending order, one column after the other. Each step is collective."""
        self.supersteps += 1
        requested = self._requested(ascending)
        for value in values:
            yield np.concatenate(self.communicator.exchange([value[part] for part in requested]))

    def query(self, numbers: Array, column: Array, answer: Callable[[Array, Array], Array]) -> Array:
        """Let the owners answer for each of ascending numbers with its entry of `column`: `answer(offsets, entries)`."""
        here, entries = (self.communicator.exchange(self._by_owner(numbers, of)) for of in (numbers, column))
        replies = [answer(part - self.start, of) for part, of in zip(here, entries, strict=True)]
        return np.concatenate(self.communicator.exchange(replies))

    def distinct(self, numbers: Array) -> tuple[Array, Array]:
        """The distinct numbers, own ones first, and the index of each of `numbers` among them. Not collective.

        Both are of the numbers' type.
        """
        is_own = (numbers >= self.start) & (numbers < self.stop)
        flags = np.zeros(len(self.own), np.bool_, like=numbers)
        flags[numbers[is_own] - self.start] = True
        own = np.flatnonzero(flags).astype(numbers.dtype)
        foreign, place_of_others = indexed(numbers[~is_own])
        place = np.empty_like(numbers)
        place[is_own] = np.cumsum(flags, dtype=numbers.dtype)[numbers[is_own] - self.start] - 1
        place[~is_own] = place_of_others + len(own)
        own += self.start
        return np.concatenate([own, foreign]), place

    def _replies(self, numbers: Array, values: Sequence[Array]) -> tuple[Array, ...]:
        """The owners' values for each of the numbers, which are in any order."""
        wanted, place = indexed(numbers)
        requested = self._requested(wanted)
        replies = exchange_columns(self.communicator, *([value[part] for part in requested] for value in values))
        return tuple(reply[place] for reply in replies)

    def _requested(self, ascending: Array) -> list[Array]:
        """What each rank asks of this one if this one asks for these numbers."""
        return [part - self.start for part in self.communicator.exchange(self._by_owner(ascending, ascending))]

    def _own_and_others(self, numbers: Array) -> tuple[Array, Array]:
        own = (numbers >= self.start) & (numbers < self.stop)
        return np.flatnonzero(own), np.flatnonzero(~own)

    def _by_owner(self, ascending: Array, column: Array) -> list[Array]:
        bounds = np.asarray(self.bounds.astype(ascending.dtype), like=ascending)
        return [column[begin:end] for begin, end in pairwise(np.searchsorted(ascending, bounds).tolist())]
