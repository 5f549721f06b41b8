"""Transitions that segments prohibit, as turn restrictions of the parts into which segments are cut.

A transition leads from a segment over connectors to others; `final_heading` says in which direction the last one must not be
travelled, and `when.heading` in which the first one was.
https://docs.overturemaps.org/schema/reference/transportation/segment
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

from pipeline.ingest.formats.overture.lines import SAME
from pipeline.ingest.formats.overture.rules import HEADINGS, RoadRules, Row, is_conditional, range_of
from pipeline.ingest.roads.relations import Restriction

_NO_STREET = "a segment that is no street here, or is not in the file"
_APART = "its segments do not meet at its connectors in these directions"
_BROKEN = "without a sequence or a final heading"


class OpenPart(NamedTuple):
    """An open part of a segment: its number, and those of the vertices at which it begins and ends."""

    number: int
    tail: int
    head: int


class _Transition(NamedTuple):
    """A prohibited transition: the number of it in the file, its segments and the connectors between them."""

    number: int
    segments: tuple[str, ...]
    connectors: tuple[str, ...]
    headings: tuple[str, ...]  # in which the first segment was travelled
    final: str


class Transitions:
    """The prohibited transitions of a file, while its segments are added; if they need not be obeyed, they are counted.

    Attributes:
        read: How many there are.
        left: How many need not be obeyed, by the reason.
    """

    def __init__(self, rules: RoadRules, obeyed: bool) -> None:
        self._rules, self._obeyed = rules, obeyed
        self.read = 0
        self.left: Counter[str] = Counter()
        self._stated: list[_Transition] = []

    def add(self, row: Row) -> None:
        """Add those of a segment. Raises ValueError for one that is null or has a null in its sequence."""
        stated, first = row.get("prohibited_transitions") or (), self.read
        if any(one is None or None in (one.get("sequence") or ()) for one in stated):
            raise ValueError("prohibited_transitions has a null, or one in a sequence")
        self.read += len(stated)
        for number, one in enumerate(stated if self._obeyed else (), first):
            reason = self._why_left(row, one)
            if reason:
                self.left[reason] += 1
                continue
            steps, heading = one["sequence"], (one.get("when") or {}).get("heading")
            segments = (row["id"], *(step["segment_id"] for step in steps))
            connectors = tuple(step["connector_id"] for step in steps)
            headings = (heading,) if heading else HEADINGS
            self._stated.append(_Transition(number, segments, connectors, headings, one["final_heading"]))

    def _why_left(self, row: Row, one: Mapping[str, Any]) -> str:
        """Why a transition does not concern the traveller; empty if it does."""
        when = one.get("when") or {}
        if is_conditional(when):
            return "conditional"
        if not self._rules.concerns(when):
            return "for others"
        if not one.get("sequence") or one.get("final_heading") not in HEADINGS:
            return _BROKEN
        begin, end = range_of(one, "prohibited_transitions") or (0.0, 1.0)
        first = one["sequence"][0]["connector_id"]
        at = [joined["at"] for joined in row["connectors"] or () if joined["connector_id"] == first]
        return "" if not at or any(begin - SAME <= place <= end + SAME for place in at) else "its range lacks its connector"

    @property
    def segments(self) -> set[str]:
        """Ids of segments over which they lead."""
        return {segment for one in self._stated for segment in one.segments}

    def restrictions(self, parts: Mapping[str, Sequence[OpenPart]], vertices: Mapping[str, int]) -> list[Restriction]:
        """Those that concern streets, over parts; the others are counted.

        Args:
            parts: The open parts of segments, in their order.
            vertices: Of connectors, as parts have them.
        """
        made = []
        for one in self._stated:
            of = [parts.get(segment, ()) for segment in one.segments]
            if not all(of):
                self.left[_NO_STREET] += 1
                continue
            courses = [*self._courses(one, of, [vertices.get(name, -1) for name in one.connectors])]
            if not courses:
                self.left[_APART] += 1
            for ways, nodes in courses:
                made.append(Restriction(one.number, False, ways, nodes))
        return made

    @staticmethod
    def _courses(
        one: _Transition, of: list[Sequence[OpenPart]], nodes: list[int]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The parts over which a transition leads, and the vertices between them."""
        first = [
            part.number for heading in one.headings for part in of[0]
            if nodes[0] == (part.head if heading == "forward" else part.tail)
        ]  # fmt: skip
        last = [part.number for part in of[-1] if nodes[-1] == (part.tail if one.final == "forward" else part.head)]
        between = [
            [*_along(parts, *ends), *_along([OpenPart(part.number, part.head, part.tail) for part in reversed(parts)], *ends)]
            for parts, ends in zip(of[1:-1], pairwise(nodes), strict=True)
        ]
        for begin, middle, end in product(first, product(*between), last):
            inner = [part for course in middle for part in course]
            yield (begin, *(part.number for part in inner), end), (nodes[0], *(part.head for part in inner))


def _along(parts: Sequence[OpenPart], begin: int, end: int) -> Iterator[list[OpenPart]]:
    """The parts of a segment that lead from one vertex to another, each way to do so without passing either in between."""
    for at, part in enumerate(parts):
        course = [part] if part.tail == begin else []
        for other in parts[at + 1 :] if course else ():
            if course[-1].head in (begin, end) or course[-1].head != other.tail:
                break
            course.append(other)
        if course and course[-1].head == end:
            yield course
