"""What a router's paths say of graphmill's arcs and paths, and the reverse."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

from benchmarks.roads.ours import Ours
from benchmarks.roads.ways import Step, Ways

_MILLIMETRES = 0.001  # by which a sum of rounded lengths may differ at each node
ROUNDED = 1.0  # metres by which a router may round each arc
Place = tuple[float, float]
Course = tuple[float, tuple[Step, ...], tuple[int, ...]]


class Router(Protocol):
    """An independent router."""

    name: str
    version: str

    def path(self, source: Place, target: Place, at_most: float | None = None) -> list[Place] | None:
        """The points of a shortest path between two places, None if there is none; it need not find one over `at_most` metres."""


@dataclass
class RouterFindings:
    """How often what was found, and where.

    Attributes:
        counts: Of comparisons by their outcome.
        closed: Steps that the router takes and graphmill closes.
        refused: Parts of graphmill's paths, as short as can be, that the router does not take.
        shorter: Pairs for which the router has a shorter path under graphmill's own rules: there must be none.
    """

    counts: Counter[str] = field(default_factory=Counter)
    closed: Counter[Step] = field(default_factory=Counter)
    refused: Counter[tuple[int, ...]] = field(default_factory=Counter)
    shorter: list[tuple[int, int]] = field(default_factory=list)


class RouterComparison:
    """Compares one router with graphmill on one extract."""

    def __init__(self, ways: Ways, ours: Ours, router: Router) -> None:
        self._ways, self._ours, self._router = ways, ours, router
        self.found = RouterFindings()
        self._known: dict[int, list[tuple[int, ...]]] = defaultdict(list)  # what was refused, by its first node

    def arcs(self, arcs: list[list[int]]) -> None:
        """Ask the router for the way along each arc."""
        for arc in arcs:
            if len(set(arc)) < 2 or arc[0] == arc[-1]:
                continue
            taken = self._takes(arc)
            self.found.counts["arcs that the router takes" if taken else "arcs that it does not take"] += 1
            if not taken:
                self._refuse(arc)

    def pair(self, source: int, target: int, ours: tuple[float, list[int]] | None) -> None:
        """Compare the paths of a pair of vertices."""
        self.found.counts[self._outcome(source, target, ours)] += 1

    def _outcome(self, source: int, target: int, ours: tuple[float, list[int]] | None) -> str:
        places = self._ways.places
        points = self._router.path(places[source], places[target])
        course = self.course(points, source, target) if points is not None else None
        if course is None:
            what = "the router has no path" if points is None else "the router begins or ends elsewhere"
            return f"{what}, nor has graphmill" if ours is None else self._refused(ours[1], what)
        metres, closed, nodes = course
        self.found.closed.update(closed)
        if other := self._other(closed, nodes):
            return f"{'' if ours else 'only '}the router {other}"
        if ours is None or metres < ours[0] - _MILLIMETRES * len(ours[1]):
            self.found.shorter.append((source, target))
            return "FAULT: the router's path is shorter, or the only one, over streets that are open here"
        if metres <= ours[0] + ROUNDED * (len(ours[1]) / 2 + 1):
            return "equal length"
        return self._refused(ours[1], "graphmill's path is shorter")

    def _other(self, closed: tuple[Step, ...], nodes: tuple[int, ...]) -> str:
        """What a router's path does that graphmill's paths do not do; empty if nothing."""
        if closed:
            return "takes a street that is closed here"
        if self._ours.forbids(nodes):
            return "takes a turn that a restriction forbids here"
        return "turns round within a street" if self._ours.turns_within(nodes) else ""

    def _refused(self, nodes: list[int], outcome: str) -> str:
        for at, node in enumerate(nodes):
            if any(tuple(nodes[at : at + len(part)]) == part for part in self._known.get(node, ())):
                return f"{outcome}: over a part that the router refuses"
        refused = self._refuse(nodes)
        return f"{outcome}: {'over a part that the router refuses' if refused else 'the router takes it, too'}"

    def _takes(self, nodes: list[int]) -> bool:
        """Whether the router takes these nodes one after the other, or a way as short."""
        places = self._ways.places
        own = sum(self._ways.metres(*step) for step in pairwise(nodes)) + ROUNDED * (len(nodes) / 2 + 1)
        points = self._router.path(places[nodes[0]], places[nodes[-1]], own)
        if points is None:
            return False
        course = self.course(points, nodes[0], nodes[-1])
        if course is None:
            return False
        return course[0] <= own

    def _refuse(self, nodes: list[int]) -> tuple[int, ...]:
        """The shortest part of a path that the router does not take; empty if it takes the whole."""
        if self._takes(nodes):
            return ()
        end = self._least(lambda length: not self._takes(nodes[:length]), 2, len(nodes))
        size = self._least(lambda length: not self._takes(nodes[end - length : end]), 2, end)
        part = tuple(nodes[end - size : end])
        self.found.refused[part] += 1
        self._known[part[0]].append(part)
        return part

    @staticmethod
    def _least(holds: Callable[[int], bool], low: int, high: int) -> int:
        """The least number from `low` for which a condition holds that holds for `high`."""
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle + 1, high)
        return high

    def course(self, points: list[Place], source: int, target: int) -> Course | None:
        """Metres of a router's path, its steps that are closed here, and its nodes; None if it begins or ends elsewhere."""
        lists = [near for near in self._ways.nodes_at(points) if near]
        if not lists or source not in lists[0] or target not in lists[-1]:
            return None
        states: dict[int, Course] = {source: (0.0, (), (source,))}
        for near in lists[1:]:
            states = self._next(states, near)
        return states.get(target)

    def _next(self, states: dict[int, Course], near: list[int]) -> dict[int, Course]:
        after: dict[int, Course] = {}
        for node in near:
            options = []
            for before, (metres, closed, nodes) in states.items():
                if before == node:
                    options.append((len(closed), metres, closed, nodes))
                elif (before, node) in self._ours.opens:
                    options.append((len(closed), metres + self._ours.opens[before, node], closed, (*nodes, node)))
                else:
                    step = (before, node)
                    options.append((len(closed) + 1, metres + self._ways.metres(*step), (*closed, step), (*nodes, node)))
            after[node] = min(options)[1:]
        return after
