"""The report's part on change tables: how many rows of each table differ, and how far each vertex has moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.algorithm import Form
from kernels.cpu.parallel import cores
from kernels.graph import Array
from kernels.registry import ALGORITHMS
from pipeline.report.aggregates import bins, lower_median
from pipeline.report.charts import Caption, Chart, histogram
from pipeline.report.reading import VertexColumns
from pipeline.report.wording import changed_values, counted, in_unit, number, with_unit
from pipeline.runtime.threads import map_in_order
from pipeline.store.facts.changes import ChangesFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import VertexNames
from pipeline.tables import changes
from pipeline.tables import files as tables

HEADS = ("table", "rows before", "rows now", "added", "removed", "changed", "columns")
BARS = 60
_PATHS = sorted(  # weighted distances first
    (algorithm for algorithm in ALGORITHMS if algorithm.form is Form.PATHS),
    key=lambda algorithm: any(column.unit == "hops" for column in algorithm.columns),
)


@dataclass(frozen=True)
class Moved:
    """How each vertex has changed.

    `by`, float64 [V]: the largest change of its distance from a source; infinite where it was reached only before, or only now;
    NaN where nothing has changed. Without distances 0 where a table of vertices has changed.
    """

    by: Array
    stage: str = ""  # of the distances; empty without
    unit: str = ""
    integer: bool = False

    @property
    def sentence(self) -> str:
        """The numbers."""
        known = self.by[~np.isnan(self.by)]
        if not self.stage:
            return f"{counted(len(known), 'vertex', 'vertices')} with a change in a table of vertices."
        finite = known[np.isfinite(known)]
        vertices = counted(len(finite), "vertex", "vertices")
        most = f" by up to {with_unit(int(finite.max()) if self.integer else finite.max(), self.unit)}" if len(finite) else ""
        others = counted(len(known) - len(finite), "vertex", "vertices")
        return f"{vertices} at a different distance{most}; {others} reached only before or only now."


def rows_of(facts: ChangesFacts) -> list[tuple[str, ...]]:
    """The rows of a table with columns HEADS, of the tables that have changed."""
    return [
        (name, *(f"{count:,}" for count in (*table.rows, *differ)), ", ".join(changed_values(table.columns, table.largest)))
        for name, table in facts.tables.items()
        if any(differ := (table.added, table.removed, table.changed))
    ]


def left_out(facts: ChangesFacts) -> str:
    """The tables that the list of changed rows leaves out."""
    same = [name for name, table in facts.tables.items() if not (table.added or table.removed or table.changed)]
    said = [f"Without a change: {', '.join(same)}."] if same else []
    said += [f"Not compared: {name}, {why}." for name, why in facts.not_compared.items()]
    return " ".join(said)


def movement(
    tabulated: Folder, vertices: VertexColumns, names: VertexNames | None, measure: str | None
) -> tuple[Moved, Chart | None] | None:  # fmt: skip
    """How the vertices of the graph have changed, and its chart; None if none has."""
    moved = moved_vertices(tabulated, vertices, names, measure)
    return None if moved is None else (moved, moved_chart(moved))


def moved_vertices(tabulated: Folder, vertices: VertexColumns, names: VertexNames | None, measure: str | None) -> Moved | None:
    """How the vertices of the graph have changed; None if none has."""
    tables_of_changes = ChangesFacts.of(tabulated).tables
    for algorithm in _PATHS:
        table = tables_of_changes.get(algorithm.table_name)
        if table and (table.added or table.removed or table.columns.get("distance")):
            folder = tabulated.path / f"{algorithm.table_name}{changes.SUFFIX}"
            hops = any(column.unit == "hops" for column in algorithm.columns)
            integer = pa.types.is_integer(pq.read_schema(tables.files(folder)[0]).field("new_distance").type)
            by = _largest([folder], ["old_distance", "new_distance"], vertices, names)
            unit = "hops" if hops else measure or "sum of weights"
            return Moved(by, algorithm.name, unit, integer) if not np.isnan(by).all() else None
    folders = {name: tabulated.path / f"{name}{changes.SUFFIX}" for name in tables_of_changes}
    columns = {name: pq.read_schema(tables.files(folder)[0]).names for name, folder in folders.items()}
    keyed = [folder for name, folder in folders.items() if tables.keys(name, columns[name]) == ["vertex"]]
    by = _largest(keyed, [], vertices, names)
    return None if np.isnan(by).all() else Moved(by)


def moved_chart(moved: Moved) -> Chart | None:
    """Number of vertices by the change of their distance; None if no distance has changed."""
    finite = moved.by[np.isfinite(moved.by)]
    if not moved.stage or not len(finite):
        return None
    parts = [finite.astype(np.int64) if moved.integer else finite]
    edges, counts, width = binned = bins(parts, BARS)
    per = "vertices" if moved.integer and width == 1 else f"vertices per {number(width)}"
    sentence = f"{moved.sentence} Median {number(lower_median(parts, binned))}."
    caption = Caption("Changes of distance since the last run", in_unit("change", moved.unit), per, sentence)
    return histogram(caption, edges, counts, moved.integer)


def _largest(folders: Sequence[Path], columns: list[str], vertices: VertexColumns, names: VertexNames | None) -> Array:
    """The largest change of each vertex [V] in change tables, whose `columns` are an old and a new distance; NaN without one."""
    largest = np.full(vertices.count, np.nan)
    files = [file for folder in folders for file in tables.files(folder)]
    groups = [(file, group) for file in files for group in range(pq.read_metadata(file).num_row_groups)]

    def read(group: tuple[Path, int]) -> tuple[Array, Array]:
        with pq.ParquetFile(group[0], page_checksum_verification=True) as file:
            rows = file.read_row_group(group[1], ["vertex", changes.KIND.name, *columns])
        rows = rows.filter(pc.not_equal(rows[changes.KIND.name], "removed"))
        ids = rows["vertex"].to_numpy() if names is None else names.find(rows["vertex"])
        if not columns:
            return vertices.positions(ids), np.zeros(len(rows))
        old, new = (rows[name].cast(pa.float64(), safe=False).to_numpy() for name in columns)
        by = np.where(np.isnan(old) & np.isnan(new), 0, np.nan_to_num(np.abs(new - old), nan=np.inf))
        return vertices.positions(ids[by > 0]), by[by > 0]

    for at, by in map_in_order(read, groups, cores()):
        np.fmax.at(largest, at, by)
    return largest
