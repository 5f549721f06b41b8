"""Edge lists, and the rules for which of their arcs a graph has."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import over_items, ranges
from kernels.graph import Array
from kernels.records import dataclass

_BLOCK = 1 << 20  # edges of a long list that are read at a time


@dataclass(frozen=True)
class Edges:
    """An edge list, or a rank's part of one."""

    # src, dst: int32 or int64 [E], of one type on all ranks: external ids of the endpoints, not negative, in any order
    src: Array
    dst: Array
    weights: Array | None  # [E] or None: not negative, not NaN; of one type on all ranks

    @property
    def count(self) -> int:
        """E."""
        return len(self.src)

    @property
    def weight(self) -> np.dtype[Any] | None:
        """The type of the weights."""
        return None if self.weights is None else self.weights.dtype

    @property
    def spill(self) -> "Spill | None":
        """None: memory that holds the edges holds their arcs, too."""
        return None

    def span(self) -> range:
        """The range from the smallest id to the largest; empty without edges."""
        if is_cupy_array(self.src) or not self.count:
            parts = [self] if self.count else []
        else:
            parts = [self.take(slice(*part)) for part in ranges(self.count)]
        ends = over_items(
            parts, lambda part: (min(int(part.src.min()), int(part.dst.min())), max(int(part.src.max()), int(part.dst.max())))
        )
        return range(min(low for low, _ in ends), max(high for _, high in ends) + 1) if ends else range(0)

    def blocks(self) -> "Iterator[Edges]":
        """All edges at once."""
        yield self

    def none(self) -> "Edges":
        """No edges, of these types."""
        return self.take(slice(0))

    def take(self, places: Array | slice) -> "Edges":
        """The edges at these places."""
        return Edges(self.src[places], self.dst[places], None if self.weights is None else self.weights[places])

    def pieces(self) -> "Iterator[Edges]":
        """All edges in their order, some at a time."""
        for begin in range(0, self.count, _BLOCK):
            yield self.take(slice(begin, begin + _BLOCK))

    def with_parts(self, parts: "Sequence[Edges]") -> "Edges":
        """These edges and those of all parts; without a copy if there is one part only, which may be outside of memory."""
        if not self.count and len(parts) == 1:
            return parts[0]
        src, dst = (np.concatenate([getattr(part, name) for part in (self, *parts)]) for name in ("src", "dst"))
        weights = None if self.weights is None else np.concatenate([part.weights for part in (self, *parts)])
        return Edges(src, dst, weights)


class GrowingArray(Protocol):
    """An array outside of memory, which is made piece by piece."""

    def append(self, piece: Array) -> None:
        """Write the next entries."""

    def close(self) -> Array:
        """All of it, to be read."""


class Spill(Protocol):
    """Where arrays go that memory does not hold."""

    @property
    def most(self) -> int:
        """Bytes that the arcs of a share, or a table, may take in memory; it may differ from time to time."""

    def array(self, dtype: np.dtype[Any]) -> GrowingArray:
        """A new array."""


class EdgeSource(Protocol):
    """An edge list that is in memory, or that is read again, block by block, each time that it is needed."""

    @property
    def count(self) -> int:
        """Number of edges."""

    @property
    def weight(self) -> np.dtype[Any] | None:
        """The type of the weights; None without any."""

    @property
    def spill(self) -> "Spill | None":
        """Where the arcs go of a list that is read again; None if memory holds them."""

    def span(self) -> range:
        """A range of ids that has those of all edges."""

    def blocks(self) -> Iterator[Edges]:
        """All edges in their order. If the list is read again, memory has a few blocks at a time."""

    def none(self) -> Edges:
        """No edges, of the types of the blocks."""


@dataclass(frozen=True)
class ArcRules:
    """Which arcs of an edge list a graph has."""

    declared: range  # ids that exist even without edges
    both: bool  # also store the reverse of every edge. A self-loop is its own reverse.
    keep_self_loops: bool  # otherwise self-loops are dropped
    keep_parallel: bool  # otherwise only the lightest of parallel arcs is kept
    alike: bool = False  # whether parallel arcs have to weigh the same, which is certified
