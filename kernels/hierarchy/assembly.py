"""From the arcs that the contracted vertices had to positions: the last step of the construction of a hierarchy."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from kernels.answers import Hierarchy, HierarchyArcs
from kernels.cpu.parallel import inverse
from kernels.graph import NO_ROW, Array, Graph
from kernels.hierarchy.core import Core, Side, offsets_of, tails_of


@dataclass(frozen=True)
class Contracted:
    """The vertices of a round, with their arcs to higher vertices. Entries are rows of the graph."""

    rows: Array
    levels: Array
    sides: tuple[Side, ...]  # out and in, or one if the graph is symmetric

    @classmethod
    def of(cls, core: Core, chosen: Array) -> "Contracted":
        """The chosen vertices of a core."""
        sides = (core.out,) if core.symmetric else (core.out, core.into)
        return cls(core.rows[chosen], core.levels[chosen], tuple(_rows_of(side, core.rows, chosen) for side in sides))

    @property
    def arcs(self) -> int:
        """How many arcs there are, of both directions."""
        return sum(len(side.heads) for side in self.sides)


def _rows_of(side: Side, rows: Array, chosen: Array) -> Side:
    arcs = chosen[tails_of(side)]
    offsets = np.concatenate([np.zeros_like(side.offsets[:1]), np.cumsum((side.offsets[1:] - side.offsets[:-1])[chosen])])
    return Side(offsets, rows[side.heads[arcs]], side.weights[arcs], side.via[arcs])


def assemble(graph: Graph, rounds: Sequence[Contracted]) -> Hierarchy:
    """Number all vertices by level, and gather their arcs."""
    empty = graph.rows_by_id[:0]
    order = np.concatenate([empty, *(each.rows for each in rounds)])
    levels = np.concatenate([empty.astype(np.int32), *(each.levels for each in rounds)])
    place = inverse(order)
    levels = levels[place]
    top = int(levels.max()) if len(levels) else -1
    rows = np.argsort(top - levels, kind="stable").astype(graph.rows_by_id.dtype)
    positions = inverse(rows)
    starts = offsets_of(top - levels, top + 1)
    number_of_sides = 1 if graph.symmetric else 2
    arcs = [_gathered([each.sides[side] for each in rounds], place, rows, positions, graph) for side in range(number_of_sides)]
    return Hierarchy(rows, positions, starts, arcs[0], arcs[-1], _exact(graph))


def _gathered(sides: Sequence[Side], place: Array, rows: Array, positions: Array, graph: Graph) -> HierarchyArcs:
    """Arcs by position, from arcs in the order of contraction, in which row r has place `place[r]`."""
    floats = graph.out.weights is not None and graph.out.weights.dtype.kind == "f"
    empty = Side(
        np.zeros_like(place[:1], np.int64),
        rows[:0],
        np.zeros_like(rows[:0], np.float64 if floats else np.uint64),
        np.zeros_like(rows[:0], np.int64),
    )
    starts = accumulate((len(side.heads) for side in sides), initial=0)
    ends = np.concatenate([empty.offsets, *(side.offsets[1:] + start for side, start in zip(sides, starts, strict=False))])
    heads, weights, via = (
        np.concatenate([getattr(empty, name), *(getattr(side, name) for side in sides)]) for name in Side._fields[1:]
    )
    owners = positions[np.repeat(inverse(place), np.diff(ends))]
    others = positions[heads]
    order = np.argsort(owners.astype(np.int64) * len(rows) + others)
    via = via[order]
    middles = np.where(via < 0, positions[np.maximum(~via, 0)], NO_ROW).astype(rows.dtype)
    return HierarchyArcs(
        offsets_of(owners, len(rows)),
        others[order],
        weights[order].view(np.float64 if floats else np.int64),
        middles,
        np.maximum(via, -1),
    )


def _exact(graph: Graph) -> bool:
    """Whether no sum of weights of different arcs rounds in float64: they are multiples of a unit, 2^53 of it in all at most."""
    weights = graph.out.weights
    if weights is None or weights.dtype.kind == "i":
        return True
    positive = weights[weights > 0].astype(np.float64)
    if not len(positive) or not bool(np.isfinite(positive).all()):
        return not len(positive)
    fractions, exponents = np.frexp(positive)
    digits = (fractions * 2.0**53).astype(np.int64)
    units = np.ldexp((digits & -digits).astype(np.float64), exponents - 53)
    with np.errstate(over="ignore"):
        return float(positive.sum()) <= float(units.min()) * 2.0**53
