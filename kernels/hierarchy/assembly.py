"""From the arcs that the contracted vertices had to positions: the last step of the construction of a hierarchy."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, ldexp
from typing import NamedTuple

import numpy as np

from kernels.answers import Hierarchy, HierarchyArcs
from kernels.cpu.parallel import inverse
from kernels.graph import NO_ROW, Array, Graph
from kernels.hierarchy.core import Core, CoreArcs, offsets_of, stable_order

_DIGITS, _BIAS = 52, 1023  # of float64


class Recorded(NamedTuple):
    """Arcs between a contracted vertex and higher ones; vertices are rows of the graph, the rest is as in `CoreArcs`."""

    owners: Array
    others: Array
    weights: Array
    via: Array


@dataclass(frozen=True)
class Contracted:
    """The vertices of a round."""

    rows: Array
    levels: Array
    sides: tuple[Recorded, ...]  # out and in, or one if the graph is symmetric

    @classmethod
    def of(cls, core: Core, chosen: Array) -> "Contracted":
        """The chosen vertices of a core."""
        sides = ((core.out, core.out_tails), (core.into, core.into_heads))[: 1 if core.symmetric else 2]
        rows = np.flatnonzero(chosen)
        return cls(core.rows[rows], core.levels[rows], tuple(_recorded(*side, core.rows, chosen) for side in sides))

    @property
    def arcs(self) -> int:
        """How many arcs there are, of both directions."""
        return sum(len(side.owners) for side in self.sides)


def _recorded(side: CoreArcs, owners: Array, rows: Array, chosen: Array) -> Recorded:
    arcs = np.flatnonzero(chosen[owners])
    return Recorded(rows[owners[arcs]], rows[side.heads[arcs]], side.weights[arcs], side.via[arcs])


def assemble(graph: Graph, rounds: Sequence[Contracted]) -> Hierarchy:
    """Number all vertices by level, and sort their arcs."""
    levels = np.concatenate([each.levels for each in rounds])[inverse(np.concatenate([each.rows for each in rounds]))]
    top = int(levels.max()) if len(levels) else -1
    rows = stable_order(top - levels).astype(graph.rows_by_id.dtype)
    positions = inverse(rows)
    starts = offsets_of(top - levels, top + 1)
    up, *others = (_sorted(sides, positions) for sides in zip(*(each.sides for each in rounds), strict=True))
    return Hierarchy(rows, positions, starts, up, others[0] if others else up, _exact(graph))


def _sorted(sides: Sequence[Recorded], positions: Array) -> HierarchyArcs:
    """The arcs of all rounds by position."""
    recorded = Recorded(*map(np.concatenate, zip(*sides, strict=True)))
    owners, others = positions[recorded.owners], positions[recorded.others]
    order = (owners.astype(np.int64) * len(positions) + others).argsort()
    via = recorded.via[order]
    middles = np.where(via < 0, positions[np.maximum(~via, 0)] if len(via) else others, NO_ROW).astype(positions.dtype)
    weights = recorded.weights[order]
    weights = weights.view(np.int64) if weights.dtype == np.uint64 else weights
    return HierarchyArcs(offsets_of(owners, len(positions)), others[order], weights, middles, np.maximum(via, -1))


def _exact(graph: Graph) -> bool:
    """Whether no sum of different arcs' weights rounds in float64: they are multiples of a unit, less than 2^53 of it in all."""
    weights = graph.out.weights
    if weights is None or weights.dtype.kind == "i":
        return True
    positive = weights[weights > 0].astype(np.float64)
    with np.errstate(over="ignore"):
        total = float(positive.sum())
    if not 0 < total < inf:
        return total == 0
    bits = positive.view(np.int64)
    exponents = bits >> _DIGITS
    digits = (bits & ((1 << _DIGITS) - 1)) + ((exponents > 0).astype(np.int64) << _DIGITS)
    units = ((digits & -digits).astype(np.float64).view(np.int64) >> _DIGITS) + np.maximum(exponents, 1)
    return total < ldexp(1.0, int(units.min()) - 2 * _BIAS + 1)
