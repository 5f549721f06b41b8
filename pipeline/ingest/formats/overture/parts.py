"""Segments are cut into parts: at connectors, and where what the rules say of a traveller changes.

An end of a part without a connector, such as the place at which a street is closed, is a vertex with the id `SEGMENT@SHARE`.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.overture.lines import NEAR, SAME, Place, along, lines_of, place, to_units
from pipeline.ingest.formats.overture.rules import LISTS, RoadRules, Row, count_conditional, ends_of_rules
from pipeline.ingest.formats.overture.transitions import OpenPart, Transitions
from pipeline.ingest.formats.parquet import reading
from pipeline.ingest.formats.parquet.footer import open_file

_NEEDED = ("id", "geometry", "subtype", "class", "connectors")
_COLUMNS = (*_NEEDED, "subclass", "names", "prohibited_transitions", *LISTS)
_BATCH = 2**16  # rows
_APART = 100  # units, about a metre: a connector at two places


def batches(path: Path, file: str, graph: GraphConfig) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a file of segments, with the number of the first of each table. Raises BadInput."""
    with reading(file), open_file(path, file, graph.limits) as parquet:
        present = parquet.schema_arrow.names
        if missing := [name for name in _NEEDED if name not in present]:
            raise BadInput(file, f"has no column {missing[0]!r}, which segments of Overture have")
        if parquet.metadata.num_rows > graph.limits.edges:
            reason = f"holds {parquet.metadata.num_rows} rows, the limit is {graph.limits.edges} (graph.limits.edges)"
            raise BadInput(file, reason)
        row = 0
        for batch in parquet.iter_batches(_BATCH, columns=[name for name in _COLUMNS if name in present]):
            yield row, pa.table(batch)
            row += len(batch)


@dataclass
class SegmentParts:
    """The parts of segments that are streets, while segments are added.

    Attributes:
        transitions: The prohibited ones of all segments.
        segments: Ids of those that have a street, each once.
        segment, street, name: Of the parts: the numbers of their segment, their street and their name, or -1.
        ends: Where the nodes of each part end in `at`.
        at: Numbers of nodes: of vertices from 0, of other points -1, -2, ...
        vertices: The number of each vertex by its id; `places` has the coordinates of vertices, `points` those of other points.
        left: How many segments are no streets, by the reason.
        counts: What else was seen, by names.
    """

    file: str
    rules: RoadRules
    transitions: Transitions
    segments: list[str] = field(default_factory=list)
    segment: list[int] = field(default_factory=list)
    street: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    vertices: dict[str, int] = field(default_factory=dict)
    places: list[tuple[int, int]] = field(default_factory=list)
    points: list[list[int]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)

    def add(self, first_row: int, table: pa.Table) -> None:
        """Add the segments of a table. Raises BadInput."""
        is_road = pc.equal(table["subtype"], "road").fill_null(False)
        others = table.filter(pc.invert(is_road))["subtype"].fill_null("none").value_counts().to_pylist()
        self.left.update({f"subtype={one['values']}": one["counts"] for one in others})
        numbers = first_row + np.flatnonzero(is_road.to_numpy())
        roads = table.filter(is_road)
        ends, degrees = lines_of(self.file, roads["geometry"], first_row)
        metres, units = along(ends, degrees), to_units(degrees).tolist()
        rows = roads.drop_columns(["geometry"]).to_pylist()
        count_conditional(rows, self.counts)
        begin = 0
        for number, row, end in zip(numbers.tolist(), rows, ends.tolist(), strict=True):
            try:
                self._add(row, metres[begin:end].tolist(), units[begin:end])
            except ValueError as error:
                raise BadInput(self.file, f"row {number}: segment {row['id']}: {error}") from None
            begin = end

    def _add(self, row: Row, metres: list[float], units: list[list[int]]) -> None:
        if not row["id"]:
            raise ValueError("has no id")
        if row["id"] in self._seen:
            self.counts["repeated"] += 1
            return
        self._seen.add(row["id"])
        cuts = self._cuts(row, metres)
        self.transitions.add(row)
        verdicts = [self.rules.verdict(row, (one[0] + other[0]) / 2) for one, other in pairwise(cuts)]
        if all(isinstance(verdict, str) for verdict in verdicts):
            self.left[str(verdicts[0])] += 1
            return
        segment, name = len(self.segments), self._name(row)
        self.segments.append(row["id"])
        placed = [place(at, metres, units) for at, _ in cuts]
        for number, verdict in enumerate(verdicts):
            if isinstance(verdict, str):
                self.counts["closed_parts"] += 1
                continue
            (_, tail), (_, head) = cuts[number : number + 2]
            one, other = placed[number : number + 2]
            inner = units[one.behind : other.before + 1]
            self.at.append(self._vertex(tail, one))
            self.at += range(-1 - len(self.points), -1 - len(self.points) - len(inner), -1)
            self.points += inner
            self.at.append(self._vertex(head, other))
            self.ends.append(len(self.at))
            self.segment.append(segment)
            self.street.append(verdict)
            self.name.append(name)

    def _cuts(self, row: Row, metres: list[float]) -> list[tuple[float, str]]:
        """Where a segment is cut, and the ids of the vertices there: at connectors, at its ends, and where rules change."""
        near = NEAR / metres[-1] if metres[-1] else 1.0
        cuts = list[tuple[float, str]]()
        for connector in row["connectors"] or ():
            at, identity = connector.get("at"), connector.get("connector_id")
            if not identity or at is None or not 0 <= at <= 1:
                raise ValueError(f"has a connector {identity} at {at}, expected a share of its length from 0 to 1")
            cuts.append((at, identity))
        cuts.sort(key=lambda cut: cut[0])
        if not cuts or cuts[0][0] > near:
            cuts.insert(0, (0.0, f"{row['id']}@0"))
        if cuts[-1][0] < 1 - near:
            cuts.append((1.0, f"{row['id']}@1"))
        bounds = [0.0, *ends_of_rules(row), 1.0]
        said = [self.rules.verdict(row, (begin + end) / 2) for begin, end in pairwise(bounds)] if bounds[2:] else []
        for at, before, behind in zip(bounds[1:], said, said[1:], strict=False):
            if before != behind and all(abs(at - known) > SAME for known, _ in cuts):
                cuts.append((at, f"{row['id']}@{at:g}"))
        return sorted(cuts, key=lambda cut: cut[0])

    def _vertex(self, identity: str, at: Place) -> int:
        """The number of a vertex, whose place is the first that is stated."""
        number = self.vertices.setdefault(identity, len(self.places))
        if number == len(self.places):
            self.places.append((at.x, at.y))
        elif max(abs(at.x - self.places[number][0]), abs(at.y - self.places[number][1])) > _APART:
            self.counts["apart"] += 1
        return number

    def _name(self, row: Row) -> int:
        text = (row.get("names") or {}).get("primary")
        return self.names.setdefault(text, len(self.names)) if text else -1

    def parts_of(self, segments: Collection[str]) -> dict[str, list[OpenPart]]:
        """The parts of some segments; their vertices have the numbers of `vertices`."""
        wanted = np.array([segment in segments for segment in self.segments], np.bool_)
        parts = dict[str, list[OpenPart]]()
        for number in np.flatnonzero(wanted[np.array(self.segment, np.int64)]).tolist():
            tail, head = self.at[self.ends[number - 1] if number else 0], self.at[self.ends[number] - 1]
            parts.setdefault(self.segments[self.segment[number]], []).append(OpenPart(number, tail, head))
        return parts

    def arrays(self) -> dict[str, Any]:
        """The same as arrays: vertices come first, in the order of the bytes of their ids, before all other points.

        `at` int64, `ends` int64, `street`, `name`, `segment` int32; `units` int32 [M, 2]; `ids` large_string [V], ascending;
        `rank` int64 [V]: the place in this order of each of `vertices`.
        """
        ids = pa.array(self.vertices, pa.large_string())
        order = pc.sort_indices(ids).to_numpy()
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        at: Array = np.array(self.at, np.int64)
        at = np.where(at >= 0, rank[np.maximum(at, 0)] if len(rank) else at, len(rank) - 1 - at)
        places = np.array(self.places, np.int32).reshape(-1, 2)[order]
        units = np.concatenate([places, np.array(self.points, np.int32).reshape(-1, 2)])
        numbers = {name: np.array(getattr(self, name), np.int32) for name in ("segment", "street", "name")}
        return {"at": at, "ends": np.array(self.ends, np.int64), "units": units, "ids": ids.take(pa.array(order)), "rank": rank,
                **numbers}  # fmt: skip
