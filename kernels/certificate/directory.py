"""What is known of a row is known to its owner: how the others ask for it, and tell the owner what they found."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from kernels.distributed.columns import exchange_columns
from kernels.distributed.communicator import Communicator
from kernels.graph import OFFSET, Array


class Directory:
    """The numbers 0 to N - 1, of which rank r owns `bounds[r]:bounds[r + 1]`. Its methods are collective, but for `distinct`.

    Parameters
    ----------
    bounds : int64 [size + 1]
        A NumPy array.
    communicator : Communicator
    """

    def __init__(self, bounds: Array, communicator: Communicator):
        self.bounds, self.communicator = bounds, communicator
        self.start, self.stop = (int(bound) for bound in bounds[communicator.rank : communicator.rank + 2])

    def ask(self, numbers: Array, *values: Array) -> list[Array]:
        """Return what the owners have for `numbers`.

        Parameters
        ----------
        numbers : [E]
            In any order.
        values : of as many entries as the rank owns numbers

        Returns
        -------
        list of arrays [E]
        """
        mine, others = self._own_and_others(numbers)
        found = [np.empty(len(numbers), of.dtype, like=of) for of in values]
        for column, of in zip(found, values, strict=True):
            column[mine] = of[numbers[mine] - self.start]
        wanted, place = np.unique(numbers[others], return_inverse=True)
        asked = [part - self.start for part in self.communicator.exchange(self._cut(wanted, wanted))]
        told = exchange_columns(self.communicator, *([of[part] for part in asked] for of in values))
        for column, of_others in zip(found, told, strict=True):
            column[others] = of_others[place]
        return found

    def tell(self, numbers: Array, *columns: Array) -> list[Array]:
        """Send each number's entries of `columns` to its owner; `numbers` [E] ascend.

        Returns
        -------
        list of arrays [R]
            What all ranks told this one, in rank order: places in its range, and the columns.
        """
        here, *told = exchange_columns(self.communicator, *(self._cut(numbers, column) for column in (numbers, *columns)))
        return [here - self.start, *told]

    def query(self, numbers: Array, column: Array, answer: Callable[[Array, Array], Array]) -> Array:
        """Let the owners answer for each number, of ascending ones, with its entry of `column`: `answer(places, entries)`."""
        here, entries = (self.communicator.exchange(self._cut(numbers, of)) for of in (numbers, column))
        answers = [answer(part - self.start, of) for part, of in zip(here, entries, strict=True)]
        return np.concatenate(self.communicator.exchange(answers))

    def distinct(self, numbers: Array) -> tuple[Array, Array]:
        """The numbers, each once, own ones first; and the place of each of `numbers` among them. No collective."""
        mine, others = self._own_and_others(numbers)
        flags = np.zeros(self.stop - self.start, np.bool_, like=numbers)
        flags[numbers[mine] - self.start] = True
        own = np.flatnonzero(flags) + self.start
        named, place_of_others = np.unique(numbers[others], return_inverse=True)
        place = np.empty(len(numbers), OFFSET, like=numbers)
        place[mine] = (np.cumsum(flags) - 1)[numbers[mine] - self.start]
        place[others] = len(own) + place_of_others
        return np.concatenate([own, named]), place

    def _own_and_others(self, numbers: Array) -> tuple[Array, Array]:
        own = (numbers >= self.start) & (numbers < self.stop)
        return np.flatnonzero(own), np.flatnonzero(~own)

    def _cut(self, ascending: Array, column: Array) -> list[Array]:
        cuts = np.searchsorted(ascending, np.asarray(self.bounds.astype(ascending.dtype), like=ascending)).tolist()
        return [column[begin:end] for begin, end in pairwise(cuts)]
