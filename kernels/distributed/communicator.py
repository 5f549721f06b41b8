"""Collectives between the ranks of one graph, as in MPI, independent of the transport.

All ranks call the same collectives in the same order. Returned arrays belong to the caller. A function whose docstring calls it a
collective calls some, so it raises PeerLost as they do.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

import numpy as np

from kernels.graph import Array

Result = TypeVar("Result")
Number = TypeVar("Number", int, float)


class PeerLost(Exception):
    """Another rank ended or did not answer within the deadline; no further collective can be completed."""


class Communicator(ABC):
    """One rank's end of the group.

    If a rank is lost, every collective raises PeerLost on all remaining ranks, within the communicator's deadline.
    """

    rank: int  # from 0
    size: int  # number of ranks

    @abstractmethod
    def exchange(self, parts: Sequence[Array], buffers: Sequence[Array] | None = None) -> list[Array]:
        """Send `parts[r]` to each rank r; return the parts that arrived, in rank order. Lengths and types may differ.

        If every rank knows in advance the lengths and types that it receives, all ranks pass `buffers`: the part from rank
        r is written to `buffers[r]`, and `buffers` is returned. The transport then does not have to announce them. A part that
        does not fit its buffer is a programming error: an AssertionError if the transport can detect it.
        """

    @abstractmethod
    def exchange_then(self, parts: Sequence[Array], buffers: Sequence[Array], then: Callable[[], Result]) -> Result:
        """`exchange` on the GPU, then call `then`, which launches the next kernels; return its result when the GPU has finished.

        The host waits only once for both. `then` may exchange, but must not wait for the GPU in any other way, load a kernel or
        allocate memory from the driver, because a peer may be lost at that point. Kernels that it launched then still run on
        undefined buffer contents; they must stay in bounds and terminate.
        """

    @abstractmethod
    def gather(self, array: Array, alike: bool = False) -> list[Array]:
        """Return every rank's array, in rank order, to every rank.

        `alike` states that all have one length and type, so that the transport does not have to announce them. Arrays that differ
        are then a programming error: an AssertionError if the transport can detect it.
        """

    @abstractmethod
    def total(self, values: Array) -> Array:
        """Element-wise sum of arrays of one shape and type, added in rank order; the same bits on every rank."""

    @abstractmethod
    def least(self, values: Array) -> Array:
        """Element-wise minimum of arrays of one shape and type."""

    @abstractmethod
    def most(self, values: Array) -> Array:
        """Element-wise maximum of arrays of one shape and type."""

    def sum(self, value: Number) -> Number:
        """Sum of one number per rank; all are int or all are float."""
        result: Number = self.total(np.array([value])).item()
        return result

    def min(self, value: Number) -> Number:
        """Minimum of one number per rank; all are int or all are float."""
        result: Number = self.least(np.array([value])).item()
        return result

    def max(self, value: Number) -> Number:
        """Maximum of one number per rank; all are int or all are float."""
        result: Number = self.most(np.array([value])).item()
        return result

    def any(self, holds: object) -> bool:
        """Whether `holds` is true on at least one rank."""
        return bool(self.max(int(bool(holds))))

    def all(self, holds: object) -> bool:
        """Whether `holds` is true on every rank."""
        return bool(self.min(int(bool(holds))))


class OverExchange(Communicator):
    """The other collectives in terms of `exchange`, for transports without better ones; use them for short arrays."""

    def exchange_then(self, parts: Sequence[Array], buffers: Sequence[Array], then: Callable[[], Result]) -> Result:
        """See `Communicator.exchange_then`."""
        import cupy

        self.exchange(parts, buffers)
        result = then()
        cupy.cuda.get_current_stream().synchronize()
        return result

    def gather(self, array: Array, alike: bool = False) -> list[Array]:
        """See `Communicator.gather`."""
        parts = self.exchange([array] * self.size)
        if alike:
            kinds = {(part.shape, part.dtype) for part in parts}
            assert len(kinds) == 1, f"arrays that should be alike: {kinds}"
        return parts

    def total(self, values: Array) -> Array:
        """See `Communicator.total`."""
        return reduce(np.add, self.gather(values))

    def least(self, values: Array) -> Array:
        """See `Communicator.least`."""
        return reduce(np.minimum, self.gather(values))

    def most(self, values: Array) -> Array:
        """See `Communicator.most`."""
        return reduce(np.maximum, self.gather(values))


class SingleRank(OverExchange):
    """The communicator of a group of one rank: every collective returns copies of the caller's own arrays."""

    rank, size = 0, 1

    def exchange(self, parts: Sequence[Array], buffers: Sequence[Array] | None = None) -> list[Array]:
        """See `Communicator.exchange`."""
        if len(parts) != 1:
            raise ValueError(f"{len(parts)} parts for 1 rank")
        return own_copies(parts, parts[0], buffers)


def own_copies(parts: Sequence[Array], like: Array, buffers: Sequence[Array] | None) -> list[Array]:
    """Copy received parts to `buffers`, or to new arrays on the backend of `like`; return them as `exchange` does."""
    if buffers is None:
        return [np.array(part, like=like) for part in parts]
    for part, buffer in zip(parts, buffers, strict=True):
        put(part, buffer)
    return list(buffers)


def put(part: Array, buffer: Array) -> None:
    """Copy a received part, from any backend, to its buffer of the same length and type."""
    same = (part.shape, part.dtype) == (buffer.shape, buffer.dtype)
    assert same, f"{part.shape} {part.dtype} for a buffer of {buffer.shape} {buffer.dtype}"
    buffer[...] = np.asarray(part, like=buffer)
