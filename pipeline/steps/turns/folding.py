"""Answers on a split graph as answers of crossings: each has that of its end, and its predecessor is a crossing, too."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kernels.answers import Paths
from kernels.gpu.loader import to_host
from kernels.graph import NO_ROW, Array, Graph

if TYPE_CHECKING:
    from kernels.trees import Trees
    from pipeline.steps.turns.turned import TurnedRows


def of_crossings(rows: "TurnedRows", paths: Paths, hops: bool) -> Paths:
    """Shortest paths of crossings.

    Args:
        paths: Of the split graph, from where paths begin that start at a crossing.
        hops: Whether distances count arcs, of which that to an end is none.
    """
    distance = paths.distance[rows.end]
    if hops:
        distance = distance - ((rows.end != rows.begin) & (distance > 0))
    source = int(rows.crossing[paths.source])
    return Paths(source, distance, predecessors_of(rows, paths.predecessor, source))


def predecessors_of(rows: "TurnedRows", predecessors: Array, source: int) -> Array:
    """The crossings before crossings, index width [V], by predecessors of the split graph [V'].

    The predecessor of an end is a copy of its crossing, or the crossing itself, whose predecessor is one of the crossing before.
    """
    before = predecessors[rows.end]
    split = rows.end != rows.begin
    before[split] = np.where(before[split] == NO_ROW, NO_ROW, predecessors[before[split]])
    known = before != NO_ROW
    crossings = np.full_like(before, NO_ROW)
    crossings[known] = rows.crossing[before[known]]
    crossings[source] = NO_ROW
    return crossings


def of_streets(streets: Graph, whole: Graph, rows: "TurnedRows", loads: Array) -> Array:
    """Loads of the arcs of streets, int64 [n, A], in the order of in-arcs, by those of the split graph's arcs [n, A'].

    Arcs to ends are none of them, and neither are streets that return to their crossing, which the graph of streets lacks.
    """
    crossing, of_arcs = to_host(rows.crossing).astype(np.int64), np.zeros((len(loads), len(streets.into.indices)), np.int64)
    used = np.flatnonzero(loads.any(axis=0))
    heads = crossing[np.searchsorted(to_host(whole.into.offsets), used, side="right") - 1]
    tails = crossing[to_host(whole.into.indices)[used]]
    of_streets = to_host(streets.into.indices).astype(np.int64)
    keys = np.repeat(np.arange(streets.num_vertices), np.diff(to_host(streets.into.offsets))) * streets.num_vertices + of_streets
    order = np.argsort(keys, kind="stable")  # of parallel arcs the first, which is the lightest
    moves = np.flatnonzero(tails != heads)
    place = order[np.searchsorted(keys, heads[moves] * streets.num_vertices + tails[moves], sorter=order)]
    for of_kind, of_moves in zip(of_arcs, loads[:, used[moves]], strict=True):
        np.add.at(of_kind, place, of_moves)
    return of_arcs


@dataclass(frozen=True)
class TurnedSearch:
    """A search on a split graph, whose trees become those of crossings."""

    rows: "TurnedRows"
    towards: bool

    def begins(self, crossings: Array) -> Array:
        """The rows from which to search, for those of crossings; NumPy's."""
        of = self.rows.end if self.towards else self.rows.begin
        return to_host(of[np.asarray(crossings, like=of)])

    def ends(self, crossings: Array | None = None) -> Array:
        """The rows whose distances are those of crossings, or of all."""
        ends = self.rows.begin if self.towards else self.rows.end
        return ends if crossings is None else ends[crossings]

    def of_crossings(self, batch: "Trees", sources: Array) -> "Trees":
        """The trees of crossings by those of the split graph, whose distances are those of ends."""
        stated = batch.predecessors
        if stated is not None:
            one_by_one = zip(stated, sources.tolist(), strict=True)
            stated = np.stack([predecessors_of(self.rows, one, source) for one, source in one_by_one])
        return replace(batch, sources=sources, predecessors=stated)
