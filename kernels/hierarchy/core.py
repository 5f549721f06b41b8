"""The core: the rest of a graph between two rounds of contraction."""

from dataclasses import dataclass
from functools import cached_property
from math import log2, sqrt
from typing import Any, NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import Array, Csr, Graph

_SMALL = 512  # vertices of a core that is never too dense
SHORTCUTS = 128  # that contracting a vertex may need, by `density`; roads stay below a fifth of it
_ARCS = 32  # of a contracted vertex, on average, in both directions; roads have 6


class CoreArcs(NamedTuple):
    """Arcs of the core by their tails, or by their heads."""

    offsets: Array  # int64 [n + 1]
    heads: Array  # int32 [A]: number of the other end in the core
    weights: Array  # uint64 or float64 [A]: unsigned, so that a sum of two does not wrap
    via: Array  # int64 [A]: the arc's number in `graph.out`; of a shortcut ~row of the middle vertex


class TooManyShortcuts(ValueError):
    """A graph whose hierarchy would need too many shortcuts."""


@dataclass(frozen=True)
class Core:
    """The vertices that are not contracted yet, numbered from 0 to n - 1 in the order of their rows."""

    rows: Array  # index width [n]
    levels: Array  # int32 [n]: one more than the highest level of the contracted neighbours
    out: CoreArcs
    into: CoreArcs  # the same object as `out` if the graph is symmetric

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.rows)

    @cached_property
    def out_tails(self) -> Array:
        """The tail of each arc of `out` (int32 [A])."""
        return tails_of(self.out)

    @cached_property
    def into_heads(self) -> Array:
        """The owner, which is the head, of each arc of `into` (int32 [A])."""
        return self.out_tails if self.symmetric else tails_of(self.into)

    @property
    def symmetric(self) -> bool:
        """Whether every arc has its reverse of the same weight."""
        return self.into is self.out

    @property
    def far(self) -> Any:
        """A scalar that is larger than all lengths."""
        return np.uint64(2**63) if self.out.weights.dtype == np.uint64 else np.float64(np.inf)


def core_of(graph: Graph) -> Core:
    """All vertices of a graph; without self-loops, and with the first, lightest, of parallel arcs."""
    out = _side(graph.out)
    into = out if graph.symmetric else transposed(out)
    rows = np.arange(graph.num_vertices, dtype=np.int32, like=out.heads)
    return Core(rows, np.zeros_like(rows), out, into)


def _side(csr: Csr) -> CoreArcs:
    numbers = CoreArcs(csr.offsets, csr.indices.astype(np.int32), csr.indices, csr.indices)
    tails = tails_of(numbers)
    keep = tails != numbers.heads
    keep[1:] &= (tails[1:] != tails[:-1]) | (numbers.heads[1:] != numbers.heads[:-1])
    weights = np.ones_like(tails, np.int64) if csr.weights is None else csr.weights
    weights = weights.astype(np.uint64 if weights.dtype.kind == "i" else np.float64)
    return CoreArcs(offsets_of(tails[keep], len(csr.offsets) - 1), numbers.heads[keep], weights[keep], np.flatnonzero(keep))


def offsets_of(tails: Array, size: int) -> Array:
    """Offsets of arcs by their tails."""
    return np.concatenate([np.zeros_like(tails[:1], np.int64, shape=1), np.cumsum(np.bincount(tails, minlength=size))])


def tails_of(side: CoreArcs) -> Array:
    """The owner of each arc (int32 [A])."""
    if is_cupy_array(side.offsets):
        arcs = np.arange(len(side.heads), like=side.offsets)
        return (np.searchsorted(side.offsets, arcs, side="right") - 1).astype(np.int32)
    return np.repeat(np.arange(len(side.offsets) - 1, dtype=np.int32), np.diff(side.offsets))


def stable_order(keys: Array) -> Array:
    """The permutation that sorts keys, ties in their order."""
    return keys.argsort() if is_cupy_array(keys) else keys.argsort(kind="stable")


def transposed(side: CoreArcs) -> CoreArcs:
    """The arcs by their other ends."""
    offsets = offsets_of(side.heads, len(side.offsets) - 1)
    if not is_cupy_array(offsets):
        from kernels.hierarchy.transposing import transpose

        return CoreArcs(*transpose(side, offsets))
    order = stable_order(side.heads)
    return CoreArcs(offsets, tails_of(side)[order], side.weights[order], side.via[order])


def remaining(core: Core, left: Array, levels: Array, out: CoreArcs) -> Core:
    """The core of the vertices that are left (int64 [m], ascending), whose out-arcs are known by their old numbers."""
    numbers = np.zeros_like(core.rows)
    numbers[left] = np.arange(len(left), dtype=numbers.dtype, like=numbers)
    degrees = (out.offsets[1:] - out.offsets[:-1])[left]
    offsets = np.concatenate([np.zeros_like(out.offsets[:1]), np.cumsum(degrees)])
    made = CoreArcs(offsets, numbers[out.heads], out.weights, out.via)
    return Core(core.rows[left], levels[left], made, made if core.symmetric else transposed(made))


def growth(core: Core, vertices: int) -> float:
    """How much denser a core may be than all `vertices` of the graph.

    As many streets cross the border of a part of the plane as the square root of its vertices. The first halves of the vertices
    that are contracted may add more.
    """
    share = vertices / core.size
    return max(sqrt(share), 1 + log2(share))


def density(core: Core, vertices: int) -> float:
    """The mean number of paths of two arcs through a vertex, over `growth`: roads have 4 to 17, however few are left."""
    out, into = (side.offsets[1:] - side.offsets[:-1] for side in (core.out, core.into))
    return float((out * into).sum()) / core.size / growth(core, vertices)


def require_road_like(core: Core, dense: float, recorded: int, vertices: int) -> None:
    """Raise TooManyShortcuts if the rest of the graph is too dense, or the contracted vertices have too many arcs.

    Args:
        dense: The core's `density`.
        recorded: Number of these arcs.
        vertices: Of the graph.
    """
    if core.size > _SMALL and dense > SHORTCUTS:
        needed, limit = (share * growth(core, vertices) for share in (dense, SHORTCUTS))
        what = f"contracting a vertex may need {needed:,.0f} shortcuts (limit {limit:,.0f})"
    elif recorded > _ARCS * vertices and recorded > _SMALL**2:
        what = f"the hierarchy needs more than {_ARCS} arcs a vertex"
    else:
        return
    raise TooManyShortcuts(f"not like a road network: with {core.size:,} of {vertices:,} vertices left, {what}")
