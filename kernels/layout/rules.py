"""Which arcs of an edge list a graph has."""

from __future__ import annotations

from dataclasses import dataclass


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
