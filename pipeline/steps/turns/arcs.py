"""The arcs of a road network with their streets, in the order of the edge list."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder
from pipeline.tables.streets import PIECE_SCHEMA, PIECES, RESTRICTIONS, SIGNALS, read_streets


@dataclass(frozen=True)
class StreetArcs:
    """Arcs of streets: of each street first the one along its way, then the one against it, if they are open.

    Attributes:
        ids (int64 [V]): External ids of the vertices, ascending.
        tail, head (int64 [A]): Numbers of the ends of each arc among `ids`.
        weight (int64 [A]): 1 if the graph has no weights.
        street (int64 [A]), against (bool [A]): The street, by its number, and whether the arc leads against it.
        streets: The table of `pipeline.tables.streets`.
        pieces: Those of streets that places divide, as PIECE_SCHEMA.
    """

    ids: Array
    tail: Array
    head: Array
    weight: Array
    street: Array
    against: Array
    streets: pa.Table
    pieces: pa.Table = field(default_factory=PIECE_SCHEMA.empty_table)

    @staticmethod
    def of(edges: Folder) -> "StreetArcs":
        """Those of an edge list."""
        streets = read_streets(edges)
        both = np.stack([streets[name].fill_null(-1).to_numpy() for name in ("forward", "backward")], axis=1)
        street, against = np.divmod(np.flatnonzero(both.ravel() >= 0), 2)
        weight = both[street, against] if EdgeFacts.of(edges).weight else np.ones(len(street), np.int64)
        ends = np.stack([streets[name].to_numpy() for name in ("src", "dst")], axis=1)[street]
        row = np.arange(len(street))
        ids, numbers = np.unique(np.stack([ends[row, against], ends[row, 1 - against]]), return_inverse=True)
        tail, head = numbers.reshape(2, -1)
        return StreetArcs(ids, tail, head, weight, street, against.astype(np.bool_), streets, _read_pieces(edges))

    @cached_property
    def leaving(self) -> tuple[Array, Array]:
        """The arcs by tails: where those of each vertex begin, int64 [V + 1], and the arcs, int64 [A]."""
        order = np.argsort(self.tail, kind="stable")
        return np.concatenate([[0], np.cumsum(np.bincount(self.tail, minlength=len(self.ids)))]), order

    @cached_property
    def within(self) -> Array:
        """Whether each vertex is at a place within a street, bool [V]."""
        numbers = [self.pieces["street"].filter(self.pieces[f"{end}_lon"].is_null()) for end in ("src", "dst")]
        places = [self.streets[end].take(of).to_numpy() for end, of in zip(("src", "dst"), numbers, strict=True)]
        return np.isin(self.ids, np.concatenate(places))

    def reverses(self, first: Array, second: Array) -> Array:
        """Whether movements from one arc to another turn round at a place within a street, bool [n]."""
        reverses: Array = self.within[self.head[first]] & (self.street[first] == self.street[second])
        return reverses

    def after(self, arcs: Array) -> tuple[Array, Array]:
        """The movements behind arcs, int64 [n]: the place of the first arc in `arcs`, and the second arc, int64 [m] each."""
        begins, order = self.leaving
        first, counts = begins[self.head[arcs]], begins[self.head[arcs] + 1] - begins[self.head[arcs]]
        place = np.repeat(np.arange(len(arcs)), counts)
        return place, order[np.arange(len(place)) + np.repeat(first - np.cumsum(counts) + counts, counts)]

    def after_one(self, arc: int) -> list[int]:
        """The arcs that may follow one."""
        begins, order = self.leaving
        followers: list[int] = order[begins[self.head[arc]] : begins[self.head[arc] + 1]].tolist()
        return followers


def read_restrictions(edges: Folder) -> list[dict[str, Any]]:
    """The turn restrictions beside an edge list, as `pipeline.tables.streets` describes them."""
    if RESTRICTIONS not in edges.manifest.files:
        return []
    rows: list[dict[str, Any]] = pq.read_table(edges.path / RESTRICTIONS, page_checksum_verification=True).to_pylist()
    return rows


def _read_pieces(edges: Folder) -> pa.Table:
    """The pieces of streets that places divide, beside an edge list."""
    if PIECES not in edges.manifest.files:
        return PIECE_SCHEMA.empty_table()
    return pq.read_table(edges.path / PIECES, page_checksum_verification=True)


def read_signals(edges: Folder) -> pa.Table | None:
    """The traffic signals beside an edge list, if it has some."""
    return pq.read_table(edges.path / SIGNALS, page_checksum_verification=True) if SIGNALS in edges.manifest.files else None
