"""Edge lists, and the rules for which of their arcs a graph has."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernels.graph import Array


@dataclass(frozen=True)
class Edges:
    """An edge list, or a rank's part of one."""

    # src, dst: int32 or int64 [E], of one type on all ranks: external ids of the endpoints, not negative, in any order
    src: Array
    dst: Array
    weights: Array | None  # [E] or None: not negative, not NaN; of one type on all ranks

    def take(self, places: Array | slice) -> "Edges":
        """The edges at these places."""
        return Edges(self.src[places], self.dst[places], None if self.weights is None else self.weights[places])

    def with_parts(self, parts: "Sequence[Edges]") -> "Edges":
        """These edges and those of all parts."""
        src, dst = (np.concatenate([getattr(part, name) for part in (self, *parts)]) for name in ("src", "dst"))
        weights = None if self.weights is None else np.concatenate([part.weights for part in (self, *parts)])
        return Edges(src, dst, weights)


@dataclass(frozen=True)
class ArcRules:
    """Which arcs of an edge list a graph has."""

    declared: range  # ids that exist even without edges
    both: bool  # also store the reverse of every edge. A self-loop is its own reverse.
    keep_self_loops: bool  # otherwise self-loops are dropped
    keep_parallel: bool  # otherwise only the lightest of parallel arcs is kept
    alike: bool = False  # whether parallel arcs have to weigh the same, which is certified
