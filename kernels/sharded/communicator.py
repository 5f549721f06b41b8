"""How the ranks of one graph speak: collectives in the way of MPI, over whatever carries arrays.

All ranks call the same collectives in the same order. What arrives is the caller's own copy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Protocol

import numpy as np

from kernels.graph import Array


class PeerLost(Exception):
    """Another rank is gone, or did not answer within the deadline; no collective can be finished any more."""


class Communicator(Protocol):
    """One rank's end.

    Notes
    -----
    Every collective raises PeerLost on all ranks that are left, within the communicator's deadline, if a rank is lost.
    """

    @property
    def rank(self) -> int:
        """Number of the rank, from 0."""
        ...

    @property
    def size(self) -> int:
        """Number of ranks."""
        ...

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Send `parts[r]` to each rank r; return what came from each, in rank order. Lengths and types may all differ."""
        ...

    def gather(self, array: Array) -> list[Array]:
        """Return every rank's array, in rank order, to every rank."""
        ...

    def total(self, values: Array) -> Array:
        """Sum arrays of one shape and type element by element, in rank order; the same bits on every rank."""
        ...

    def least(self, values: Array) -> Array:
        """Element-wise minimum of arrays of one shape and type."""
        ...

    def most(self, values: Array) -> Array:
        """Element-wise maximum of arrays of one shape and type."""
        ...


class OverExchange(ABC):
    """The other collectives, made of `exchange`: for a transport that knows nothing better. Use them for short arrays."""

    rank: int
    size: int

    @abstractmethod
    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """See `Communicator.exchange`."""

    def gather(self, array: Array) -> list[Array]:
        """See `Communicator.gather`."""
        return self.exchange([array] * self.size)

    def total(self, values: Array) -> Array:
        """See `Communicator.total`."""
        return reduce(np.add, self.gather(values))

    def least(self, values: Array) -> Array:
        """See `Communicator.least`."""
        return reduce(np.minimum, self.gather(values))

    def most(self, values: Array) -> Array:
        """See `Communicator.most`."""
        return reduce(np.maximum, self.gather(values))
