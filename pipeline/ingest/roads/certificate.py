"""The proof of a road network: what was stored is what the ways of the source say, by code that shares nothing with the splitter.

It works on segments, the steps from each node of a way to the next, and on whole arrays: a node within a chain is one at which
two segments meet, which are neighbours in one way. Lengths are chords of the sphere in three dimensions.
"""

import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.cpu.parallel import over_items
from kernels.graph import Array
from pipeline.errors import ProofFailed
from pipeline.ingest.roads.network import Attributes
from pipeline.signals import beside
from pipeline.tables import files as tables
from pipeline.tables.streets import PART, STREETS

RULES = [
    "each street is a part of its way between two crossings or ends, in the order of the file, and none is missing but islands",
    "its points are those of the way's nodes, its length is that of its segments to half a millimetre each",
    "its arcs lead in the directions that the way's tags open, and weigh its length, or the rounded time at the way's speed",
]
_METRES, _MILLI = 6_371_008.8, 1000.0
_AT_ONCE = 2**16  # segments
_PER_HOUR, _EXACT = 3_600_000, 2**60 // 3_600_000
_ROUNDED, _OPPOSITE, _ARC_SINE = 0.5001, 1.99, 1000.0  # millimetres; the chord beyond which an arc sine errs by the last ones


@dataclass(frozen=True)
class WaysRead:
    """The ways of a source, as they were read.

    Attributes:
        at, ends: Places of the nodes of all ways, and where those of each way end.
        passable (bool [M]): Which nodes are in the file and no barriers.
        known: What is known of ways and nodes besides.
        by_time: Whether arcs weigh times.
        islands: Weak components with fewer vertices are left out.
    """

    at: Array
    ends: Array
    passable: Array
    known: Attributes
    by_time: bool
    islands: int


def due_of(claim: WaysRead) -> Future["DueStreets"]:
    """The streets that ways must become, which a thread of its own computes while the splitter's are stored."""
    return beside(partial(DueStreets, claim))


def prove(computed: Future["DueStreets"], folder: Path, weighted: bool) -> tuple[list[str], float]:
    """Check the stored edge list and the streets beside it; the rules that hold, and the seconds that this took.

    Args:
        computed: What `due_of` returns.

    Raises ProofFailed.
    """
    started = time.perf_counter()
    due, row = computed.result(), 0
    with pq.ParquetFile(folder / STREETS, page_checksum_verification=True) as file:
        due.add_up(file.read(["length"])["length"].to_numpy())
    for streets in _groups(folder / STREETS):
        due.compare(streets, row)
        row += len(streets)
    _require(row == len(due.first), f"has {row} streets, not the {len(due.first)} of the ways")
    arc = 0
    for file in tables.files(folder):
        for edges in _groups(file):
            due.compare_arcs(edges, arc, weighted)
            arc += len(edges)
    _require(arc == len(due.arcs), f"has {arc} arcs, not the {len(due.arcs)} that the ways open")
    return RULES, round(time.perf_counter() - started, 6)


def _groups(path: Path) -> Iterator[pa.Table]:
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group)


def _require(holds: Any, reason: str) -> None:
    if not holds:
        raise ProofFailed(f"edges: {reason}")


class DueStreets:
    """The streets that ways must become, from their segments.

    Attributes:
        first (int64 [C]): The first segment of each street; they are numbered without a gap.
        arcs (int64 [A]): Twice the street of each arc, and one more if it leads against the way.
    """

    def __init__(self, claim: WaysRead) -> None:
        known, at = claim.known, claim.at
        way = np.repeat(np.arange(len(claim.ends), dtype=np.int32), np.diff(claim.ends, prepend=0))
        through = claim.passable[at]
        # A node that is repeated belongs to one segment only: the last of equal neighbours begins the next one.
        same = np.zeros(len(at), np.bool_)
        same[1:] = (way[1:] == way[:-1]) & (at[1:] == at[:-1]) & through[1:]
        place = np.flatnonzero(~same)
        self._whole = np.ones(len(claim.ends), np.bool_)
        self._whole[way[~through]] = False
        joined = (way[place[1:]] == way[place[:-1]]) & through[place[1:]] & through[place[:-1]]
        begins = place[:-1][joined]
        self.tail, self.head, self.way = at[begins], at[place[1:][joined]], way[begins]
        index = np.flatnonzero(joined)
        follows = np.zeros(len(index), np.bool_)  # the segment before it, without a gap
        follows[1:] = index[1:] == index[:-1] + 1
        meet = np.bincount(self.tail, minlength=len(known.ids)) + np.bincount(self.head, minlength=len(known.ids))
        inside = follows & (meet[self.tail] == 2)
        self.first = np.flatnonzero(~inside)
        self._known, self._claim = known, claim
        self._length, self._slack = self._lengths()
        self._leave_out_islands(claim.islands)
        speeds = known.speeds[known.street[self.way[self.first]]]
        open_ = np.stack([speeds[:, 0] > 0, speeds[:, 1] > 0], axis=1)
        self.arcs = np.flatnonzero(open_.ravel())
        self._weights = np.empty((len(self.first), 2), np.int64)

    def _lengths(self) -> tuple[Array, Array]:
        """The length of each street in millimetres, and by how much that of rounded segments may differ, float64 [C]."""
        if not len(self.first):
            return np.empty(0), np.empty(0)
        lengths, opposite = np.empty(len(self.tail)), np.empty(len(self.tail), np.bool_)

        def measure(begin: int) -> None:
            part = slice(begin, begin + _AT_ONCE)
            chords = np.linalg.norm(self._vectors(self.tail[part]) - self._vectors(self.head[part]), axis=1)
            lengths[part] = 2 * _METRES * _MILLI * np.arcsin(np.minimum(chords / 2, 1))
            opposite[part] = chords > _OPPOSITE

        over_items(range(0, len(self.tail), _AT_ONCE), measure)
        slack = np.diff(np.append(self.first, len(self.tail))) * _ROUNDED
        if opposite.any():
            slack += np.add.reduceat(opposite.astype(np.int64), self.first) * _ARC_SINE
        return np.add.reduceat(lengths, self.first), slack

    def _vectors(self, nodes: Array) -> Array:
        """Nodes on the unit sphere, float64 [n, 3]."""
        lon, lat = np.deg2rad(self._known.units[nodes].T / 1e7)
        return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)

    def _leave_out_islands(self, least: int) -> None:
        """Keep the streets in weak components, over all nodes, that have at least as many crossings and ends."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        last = np.append(self.first[1:], len(self.tail)) - 1
        kept = np.ones(len(self.first), np.bool_)
        if least > 1 and len(self.first):
            nodes = len(self._known.ids)
            graph = coo_array((np.ones(len(self.tail), np.int8), (self.tail, self.head)), shape=(nodes, nodes))
            component = connected_components(graph, directed=False)[1]
            vertices = np.zeros(nodes, np.bool_)
            vertices[self.tail[self.first]] = vertices[self.head[last]] = True
            kept = np.bincount(component[vertices], minlength=nodes)[component[self.tail[self.first]]] >= least
        self._last = last[kept]
        self.first, self._length, self._slack = self.first[kept], self._length[kept], self._slack[kept]

    def add_up(self, length: Array) -> None:
        """Take the stored lengths of all streets, millimetres: ferries share their time over those of their way."""
        _require(len(length) == len(self.first), f"has {len(length)} streets, not the {len(self.first)} of the ways")
        self._totals = np.zeros(len(self._known.ways), np.int64)
        np.add.at(self._totals, self.way[self.first], length)

    def compare(self, streets: pa.Table, row: int) -> None:
        """Compare stored streets with those that are due from number `row` on. Raises ProofFailed."""
        known, part = self._known, slice(row, row + len(streets))
        first, last, stored = self.first[part], self._last[part], {name: streets[name] for name in streets.column_names}
        _require(len(first) == len(streets), "has more streets than the ways have")
        way = self.way[first]
        due = {"src": pa.array(known.ids[self.tail[first]]), "dst": pa.array(known.ids[self.head[last]])}
        due |= {PART: pa.array(way)} if PART in stored else {}
        for name, column in (due | {known.way: known.ids_of(way)}).items():
            wrong = pc.index(pc.equal(stored[name], column), False).as_py()
            _require(wrong < 0, f"street {row + wrong}: its {name} is not that of the source")
        length = stored["length"].to_numpy()
        _require(
            (np.abs(length - self._length[part]) <= self._slack[part]).all(), f"a street behind number {row} has another length"
        )
        number, street = known.name[way], known.street[way]
        texts = known.names.take(pa.array(number, mask=number < 0)).cast(pa.string())
        _require(stored["name"].combine_chunks().equals(texts), f"a street behind number {row} has another name")
        texts = pa.array(known.classes, pa.string()).take(pa.array(street))
        _require(stored["class"].combine_chunks().equals(texts), f"a street behind number {row} has another class")
        self._compare_points(stored["points"].combine_chunks(), first, last)
        self._compare_weights(stored, length, row)

    def _compare_points(self, points: pa.ListArray, first: Array, last: Array) -> None:
        counts = last - first + 1
        segments = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        ends = np.cumsum(counts + 1) - 1  # of each street, in its list of nodes
        nodes = np.empty(counts.sum() + len(counts), self.tail.dtype)
        within = np.ones(len(nodes), np.bool_)
        within[ends] = False
        nodes[within], nodes[ends] = self.tail[segments], self.head[last]
        offsets, values = points.offsets.to_numpy(), points.flatten().to_numpy()
        same = np.array_equal(np.diff(offsets), 2 * (counts + 1)) and np.array_equal(values, self._known.units[nodes].ravel())
        _require(same, "the points of a street are not those of its way")

    def _compare_weights(self, stored: dict[str, Any], length: Array, row: int) -> None:
        part = slice(row, row + len(length))
        way = self.way[self.first[part]]
        speeds = self._known.speeds[self._known.street[way]]
        for direction, name in enumerate(("forward", "backward")):
            weight, speed = stored[name].fill_null(-1).to_numpy(), speeds[:, direction]
            _require(np.array_equal(weight >= 0, speed > 0), f"a street behind number {row} is open in another direction")
            if self._claim.by_time:
                seconds, total = np.where(self._whole[way], speeds[:, 2], 0), self._totals[way]
                speed = np.where((seconds > 0) & (speed > 0), np.maximum(total * 3600 // np.maximum(seconds, 1), 1), speed)
                right = _are_times(weight, length, np.maximum(speed, 1))
            else:
                right = weight == length
            _require((right | (weight < 0)).all(), f"a street behind number {row} has another weight")
            self._weights[part, direction] = weight

    def compare_arcs(self, edges: pa.Table, arc: int, weighted: bool) -> None:
        """Compare stored arcs with those that are due from number `arc` on. Raises ProofFailed."""
        street, against = np.divmod(self.arcs[arc : arc + len(edges)], 2)
        _require(len(street) == len(edges), "has more arcs than the ways open")
        ids, ends = self._known.ids, np.stack([self.tail[self.first], self.head[self._last]], axis=1)[street]
        row = np.arange(len(street))
        same = np.array_equal(edges["src"].to_numpy(), ids[ends[row, against]])
        same = same and np.array_equal(edges["dst"].to_numpy(), ids[ends[row, 1 - against]])
        same = same and (not weighted or np.array_equal(edges["weight"].to_numpy(), self._weights[street, against]))
        _require(same, f"an arc behind number {arc} is not the street that it should be")


def _are_times(weight: Array, length: Array, speed: Array) -> Array:
    """Whether each weight is the nearest integer to length over speed, in milliseconds, the even one of two, bool [n].

    A weight that is far from the quotient of floats is wrong, so that the products that are compared fit 64 bits, unless a length
    is hundreds of times around the earth.
    """
    near = np.abs(weight - length / speed * _PER_HOUR) <= 1 + length / speed * _PER_HOUR * 1e-9
    if len(length) and length.max() > _EXACT:
        weight, length, speed = (column.astype(object) for column in (weight, length, speed))
    twice = np.abs(2 * (weight * speed - length * _PER_HOUR))
    right: Array = near & ((twice < speed) | ((twice == speed) & (weight % 2 == 0))).astype(np.bool_)
    return right
