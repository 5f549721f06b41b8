"""The proof of a split graph: it has every movement that is permitted, at its cost, and none that is forbidden.

It shares no code with the splitter: it takes the rows of the edge list, follows the split graph's rows from one to the next, and
reads restrictions as ways and nodes, not as sequences of arcs. Directions are angles.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.errors import ProofFailed
from pipeline.steps.turns import COPIES, MOVEMENTS
from pipeline.steps.turns.proof_costs import ExpectedCosts
from pipeline.steps.turns.proof_walk import Walk
from pipeline.store.edges import read_edges
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.streets import PIECES, RESTRICTIONS, SIGNALS, STREETS, restricted_ways

RULES = [
    "each row is an arc of the streets between crossings or copies of them, and each crossing has all its arcs",
    "a copy has, behind each row that enters it, every arc that may follow, and none that a restriction forbids",
    "each weighs its arc, the signals that it passes and the turn before it",
    "arcs without weight lead from each split crossing and each of its copies to its end, and nothing leaves an end",
]
OF_PLACES = "behind a row that enters a place within a street, no arc leads back along this street"
_AT_ONCE = 2**20  # movements


def prove_split(edges: Folder, folder: Path) -> tuple[list[str], float]:
    """Check what was stored of a split graph; the rules that hold, and the seconds that this took. Raises ProofFailed."""
    started = time.perf_counter()
    SplitClaim(edges, tables.read(folder), pq.read_table(folder / MOVEMENTS), pq.read_table(folder / COPIES)).check()
    rules = [*RULES, OF_PLACES] if _has(edges, PIECES) else RULES
    return rules, round(time.perf_counter() - started, 6)


def _require(holds: Any, reason: str) -> None:
    if not holds:
        raise ProofFailed(f"turns: {reason}")


class StreetRows:
    """The rows of the edge list of streets.

    Attributes:
        src, dst, weight (int64 [A]): As stored.
        way, street (int64 [A]), against (bool [A]): Of the street of each.
        pieces: Of streets with places, as `pipeline.tables.streets` says; None without any.
        places (int64 [k]): The vertices at places within streets.
    """

    def __init__(self, edges: Folder) -> None:
        src, dst, weight = read_edges(edges)
        self.src, self.dst = src.astype(np.int64), dst.astype(np.int64)
        self.weight = np.ones(len(src), np.int64) if weight is None else weight.astype(np.int64)
        self.table = pq.read_table(edges.path / STREETS)
        open_ = [self.table[name].is_valid().to_numpy() for name in ("forward", "backward")]
        self.street = np.repeat(np.arange(len(self.table)), open_[0].astype(np.int64) + open_[1])
        first = np.append(True, self.street[1:] != self.street[:-1])[: len(self.street)]
        self.against = ~(first & open_[0][self.street])
        self.way = restricted_ways(self.table)[self.street]
        self.pieces = pq.read_table(edges.path / PIECES) if _has(edges, PIECES) else None
        self.places = np.empty(0, np.int64)
        if self.pieces is not None:
            at_place = ((end, self.pieces.filter(self.pieces[f"{end}_lon"].is_null())) for end in ("src", "dst"))
            self.places = np.union1d(*(self.table[end].take(of["street"]).to_numpy() for end, of in at_place))
        self._order = np.argsort(self.src, kind="stable")
        self._sorted = self.src[self._order]

    def behind(self, vertices: Array) -> tuple[Array, Array]:
        """The place of each vertex in `vertices`, int64 [n], once for each row that leaves it; and the rows, int64 [m] each."""
        low, high = (np.searchsorted(self._sorted, vertices, side) for side in ("left", "right"))
        place = np.repeat(np.arange(len(vertices)), high - low)
        within = np.arange(len(place)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
        return place, self._order[low[place] + within]


class SplitClaim:
    """What is claimed to be the split graph of an edge list: its rows, the arcs that they are, and the added vertices."""

    def __init__(self, edges: Folder, rows: pa.Table, movements: pa.Table, copies: pa.Table) -> None:
        facts = EdgeFacts.of(edges)
        assert facts.roads and facts.roads.turns
        self._costs = facts.roads.turns.costs or {}
        self.streets = StreetRows(edges)
        self._restrictions = pq.read_table(edges.path / RESTRICTIONS).to_pylist() if _has(edges, RESTRICTIONS) else []
        self._signals = pq.read_table(edges.path / SIGNALS) if _has(edges, SIGNALS) else None
        self.src, self.dst, self.weight = (rows[name].to_numpy() for name in ("src", "dst", "weight"))
        self.arc = movements["arc"].to_numpy()
        self.added, self.of, self.is_end = (copies[name].to_numpy() for name in ("id", "vertex", "end"))

    def check(self) -> None:
        """Raise ProofFailed unless all rules hold."""
        streets = self.streets
        _require(len(self.arc) == len(self.src), "some rows are no arcs")
        _require(len(np.unique(self.added)) == len(self.added), "an id stands for two copies")
        vertices = np.unique(np.concatenate([streets.src, streets.dst]))
        _require(not np.isin(self.added, vertices).any(), "a copy has the id of a vertex")
        _require(np.isin(self.of, vertices).all(), "a copy is of a vertex that is not there")
        _require((self.arc >= -1).all() and (self.arc < len(streets.src)).all(), "a row is an arc that is not there")
        self._order = np.argsort(self.added)
        moves = self.arc >= 0
        for ends, due in ((self.src, streets.src), (self.dst, streets.dst)):
            _require(np.array_equal(self._vertex(ends[moves]), due[self.arc[moves]]), "a row has other ends than its arc")
        self._check_ends(moves)
        self._check_crossings(moves)
        self._check_copies(moves)

    def _vertex(self, ids: Array) -> Array:
        """The crossings of vertices of the split graph."""
        place = self._place(ids)
        return np.where(place < 0, ids, self.of[place] if len(self.of) else ids)

    def _place(self, ids: Array) -> Array:
        """Places among the added vertices; -1 for others."""
        if not len(self.added):
            return np.full(len(ids), -1)
        ascending = self.added[self._order]
        at = np.minimum(np.searchsorted(ascending, ids), len(ascending) - 1)
        return np.where(ascending[at] == ids, self._order[at], -1)

    def _check_ends(self, moves: Array) -> None:
        ends = self.added[self.is_end]
        split = np.unique(self.of[~self.is_end])
        _require(np.array_equal(np.sort(self.of[self.is_end]), split), "a crossing has not one end if it is split")
        _require(not np.isin(self.src, ends).any(), "an arc leaves an end")
        _require(not np.isin(self.dst[moves], ends).any(), "an arc of a street leads to an end")
        src, dst = self.src[~moves], self.dst[~moves]
        due = np.sort(np.concatenate([split, self.added[~self.is_end]]))
        _require(np.array_equal(np.sort(src), due), "not each copy has one arc to an end")
        _require(
            np.isin(dst, ends).all() and np.array_equal(self._vertex(src), self._vertex(dst)), "an end is another crossing's"
        )
        _require((self.weight[~moves] == 0).all(), "an arc to an end has a weight")

    def _check_crossings(self, moves: Array) -> None:
        """Each crossing itself has all its arcs."""
        own = moves & (self._place(self.src) < 0)
        _require(np.array_equal(np.sort(self.arc[own]), np.arange(len(self.streets.src))), "a crossing has not each arc once")
        _require(np.array_equal(self.weight[own], self._plain_weights()[self.arc[own]]), "an arc has another weight")

    def _plain_weights(self) -> Array:
        weights, streets = self.streets.weight, self.streets
        if self._signals is not None:
            street, against = (self._signals[name].to_numpy() for name in ("street", "against"))
            passed = np.bincount(2 * street + against, minlength=2 * len(streets.table))
            weights = weights + self._costs.get("signals", 0) * passed[2 * streets.street + streets.against]
        return weights

    def _check_copies(self, moves: Array) -> None:
        """Behind each row, the vertex that it enters has what may follow it."""
        costs, plain = ExpectedCosts(self.streets, self._costs), self._plain_weights()
        rows = np.flatnonzero(moves)
        order = np.lexsort((self.arc[rows], self.src[rows]))
        left = rows[order]  # by vertex and arc
        same = (self.src[left][1:] == self.src[left][:-1]) & (self.arc[left][1:] == self.arc[left][:-1])
        _require(not same.any(), "a copy has an arc twice")
        walk = Walk(self.streets, self._restrictions, self.src, self.dst, self.arc, rows)
        for first in range(0, len(rows), _AT_ONCE):
            some = rows[first : first + _AT_ONCE]
            for entering, second, forbidden in self._movements(some, walk):
                place = _find(self.src[left], self.arc[left], self.dst[entering], second)
                _require(not (forbidden & (place >= 0)).any(), "a movement is there that is forbidden")
                _require((forbidden | (place >= 0)).all(), "a movement is missing that is permitted")
                kept = ~forbidden
                extra = self.weight[left[place[kept]]] - plain[second[kept]]
                _require(costs.are(self.arc[entering[kept]], second[kept], extra).all(), "a turn has another cost")

    def _movements(self, some: Array, walk: Walk) -> Iterator[tuple[Array, Array, Array]]:
        """Rows, the arcs that may follow each, and whether a restriction forbids that."""
        plain = some[~walk.remembers(self.dst[some])]
        place, second = self.streets.behind(self._vertex(self.dst[plain]))
        yield plain[place], second, walk.forbids(self.arc[plain[place]], second)
        walked = walk.movements(some)
        if walked:
            entering, seconds, forbidden = (np.array(column) for column in zip(*walked, strict=True))
            yield entering, seconds, forbidden


def _has(edges: Folder, name: str) -> bool:
    return name in edges.manifest.files


def _find(src: Array, arc: Array, of: Array, wanted: Array) -> Array:
    """The places of pairs in columns that are sorted by both, -1 for those that are not there."""
    ids = np.unique(src)
    known = np.minimum(np.searchsorted(ids, of), max(len(ids) - 1, 0))
    most = int(arc.max(initial=0)) + 1
    keys, wanted_keys = np.searchsorted(ids, src) * most + arc, known * most + wanted
    at = np.minimum(np.searchsorted(keys, wanted_keys), max(len(keys) - 1, 0))
    return np.where((ids[known] == of) & (keys[at] == wanted_keys) & (wanted < most), at, -1)
