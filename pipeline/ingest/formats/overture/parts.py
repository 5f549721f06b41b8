"""Segments are cut into parts: at connectors, and where what the rules say of a traveller changes.

An end of a part without a connector, such as the place at which a street is closed, is a vertex with the id `SEGMENT@SHARE`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.formats.overture.columns import READ, plain, require
from pipeline.ingest.formats.overture.cutting import Cuts, Refusing, conditional_rules, cuts_of
from pipeline.ingest.formats.overture.lines import Lines, along, lines_of, to_units
from pipeline.ingest.formats.overture.rules import RoadRules
from pipeline.ingest.formats.overture.transitions import OpenPart, Transitions
from pipeline.ingest.formats.parquet import reading
from pipeline.ingest.formats.parquet.footer import open_file

_BATCH = 2**16  # rows
_APART = 100  # units, about a metre: a connector at two places


def batches(path: Path, file: str, graph: GraphConfig) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a file of segments, with the number of the first of each table. Raises BadInput."""
    with reading(file), open_file(path, file, graph.limits) as parquet:
        present = parquet.schema_arrow.names
        require(file, parquet.schema_arrow)
        if parquet.metadata.num_rows > graph.limits.edges:
            reason = f"holds {parquet.metadata.num_rows} rows, the limit is {graph.limits.edges} (graph.limits.edges)"
            raise BadInput(file, reason)
        row = 0
        for batch in parquet.iter_batches(_BATCH, columns=[name for name in READ if name in present]):
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
        table = plain(table)
        is_road = pc.equal(table["subtype"], "road").fill_null(False)
        others = table.filter(pc.invert(is_road))["subtype"].fill_null("none").value_counts().to_pylist()
        self.left.update({f"subtype={one['values']}": one["counts"] for one in others})
        numbers = first_row + np.flatnonzero(is_road.to_numpy())
        roads = table.filter(is_road)
        ends, degrees = lines_of(self.file, roads["geometry"], numbers)
        rows = roads.drop_columns(["geometry"]).combine_chunks()
        self.counts["conditional"] += conditional_rules(rows)
        fresh = self._fresh(numbers, rows["id"].to_pylist())
        begins = np.concatenate([[0], ends])[fresh]
        lines = Lines(begins, ends[fresh], along(ends, degrees), to_units(degrees))
        self._add(numbers[fresh], rows.take(pa.array(fresh)).combine_chunks(), lines)

    def _fresh(self, numbers: Array, ids: list[str | None]) -> Array:
        """The rows whose ids were not there before, int64 [n]; `numbers` are those of all rows in the file."""
        fresh = list[int]()
        for row, identity in enumerate(ids):
            if not identity:
                raise BadInput(self.file, f"row {numbers[row]}: segment {identity}: has no id")
            if identity not in self._seen:
                self._seen.add(identity)
                fresh.append(row)
        self.counts["repeated"] += len(ids) - len(fresh)
        return np.array(fresh, np.int64)

    def _add(self, numbers: Array, rows: pa.Table, lines: Lines) -> None:
        """Add the segments of rows; `numbers`, int64 [n], are those in the file."""

        def refusing(row: int, work: Callable[[], Any]) -> Any:
            try:
                return work()
            except ValueError as error:
                identity = rows["id"][row].as_py()
                raise BadInput(self.file, f"row {numbers[row]}: segment {identity}: {error}") from None

        cuts = cuts_of(rows, lines.lengths, self.rules, refusing)
        self._add_transitions(rows, refusing)
        self.left.update(cuts.left)
        tail = np.flatnonzero(cuts.street >= 0)  # the cuts at which open parts begin
        kept, segment = np.unique(cuts.row[tail], return_inverse=True)
        is_kept = np.zeros(len(rows), np.bool_)
        is_kept[kept] = True
        inner_cuts = np.count_nonzero(is_kept[cuts.row]) - len(kept)
        self.counts["closed_parts"] += int(inner_cuts - len(tail))
        units, before, behind = lines.places(cuts.row, cuts.at)
        sizes = np.maximum(before[tail + 1] + 1 - behind[tail], 0)
        self._add_nodes(cuts, tail, sizes, units)
        self.points += lines.units[_ranges(behind[tail], sizes)].tolist()
        self.segment += (len(self.segments) + segment).tolist()
        self.segments += rows["id"].take(pa.array(kept)).to_pylist()
        self.street += cuts.street[tail].tolist()
        self.name += self._names_of(rows, kept)[segment].tolist()

    def _add_transitions(self, rows: pa.Table, refusing: Refusing) -> None:
        if "prohibited_transitions" not in rows.column_names:
            return
        counts = pc.list_value_length(rows["prohibited_transitions"].combine_chunks()).fill_null(0).to_numpy()
        some = np.flatnonzero(counts)
        columns = rows.select(["id", "connectors", "prohibited_transitions"])
        for row, stating in zip(some.tolist(), columns.take(pa.array(some)).to_pylist(), strict=True):
            refusing(row, partial(self.transitions.add, stating))

    def _add_nodes(self, cuts: Cuts, tail: Array, sizes: Array, units: Array) -> None:
        """Add the nodes of parts, which have so many points (`sizes`) between their ends; a vertex is at its first place."""
        mentions = np.stack([tail, tail + 1], axis=1).ravel()
        encoded = cuts.names.take(pa.array(mentions)).dictionary_encode()
        index = encoded.indices.to_numpy()
        _, first = np.unique(index, return_index=True)
        numbers = list[int]()
        for identity, place in zip(encoded.dictionary.to_pylist(), units[mentions[first]].tolist(), strict=True):
            numbers.append(number := self.vertices.setdefault(identity, len(self.places)))
            if number == len(self.places):
                self.places.append((place[0], place[1]))
        places = np.array([self.places[number] for number in numbers], np.int64).reshape(-1, 2)
        self.counts["apart"] += int((np.abs(units[mentions] - places[index]).max(axis=1, initial=0) > _APART).sum())
        ends = len(self.at) + np.cumsum(sizes + 2)
        at = np.empty(int((sizes + 2).sum()), np.int64)
        is_end = np.zeros(len(at), np.bool_)
        is_end[ends - len(self.at) - 1] = is_end[ends - len(self.at) - sizes - 2] = True
        at[is_end] = np.array(numbers, np.int64)[index]
        at[~is_end] = -1 - len(self.points) - np.arange(int(sizes.sum()))
        self.at += at.tolist()
        self.ends += ends.tolist()

    def _names_of(self, rows: pa.Table, kept: Array) -> Array:
        """The numbers of the names of some rows, -1 without one, int64 [n]."""
        if "names" not in rows.column_names or "primary" not in [field.name for field in rows.schema.field("names").type]:
            return np.full(len(kept), -1)
        encoded = pc.struct_field(rows["names"].combine_chunks().take(pa.array(kept)), "primary").dictionary_encode()
        numbers = [self.names.setdefault(text, len(self.names)) if text else -1 for text in encoded.dictionary.to_pylist()]
        of_rows: Array = np.array([*numbers, -1])[encoded.indices.fill_null(len(numbers)).to_numpy()]
        return of_rows

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


def _ranges(begins: Array, sizes: Array) -> Array:
    """The numbers from each begin on, as many as its size."""
    total = int(sizes.sum())
    numbers: Array = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes - begins, sizes)
    return numbers
