"""Edge lists, and which of their arcs a graph has."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.graph import Array


@dataclass(frozen=True)
class Edges:
    """An edge list, or a rank's part of one.

    Attributes
    ----------
    src, dst : int64 [E]
        External ids of the endpoints, not negative, in any order; on a GPU also int32, on all ranks.
    weights : [E] or None
        Not negative, not NaN; of one type on all ranks.
    """

    src: Array
    dst: Array
    weights: Array | None


@dataclass(frozen=True)
class Rules:
    """Which arcs of an edge list a graph has.

    Attributes
    ----------
    declared : range
        Ids that exist even without edges.
    both : bool
        Also store the reverse of every edge. A self-loop is its own reverse.
    keep_self_loops : bool
        Otherwise self-loops are dropped.
    keep_parallel : bool
        Otherwise only the lightest of parallel arcs is kept.
    """

    declared: range
    both: bool
    keep_self_loops: bool
    keep_parallel: bool
