"""A shortest path from the tables of a published run: the predecessors of its end, back to its source."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.algorithm import Form
from kernels.registry import ALGORITHMS
from pipeline.config.model import LARGEST, is_utf8
from pipeline.errors import BadConfig, BadSource, Damaged, NoPath
from pipeline.inspection.ends import vertices_of
from pipeline.report.wording import number
from pipeline.store.facts.run import RunFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.texts import id_of, why_not_an_id

PATH_TABLES = tuple(algorithm.table_name for algorithm in ALGORITHMS if algorithm.form is Form.PATHS)
_HELD = 32  # row groups in memory, of up to a million rows
_SHOWN = 10  # sources in a message


@dataclass(frozen=True)
class ShortestPath:
    """A path of a run's table: its vertices from the source to the end, each with its distance from the source."""

    run: str
    table: str
    unit: str  # of the distances
    vertices: list[dict[str, Any]]  # `vertex`, `distance`, and what the run has of `id`, `x` and `y`


def shortest_path(run: Folder, src: str, dst: str, table: str | None = None) -> ShortestPath:
    """The unique shortest path between two vertices, read only from the row groups that contain its vertices.

    Args:
        run: A published run.
        src, dst: External ids, or ids of the source file if these are strings, or places, see `pipeline.inspection.ends`; the
            run must have had `src` as a source.
        table: One of `PATH_TABLES`; None takes the run's last one: weighted distances if there are some.

    Raises:
        BadConfig: The run does not have this table, or no table of paths.
        BadSource: The run has no answer from `src`, or the graph does not have one of the two.
        NoPath: `src` does not reach `dst`.
        Damaged: A file cannot be read, or the predecessors do not lead back to the source.
    """
    facts = RunFacts.of(run)
    name = _table_of(run, facts, table)
    described = Described(run, facts)
    source, end = vertices_of(run, facts, described, [src, dst])
    rows = _SortedRows(run.path / name, ("vertex", "distance", "predecessor"), source)
    if not rows.groups:
        known = ", ".join(str(described.row(one).get("id", one)) for one in rows.sources[:_SHOWN]) + (
            ", ..." if len(rows.sources) > _SHOWN else ""
        )
        raise BadSource(f"{src} is not a source of this run; its sources are {known or 'none'}; run with --source {src}")
    row = rows.find(end)
    roads = facts.input.roads
    if row and row["distance"] is not None and roads and roads.turns and roads.turns.matter:
        from pipeline.inspection.turned_path import TurnedPaths

        turned = TurnedPaths(run, name).between(source, end)
        vertices = [{"vertex": vertex, **described.row(vertex), "distance": at} for vertex, at in turned]
        return ShortestPath(facts.run, name, _unit_of(facts, name), vertices)
    if row is None:
        raise BadSource(f"vertex {dst} is not in the graph ({number(facts.graph.vertices)} vertices)")
    if row["distance"] is None:
        raise NoPath(f"no path leads from {src} to {dst}")
    way = [row]
    while (before := way[-1]["predecessor"]) is not None:
        row = rows.find(before)
        if row is None or row["distance"] is None or row["distance"] > way[-1]["distance"]:
            raise Damaged(f"{run.path / name}: the predecessor {before} of {way[-1]['vertex']} is not nearer to {source}")
        way.append(row)
        if len(way) > facts.graph.vertices:
            raise Damaged(f"{run.path / name}: the predecessors of {end} do not end")
    if way[-1]["vertex"] != source:
        raise Damaged(f"{run.path / name}: the predecessors of {end} lead to {way[-1]['vertex']}, not to {source}")
    vertices = [{"vertex": row["vertex"], **described.row(row["vertex"]), "distance": row["distance"]} for row in reversed(way)]
    return ShortestPath(facts.run, name, _unit_of(facts, name), vertices)


def _unit_of(facts: RunFacts, table: str) -> str:
    (unit,) = (column["unit"] for column in facts.tables[table].columns if column["name"] == "distance")
    return str(unit)


class Described:
    """The string ids and coordinates of a run's vertices, from table `vertices` or `coordinates`."""

    def __init__(self, run: Folder, facts: RunFacts) -> None:
        name = "vertices" if "vertices" in facts.tables else "coordinates"
        has = [column["name"] for column in facts.tables[name].columns] if name in facts.tables else []
        self._columns = [column for column in ("id", "x", "y") if column in has]
        self._folder, self._complete = run.path / name, name == "vertices"
        self._rows = _SortedRows(self._folder, ("vertex", *self._columns)) if has else None

    def row(self, vertex: int) -> dict[str, Any]:
        """The known attributes of a vertex; null if there is none."""
        row = self._rows.find(vertex) if self._rows else None
        return {column: row[column] if row else None for column in self._columns}

    def known(self, one: str) -> int | None:
        """The external id of the vertex of an id; None if there is no such vertex."""
        if "id" not in self._columns:
            number_of = id_of(one)
            missing = number_of is None or (self._rows is not None and self._complete and self._rows.find(number_of) is None)
            return None if missing else number_of
        return self._named([one]).get(one) if is_utf8(one) else None

    def placed(self) -> pa.Table | None:
        """Columns `vertex`, `component`, `x` and `y` of all vertices; None if the run does not have them. Raises Damaged."""
        if not self._complete or "x" not in self._columns:
            return None
        try:
            return tables.read(self._folder, columns=["vertex", "component", "x", "y"])
        except (OSError, pa.ArrowException) as error:
            raise Damaged(f"{self._folder}: {error}") from None

    def numbers(self, ids: list[str]) -> list[int]:
        """The external ids of the vertices that a user named. Raises BadSource."""
        if "id" not in self._columns:
            numbers = [id_of(one) for one in ids]
            for one, number_of in zip(ids, numbers, strict=True):
                if number_of is None:
                    reason = why_not_an_id(one) or f"is not in 0..{LARGEST}"
                    raise BadSource(f"vertex {one[:80]!r} {reason}; the ids of this graph are integers")
            return [one for one in numbers if one is not None]
        if wrong := next((one for one in ids if not is_utf8(one)), None):
            raise BadSource(f"vertex {wrong[:80]!r} is not in the graph: its name is not UTF-8")
        named = self._named(ids)
        if (missing := next((one for one in ids if one not in named), None)) is not None:
            raise BadSource(f"vertex {missing[:80]!r} is not in the graph")
        return [named[one] for one in ids]

    def _named(self, ids: list[str]) -> dict[str, int]:
        """The external ids of vertices by their ids in the source, without those that are not in the graph."""
        named: dict[str, int] = {}
        try:
            for file in tables.files(self._folder):
                with pq.ParquetFile(file, page_checksum_verification=True) as opened:
                    for batch in opened.iter_batches(columns=["vertex", "id"]):
                        matching = batch.filter(pc.is_in(batch["id"], pa.array(ids, batch["id"].type)))
                        named |= dict(zip(matching["id"].to_pylist(), matching["vertex"].to_pylist(), strict=True))
        except (OSError, pa.ArrowException) as error:
            raise Damaged(f"{self._folder}: {error}") from None
        return named


def _table_of(run: Folder, facts: RunFacts, table: str | None) -> str:
    present = [table for table in PATH_TABLES if table in facts.tables]
    if not present:
        raise BadConfig(f"{run.path}: has no table of shortest paths ({', '.join(PATH_TABLES)}); run one of these stages")
    if table is not None and table not in present:
        raise BadConfig(f"--table {table}: this run's tables of shortest paths are {', '.join(present)}")
    return table or present[-1]


class _RowGroupRange(NamedTuple):
    """A row group: the smallest and the largest of its vertices, its file and its number there."""

    first: int
    last: int
    file: Path
    number: int


class _SortedRows:
    """Rows of a table that is sorted by `vertex` (those of one source), found by vertex; some row groups are in memory."""

    def __init__(self, folder: Path, columns: tuple[str, ...], source: int | None = None) -> None:
        self._columns = columns
        try:
            self._footers = {file: pq.read_metadata(file) for file in tables.files(folder)}
        except (OSError, pa.ArrowException) as error:
            raise Damaged(f"{folder}: {error}") from None
        self._all = [
            (_range(group, "source") if source is not None else (0, 0), _RowGroupRange(*_range(group, "vertex"), file, number))
            for file, footer in self._footers.items()
            for number, group in enumerate(map(footer.row_group, range(footer.num_row_groups)))
        ]
        # A row group has rows of one source.
        self.groups = [group for of, group in self._all if of[0] == (source or 0)]
        self._read = lru_cache(_HELD)(self._read_group)

    @cached_property
    def sources(self) -> list[int]:
        """All sources of the table, ascending."""
        return sorted({first for (first, _), _ in self._all})

    def find(self, vertex: int) -> dict[str, Any] | None:
        """The row of a vertex; None if there is none."""
        number = bisect_right(self.groups, vertex, key=lambda group: group.first) - 1
        if number < 0 or vertex > self.groups[number].last:
            return None
        table = self._read(number)
        first = int(np.searchsorted(table["vertex"].to_numpy(), vertex))
        row: dict[str, Any] = table.slice(first, 1).to_pylist()[0]
        return row if row["vertex"] == vertex else None

    def _read_group(self, number: int) -> pa.Table:
        group = self.groups[number]
        try:
            with pq.ParquetFile(group.file, metadata=self._footers[group.file], page_checksum_verification=True) as file:
                return file.read_row_group(group.number, [*self._columns]).combine_chunks()
        except (OSError, pa.ArrowException) as error:
            raise Damaged(f"{group.file}: {error}") from None


def _range(group: Any, name: str) -> tuple[int, int]:
    """The smallest and the largest value of a column in a row group, from its statistics."""
    (column,) = (column for column in map(group.column, range(group.num_columns)) if column.path_in_schema == name)
    return column.statistics.min, column.statistics.max
