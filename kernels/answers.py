"""What the kernels return. Rows everywhere; external ids enter when a table is written."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.graph import Array


@dataclass(frozen=True)
class Paths:
    """Distances from one source and the tree that proves them: the answer of `bfs` and `sssp`.

    Attributes
    ----------
    source : int
        Row of the source.
    distance : int64 or float64 [V]
        Hops or sum of weights; UNREACHED (-1) where no path leads.
    predecessor : index width [V]
        The unique predecessor's row; NO_ROW (-1) for the source and where unreached.
    """

    source: int
    distance: Array
    predecessor: Array


@dataclass(frozen=True)
class Forest:
    """The minimum spanning forest.

    Attributes
    ----------
    src, dst : index width [E]
        Rows of the edge's ends; `src` has the smaller external id. Ascending by external (src, dst).
    weights : the graph's weight type, or int64 ones [E]
    labels : index width [V]
        For each row, the row of smallest external id in its tree (an isolated vertex is its own tree).
    """

    src: Array
    dst: Array
    weights: Array
    labels: Array


@dataclass(frozen=True)
class Components:
    """Weak or strong components.

    Attributes
    ----------
    labels : index width [V]
        For each row, the row of smallest external id in its component.
    """

    labels: Array


@dataclass(frozen=True)
class Ranks:
    """PageRank.

    Attributes
    ----------
    ranks : float64 [V]
        They sum to 1.
    iterations : int
    change : float
        Sum of the ranks' changes in the last iteration; infinite if there was none.
    """

    ranks: Array
    iterations: int
    change: float


@dataclass(frozen=True)
class Certificate:
    """The verdict of a one-pass proof.

    Attributes
    ----------
    holds : bool
    reason : str
        The first broken rule, in external ids; empty where the proof holds.
    rules : tuple of str
        What was checked, for the manifest and the report.
    """

    holds: bool
    reason: str
    rules: tuple[str, ...]
