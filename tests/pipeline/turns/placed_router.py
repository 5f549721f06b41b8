"""A third router, over the arcs of undivided streets: a path begins and ends within arcs, and turns at crossings only.

It reads streets before places divide them, and where places are on these; the last arcs of a path are its state.
"""

import heapq
import math
import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pyarrow.parquet as pq

from pipeline.tables.streets import STREETS
from tests.ingest.osm.extracts import Node, Turn, Way, metres
from tests.pipeline.turns.router import Router, town

BEND, END = 1000, 900  # ids of shape points begin there; a dead end


def bent_town(seed, size=4):
    """A town whose streets have shape points, some of them with signals, a street that is closed in itself, and a dead end."""
    chosen = random.Random(seed)
    nodes, ways, turns = town(seed, size, 30)
    at, bends = {node.id: (node.lon, node.lat) for node in nodes}, []
    for way in ways:
        refs = way.nodes[:1]
        for one, other in pairwise(way.nodes):
            for step in range(chosen.choice([0, 1, 2])):
                share, shifts = (step + 1) / 3, [chosen.uniform(-1, 1) / 8000 for _ in "xy"]
                place = [(1 - share) * a + share * b + by for a, b, by in zip(at[one], at[other], shifts, strict=True)]
                bends.append(_shape(chosen, BEND + len(bends), *place))
                refs.append(bends[-1].id)
            refs.append(other)
        way.nodes = refs
    lon, lat = at[size]
    loop = [_shape(chosen, BEND + len(bends) + step, lon + dx, lat + dy) for step, (dx, dy) in enumerate(
        ((3e-4, 1e-4), (3e-4, 4e-4), (1e-4, 4e-4)))]  # fmt: skip
    number = ways[-1].id
    ways += [Way(number + 1, [size, *(node.id for node in loop), size]), Way(number + 2, [1, END])]
    turns.append(Turn(99, [number + 2, 1], 1))
    return [*nodes, *bends, *loop, Node(END, at[1][0] - 9e-4, at[1][1])], ways, turns


def _shape(chosen, identity, lon, lat):
    signals = {"highway": "traffic_signals"}
    node = Node(identity, lon, lat)
    node.tags = chosen.choice([{}, {}, signals, signals | {"traffic_signals:direction": "backward"}])
    return node


class PlacedRouter(Router):
    """Arcs are rows `(src, dst, weight, way)`, of each street of an edge list that along it and that against it."""

    def __init__(self, extract, edges, nodes, costs=None, signals=0, places=(), hops=False):
        """`places`: rows of table `places`; `nodes`: those of the extract."""
        self.streets, self.of_street, arcs = pq.read_table(edges / STREETS).to_pylist(), [], []
        for street, row in enumerate(self.streets):
            for against, name in enumerate(("forward", "backward")):
                if row[name] is not None:
                    ends = (row["src"], row["dst"])[:: -1 if against else 1]
                    arcs.append((*ends, row[name], row["way"]))
                    self.of_street.append((street, against))
        super().__init__(extract, arcs, costs, hops)
        self.arms = Counter(row[end] for row in self.streets for end in ("src", "dst"))
        self.lines = [[*zip(row["points"][::2], row["points"][1::2], strict=True)] for row in self.streets]
        self.signal = signals
        tags = {(round(node.lon * 1e7), round(node.lat * 1e7)): node.tags for node in nodes}
        self.signals = [[*self._signals(line, tags)] for line in self.lines]
        self.longest = max((len(sequence) for sequence, _ in self.rules), default=2) - 1
        where = {(row["way"], row["src"], row["dst"]): street for street, row in enumerate(self.streets)}
        self.at = {
            row["vertex"]: (where[row["on_way"], row["on_src"], row["on_dst"]], round(1000 * row["on_offset"])) for row in places
            if 0 < row["on_offset"] < row["on_length"]
        }  # fmt: skip

    def _signals(self, line, tags):
        """The offset of each signal on a line, and whether it stops who travels along it, and against it."""
        offset = 0
        for number, point in enumerate(line):
            if number:
                one, other = ([axis / 1e7 for axis in end] for end in (line[number - 1], point))
                offset += round(1000 * metres(one, other))
            if tags[point].get("highway") == "traffic_signals":
                yield offset, tags[point].get("traffic_signals:direction") != "backward", True

    def between(self, arc, begin, end):
        """What it takes to travel an arc from one offset of its street to another, which is smaller if it leads against."""
        street, against = self.of_street[arc]
        low, high = min(begin, end), max(begin, end)
        if self.hops:
            stops = {offset for on, offset in self.at.values() if on == street}
            return len([stop for stop in stops if low < stop < high]) + 1
        weight, length = self.arcs[arc][2], self.streets[street]["length"]
        one, other = (round(Fraction(weight * offset, length)) for offset in (low, high))
        passed = [
            offset for offset, *stops in self.signals[street]
            if stops[against] and (low <= offset < high if against else low < offset <= high)
        ]  # fmt: skip
        return other - one + self.signal * len(passed)

    def turn(self, first, second):
        """What a turn at a crossing costs."""
        if not self.costs or self.hops:
            return 0
        (street, against), (after, back) = self.of_street[first], self.of_street[second]
        node = self.arcs[second][0]
        if street == after and against != back:
            return self.costs.get("u_turn", 0) if len(self.of[node]) > 1 else 0
        if self.arms[node] < 3:
            return 0
        lines = (self.lines[street][:: -1 if against else 1][-2:], self.lines[after][:: -1 if back else 1][:2])
        angles = []
        for one, other in lines:
            across = (other[0] - one[0]) * math.cos(math.radians(self.places[node][1]))
            angles.append(math.atan2(other[1] - one[1], across))
        angle = (angles[1] - angles[0] + math.pi) % (2 * math.pi) - math.pi
        left = angle > 0 or angle < 1e-7 - math.pi  # also where a parallel street leads straight back
        return 0 if abs(angle) < math.pi / 4 else self.costs.get("left" if left else "right", 0)

    def between_all(self, source):
        """The least distance from a crossing or place to each one that is reached."""
        waiting, found, seen = [], {source: 0}, set()
        if source in self.at:
            street, offset = self.at[source]
            for arc, (of, against) in enumerate(self.of_street):
                if of == street:
                    self._arrive_within(found, arc, offset, 0)
                    waiting.append((self.between(arc, offset, 0 if against else self._length(arc)), (arc,)))
        else:
            for arc in self.of.get(source, ()):
                self._travel(waiting, found, 0, [arc])
        heapq.heapify(waiting)
        while waiting:
            distance, path = heapq.heappop(waiting)
            if path in seen:
                continue
            seen.add(path)
            node = self.arcs[path[-1]][1]
            found[node] = min(found.get(node, math.inf), distance)
            for arc in self.of.get(node, ()):
                if self.permits([*path, arc]):
                    self._travel(waiting, found, distance + self.turn(path[-1], arc), [*path, arc])
        return found

    def _travel(self, waiting, found, distance, path):
        """Go along the last arc of a path, past all places on it."""
        arc = path[-1]
        begin = self._length(arc) if self.of_street[arc][1] else 0
        self._arrive_within(found, arc, begin, distance)
        heapq.heappush(waiting, (distance + self.between(arc, begin, self._length(arc) - begin), tuple(path[-self.longest :])))

    def _arrive_within(self, found, arc, begin, distance):
        """Places ahead on an arc, from an offset of its street on."""
        street, against = self.of_street[arc]
        for place, (on, offset) in self.at.items():
            if on == street and (offset < begin if against else offset > begin):
                found[place] = min(found.get(place, math.inf), distance + self.between(arc, begin, offset))

    def _length(self, arc):
        return self.streets[self.of_street[arc][0]]["length"]
