"""The proof that parts are those that the segments of a file say, by code that shares neither the cutting nor the rules with it.

A segment is looked at in pieces between all places at which anything begins or ends: neighbouring pieces of the same street are
one part, unless a connector is between them. The points of a part must be those of the segment's line, in their order.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.errors import ProofFailed
from pipeline.ingest.formats.overture.lines import NEAR, SAME, along, lines_of
from pipeline.ingest.formats.overture.parts import SegmentParts, batches
from pipeline.ingest.roads.profile import Profile, Street
from pipeline.ingest.roads.rules import TravelRules
from pipeline.store.names import BYTES, OFFSETS, VertexNames

RULES = [
    "each segment is cut at its connectors, and where what its rules say changes; no other road of the profile is missing",
    "the points of its parts are those of its line, in their order",
]
_UNIT = 1e-7  # degrees
_APART = 101  # units, about a metre, which is how far a connector may be on another segment
_END = (0.0, 1.0)
_Due = tuple[str | None, str | None, Street, float, float]  # connectors at its ends, None without one; what it is, and where
_Part = tuple[str, str, Street, list[Sequence[int]]]  # vertices at its ends, what it is, and its points


def prove_parts(parts: SegmentParts, path: Path, graph: GraphConfig) -> list[str]:
    """Check the parts against the file, which is read again; the rules that hold. Raises ProofFailed."""
    reader = _SecondReader(graph)
    stored, seen = _stored(parts), set[str]()
    segment, pieces = next(stored, (None, []))
    for first_row, table in batches(path, parts.file, graph):
        unused = {"names", "prohibited_transitions"}.intersection(table.column_names)
        every = enumerate(table.drop_columns([*unused]).to_pylist(), first_row)
        roads = {number: row for number, row in every if row["subtype"] == "road"}
        lines = pa.chunked_array([[row.pop("geometry") for row in roads.values()]], pa.large_binary())
        ends, degrees = lines_of(parts.file, lines, np.array([*roads]))
        metres, units, begin = along(ends, degrees).tolist(), np.rint(degrees / _UNIT).astype(int).tolist(), 0
        for row, end in zip(roads.values(), ends.tolist(), strict=True):
            if row["id"] not in seen:
                seen.add(row["id"])
                due = reader.parts(row, metres[end - 1])
                own = pieces if segment == row["id"] else []
                if not (due or own):
                    begin = end
                    continue
                _compare(row["id"], due, own)
                line = _Line(units[begin:end], metres[begin:end])
                for part, (*_, points) in zip(due, own, strict=True):
                    if not line.has(points, part[3:], parts.counts["apart"] == 0):
                        raise ProofFailed(f"edges: segment {row['id']}: the points of a part are not those of its line")
                if own:
                    segment, pieces = next(stored, (None, []))
            begin = end
    if segment is not None:
        raise ProofFailed(f"edges: segment {segment} is not one of the file, or not in its order")
    return RULES


def prove_names(folder: Path, numbers: Array, ids: pa.Array) -> str:
    """Check the stored names of vertices; the rule that holds.

    Args:
        numbers (int64 [M]): Of the nodes, of which the first V have ids; -1 for those that are no vertices.
        ids (large_string [V]): Of the connectors and other ends of parts.

    Raises:
        ProofFailed: A vertex has another name than its id, or names do not ascend.
    """
    offsets, content = (np.load(folder / name, mmap_mode="r") for name in (OFFSETS, BYTES))
    names = VertexNames(offsets, content).array()
    is_vertex = numbers[: len(ids)] >= 0
    own = ids.filter(pa.array(is_vertex))
    right = len(own) == len(names) and names.take(pa.array(numbers[: len(ids)][is_vertex])).equals(own)
    if not right or (len(names) > 1 and not pc.all(pc.less(names[:-1], names[1:])).as_py()):
        raise ProofFailed("edges: a vertex has another name than its connector, or names do not ascend")
    return "the name of each vertex is the id of its connector, or of the place at which its part ends; names ascend"


def _stored(parts: SegmentParts) -> Iterator[tuple[str, list[_Part]]]:
    """The parts of each segment, with their points in the seventh decimal of a degree."""
    names, begin = [*parts.vertices], 0
    pieces, current = list[_Part](), -1
    for segment, street, end in zip(parts.segment, parts.street, parts.ends, strict=True):
        if segment != current and pieces:
            yield parts.segments[current], pieces
            pieces = []
        current, at = segment, parts.at[begin:end]
        points: list[Sequence[int]] = [parts.places[node] if node >= 0 else parts.points[-1 - node] for node in at]
        pieces.append((names[at[0]], names[at[-1]], parts.rules.streets[street], points))
        begin = end
    if pieces:
        yield parts.segments[current], pieces


def _compare(segment: str, due: list[_Due], own: list[_Part]) -> None:
    if len(due) != len(own):
        raise ProofFailed(f"edges: segment {segment} has {len(own)} parts, not the {len(due)} that it must have")
    for (tail, head, street, *_), (own_tail, own_head, own_street, _) in zip(due, own, strict=True):
        ends_right = all(
            one == other if one is not None else other.startswith(f"{segment}@")
            for one, other in ((tail, own_tail), (head, own_head))
        )
        if not ends_right or street != own_street:
            raise ProofFailed(f"edges: segment {segment}: a part is not the street between the connectors that it should be")


@dataclass(frozen=True)
class _Line:
    """The line of a segment: its points in the seventh decimal of a degree, and how many metres each is behind its begin."""

    points: list[list[int]]
    metres: list[float]

    def has(self, points: list[Sequence[int]], between: tuple[float, ...], in_place: bool) -> bool:
        """Whether a part has its points between two shares of its length, and begins and ends there, if `in_place`."""
        if between == _END and [*map(list, points)] == self.points:
            return True
        first, last = (share * self.metres[-1] for share in between)
        # Of the line's points those that are near an end of the part may be this end, and the others must be within the part.
        may = range(bisect_left(self.metres, first - NEAR), bisect_right(self.metres, last + NEAR))
        must = [at for at in may if first + NEAR < self.metres[at] < last - NEAR]
        inner = [[*point] for point in points[1:-1]]
        begins = [at for at in may if self.points[at : at + len(inner)] == inner and at + len(inner) <= may.stop]
        has_all = any(at <= must[0] and at + len(inner) > must[-1] for at in begins) if must else bool(begins) or not inner
        ends = zip((first, last), (points[0], points[-1]), strict=True)
        return has_all and (not in_place or all(self._is_at(metres, end) for metres, end in ends))

    def _is_at(self, metres: float, point: Sequence[int]) -> bool:
        """Whether a point is about where the line is after some metres."""
        behind = min(max(bisect_left(self.metres, metres), 1), len(self.metres) - 1)
        step = self.metres[behind] - self.metres[behind - 1]
        share = (metres - self.metres[behind - 1]) / step if step else 0.0
        return all(
            abs(one + share * (other - one) - axis) <= _APART
            for one, other, axis in zip(self.points[behind - 1], self.points[behind], point, strict=True)
        )


class _SecondReader:
    """What the rules say, found from the last rule of each list backwards, and by heading."""

    def __init__(self, graph: GraphConfig) -> None:
        travel = TravelRules.of(graph.osm)
        self._profile, self._walks = Profile(graph.osm), "oneway" not in travel.oneway
        self._judged = dict[tuple[tuple[str, Any], ...], Street | None]()
        self._known = dict[str, Street | None]()  # of segments without such places, by what else is said of them
        self._modes = {"car" if key == "motorcar" else key for key in travel.access}

    def parts(self, row: dict[str, Any], metres: float) -> list[_Due]:
        """The parts of a segment, in their order."""
        near = NEAR / metres if metres else 1.0
        connectors = sorted(((one["at"], one["connector_id"]) for one in row["connectors"] or ()), key=lambda one: one[0])
        bounds, everywhere = self._said(row)
        if not (bounds or everywhere):
            return []
        marks = [*connectors, *((end, None) for end in bounds if all(abs(end - at) > SAME for at, _ in connectors))]
        marks += [(end, None) for end in _END if all(abs(end - at) > near for at, _ in connectors)]
        marks.sort(key=lambda one: one[0])
        joined = list[tuple[str | None, str | None, Street | None, float, float]]()
        for (begin, tail), (end, head) in pairwise(marks):
            street = self._street(row, (begin + end) / 2) if bounds else everywhere
            last = joined[-1] if joined else None
            if tail is None and last and last[2] == street:
                joined[-1] = (last[0], head, street, last[3], end)
            else:
                joined.append((tail, head, street, begin, end))
        return [(tail, head, street, begin, end) for tail, head, street, begin, end in joined if street is not None]

    def _said(self, row: dict[str, Any]) -> tuple[set[float], Street | None]:
        """Where rules of a segment begin or end within it; and, if this is nowhere, the street that it is everywhere."""
        text = repr([value for name, value in row.items() if name not in ("id", "connectors")])
        if text not in self._known:
            if bounds := self._ends(row):
                return bounds, None
            self._known[text] = self._street(row, sum(_END) / 2)
        return set(), self._known[text]

    @staticmethod
    def _ends(row: dict[str, Any]) -> set[float]:
        lists = [rule for value in row.values() if isinstance(value, list) for rule in value if isinstance(rule, dict)]
        return {end for rule in lists if rule.get("between") and "final_heading" not in rule for end in rule["between"]} - {*_END}

    def _street(self, row: dict[str, Any], at: float) -> Street | None:
        def there(name: str) -> list[dict[str, Any]]:
            if not row.get(name):
                return []
            every = [(rule, rule.get("between") or _END) for rule in row[name]]
            return [rule for rule, (begin, end) in every if begin <= at <= end][::-1]

        flags = [flag for rule in there("road_flags") for flag in rule.get("values") or []]
        subclasses = [row.get("subclass"), *(rule.get("value") for rule in there("subclass_rules"))]
        kind, is_link = row["class"], "is_link" in flags or "link" in subclasses
        if kind is None or "is_abandoned" in flags or "is_under_construction" in flags:
            return None
        if is_link and kind in ("motorway", "trunk", "primary", "secondary", "tertiary"):
            kind = f"{kind}_link"
        tags, permitted = {"highway": {"unknown": "road"}.get(kind, kind)}, dict[str, bool | None]()
        tags |= {"surface": surface[0]["value"]} if (surface := there("road_surface")) and surface[0].get("value") else {}
        for heading in ("forward", "backward"):
            limits = [one["max_speed"] for one in there("speed_limits") if one.get("max_speed") and self._concerns(one, heading)]
            tags |= {f"maxspeed:{heading}": f"{limits[0]['value']} {limits[0]['unit']}"} if limits else {}
            access = [one["access_type"] for one in there("access_restrictions") if self._concerns(one, heading, kind)]
            permitted[f":{heading}"] = access[0] != "denied" if access else None
        said = (*tags.items(), *permitted.items())
        if said not in self._judged:
            street = self._profile.judge(tags, permitted)
            self._judged[said] = street if isinstance(street, Street) else None
        return self._judged[said]

    def _concerns(self, rule: dict[str, Any], heading: str, kind: str = "") -> bool:
        """Whether a rule is for the traveller in a direction, whenever it is; `kind` is the class, of a rule of access."""
        scope = {name: value for name, value in (rule.get("when") or {}).items() if value}
        if scope.pop("heading", heading) != heading or {"during", "vehicle", "recognized"} & scope.keys():
            return False
        denies, purposes, modes = rule.get("access_type") == "denied", scope.get("using"), scope.get("mode")
        if (modes and not self._modes & {*modes}) or (not (modes or denies) and self._profile.is_for_others(kind)):
            return False
        if purposes:
            return "access_type" in rule and not denies and bool({"as_customer", "at_destination", "to_deliver"} & {*purposes})
        one_way = denies and bool((rule.get("when") or {}).get("heading"))
        return bool(modes) or not (one_way and self._walks)
