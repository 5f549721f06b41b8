"""How the ranks of one graph speak: collectives in the way of MPI, over whatever carries arrays.

All ranks call the same collectives in the same order. What arrives is the caller's own copy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Protocol, TypeVar

import numpy as np

from kernels.graph import Array

Result = TypeVar("Result")


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

    def exchange(self, parts: Sequence[Array], room: Sequence[Array] | None = None) -> list[Array]:
        """Send `parts[r]` to each rank r; return what came from each, in rank order. Lengths and types may all differ.

        Where every rank knows the lengths and types of all that comes to it, all give room: `room[r]` has those of what rank r
        sends, is filled with it, and is what is returned. So no transport need ask for them. Parts that do not fit are an error
        of the program: an AssertionError where the transport sees it.
        """
        ...

    def exchange_then(self, parts: Sequence[Array], room: Sequence[Array], then: Callable[[], Result]) -> Result:
        """`exchange` on the GPU, and call `then`, which launches what follows; return what it does when all that is done.

        So the host waits once for both. `then` may exchange itself, but not wait for the GPU in any other way: another rank may
        be lost, and so it neither loads a kernel nor takes memory of the driver's. What it launches runs even then, whatever lies
        in the room, and has to stay in its arrays and end.
        """
        ...

    def gather(self, array: Array, alike: bool = False) -> list[Array]:
        """Return every rank's array, in rank order, to every rank.

        `alike` says that all have one length and type, so that no transport need ask for them. Others are then an error of the
        program: an AssertionError where the transport sees it.
        """
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
    def exchange(self, parts: Sequence[Array], room: Sequence[Array] | None = None) -> list[Array]:
        """See `Communicator.exchange`."""

    def exchange_then(self, parts: Sequence[Array], room: Sequence[Array], then: Callable[[], Result]) -> Result:
        """See `Communicator.exchange_then`."""
        import cupy

        self.exchange(parts, room)
        result = then()
        cupy.cuda.get_current_stream().synchronize()
        return result

    def gather(self, array: Array, alike: bool = False) -> list[Array]:
        """See `Communicator.gather`."""
        parts = self.exchange([array] * self.size)
        if alike:
            kinds = {(part.shape, part.dtype) for part in parts}
            assert len(kinds) == 1, f"arrays that are to be alike: {kinds}"
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


def own_copies(parts: Sequence[Array], like: Array, room: Sequence[Array] | None) -> list[Array]:
    """What a transport returns of an exchange: copies of what came, on the backend of `like`; in the room that there is."""
    if room is None:
        return [np.array(part, like=like) for part in parts]
    for part, place in zip(parts, room, strict=True):
        put(part, place)
    return list(room)


def put(part: Array, room: Array) -> None:
    """Copy what came, from any backend, to where its length and type were known."""
    assert (part.shape, part.dtype) == (room.shape, room.dtype), f"{part.shape} {part.dtype} for {room.shape} {room.dtype}"
    room[...] = np.asarray(part, like=room)
