"""A second router over an extract: a search over arcs that remembers the whole path; it uses nothing of the first one.

Extracts have two-way streets `residential` of 25 km/h, and one-way ones, on a grid whose every node is a crossing.
"""

import heapq
import math
import random
from collections import Counter
from itertools import product

import osmium

from tests.ingest.osm.extracts import Node, Turn, Way


def town(seed, size=5, turns=24):
    """A grid of ways of one or two streets each, and random restrictions, also over ways, also with parallel streets."""
    chosen = random.Random(seed)
    node = {(x, y): 1 + x + size * y for x in range(size) for y in range(size)}
    nodes = [
        Node(number, x / 1000 + chosen.random() / 4000, y / 1000 + chosen.random() / 4000) for (x, y), number in node.items()
    ]
    ways, number = [], 0
    for x in range(size):
        for y in range(size):
            for step in ((1, 0), (0, 1)):
                other = node.get((x + step[0], y + step[1]))
                if other and chosen.random() < 0.95:
                    number += 1
                    tags = {"highway": "residential"} | chosen.choice([{}, {}, {}, {"oneway": "yes"}])
                    ways.append(Way(number, [node[x, y], other], tags))
    ways += [Way(number + 1, [1, 2]), Way(number + 2, [node[2, 2], node[3, 2], node[3, 3], node[2, 2]])]
    ended = {}
    for way in ways:
        for end in {way.nodes[0], way.nodes[-1]}:
            ended.setdefault(end, []).append(way)
    restrictions = []
    for identity in range(turns):
        first = chosen.choice(ways)
        via = chosen.choice([first.nodes[0], first.nodes[-1]])
        kind = chosen.choice(["no_left_turn", "no_u_turn", "no_entry", "only_straight_on"])
        second = chosen.choice(ended[via])
        if chosen.random() < 0.4 and len(second.nodes) == 2 and second is not first:
            third = chosen.choice(ended[second.nodes[1] if second.nodes[0] == via else second.nodes[0]])
            restrictions.append(Turn(identity + 10, [first.id, second.id, third.id], kind=kind))
        else:
            restrictions.append(Turn(identity + 10, [first.id, second.id], via, kind=kind))
    return nodes, ways, restrictions


def _concerns_cars(tags):
    """Whether a relation restricts turns of cars at all times."""
    excepted = {"motorcar", "motor_vehicle", "vehicle"} & set(tags.get("except", "").split(";"))
    timed = {"day_on", "hour_on"} & set(tags)
    return tags.get("type") == "restriction" and "restriction" in tags and not excepted and not timed


class Router:
    """Searches over arcs, each `(way, nodes along it)`, between nodes that ways end at or share."""

    def __init__(self, path, streets, turns=None, hops=False):
        """`streets`: rows `(src, dst, weight, way)`; restrictions are read from the file; `turns`: costs by kind."""
        self.arcs = streets
        self.hops, self.costs = hops, turns or {}
        self.of = {}
        ways = {(min(begin, end), max(begin, end), way) for begin, end, _, way in streets}
        self.arms = Counter(end for *ends, _ in ways for end in ends)
        for number, (src, *_) in enumerate(streets):
            self.of.setdefault(src, []).append(number)
        self.places, self.rules = {}, []
        ways = {way for *_, way in streets}
        for entity in osmium.FileProcessor(str(path)):
            if entity.is_node():
                self.places[entity.id] = (entity.location.lon, entity.location.lat)
            if entity.is_relation() and _concerns_cars(dict(entity.tags)):
                roles = {role: [member for member in entity.members if member.role == role] for role in ("from", "via", "to")}
                only, via = entity.tags["restriction"].startswith("only"), roles["via"]
                for first, last in product(roles["from"], roles["to"]):
                    rule = [first.ref, *(one.ref for one in via if one.type == "w"), last.ref]
                    if set(rule) <= ways:
                        self.rules += self._sequences(rule, via[0].ref if via[0].type == "n" else None, only)
        self.restricted = {}  # the rules by the arc before their last one
        for sequence, only in self.rules:
            self.restricted.setdefault(sequence[-2], []).append((sequence, only))

    def _sequences(self, rule, node, only):
        """The rule as one sequence of arcs; none if several or none fit, which the definition leaves out."""
        found = [[number] for number, arc in enumerate(self.arcs) if arc[3] == rule[0] and node in (None, arc[1])]
        for way in rule[1:]:
            found = [
                [*one, number]
                for one in found
                for number in self.of.get(self.arcs[one[-1]][1], ())
                if self.arcs[number][3] == way
            ]
            if way != rule[-1]:  # along the whole way, and not back over the first one's node
                found = [one for one in found if self.arcs[one[-1]][0] != self.arcs[one[-1]][1]]
        return [(found[0], only)] if len(found) == 1 else []

    def permits(self, path):
        """Whether the last arc of a path may follow the others."""
        for sequence, only in self.restricted.get(path[-2], ()) if len(path) > 1 else ():
            before = sequence[:-1]
            if path[-len(sequence) : -1] == before and (path[-1] == sequence[-1]) != only:
                return False
        return True

    def cost(self, path):
        """The weight of the last arc of a path, with the turn before it."""
        arc = self.arcs[path[-1]]
        return 1 if self.hops else arc[2] + self._turn(*path[-2:])

    def _turn(self, first, second=None):
        if second is None or not self.costs:
            return 0
        (begin, node, _, way), (_, end, _, other) = self.arcs[first], self.arcs[second]
        if (way, begin) == (other, end) and begin != node:
            return self.costs.get("u_turn", 0) if len(self.of[node]) > 1 else 0
        middle = self.places[node]
        before, after = (
            math.atan2(to[1] - of[1], (to[0] - of[0]) * math.cos(math.radians(middle[1])))
            for of, to in ((self.places[begin], middle), (middle, self.places[end]))
        )
        if self.arms[node] < 3:
            return 0
        angle = (after - before + math.pi) % (2 * math.pi) - math.pi
        return 0 if abs(angle) < math.pi / 4 else self.costs.get("left" if angle > 0 else "right", 0)

    def distances(self, source, longest):
        """The least distance to each node; a state is the last `longest` arcs of a path."""
        found, waiting, seen = {source: 0}, [(0, (), source)], set()
        while waiting:
            distance, path, node = heapq.heappop(waiting)
            if (path, node) in seen:
                continue
            seen.add((path, node))
            found[node] = min(found.get(node, math.inf), distance)
            for arc in self.of.get(node, ()):
                after = [*path, arc]
                if self.permits(after):
                    heapq.heappush(waiting, (distance + self.cost(after), tuple(after[-longest:]), self.arcs[arc][1]))
        return found
