"""The report's part on isochrones: most vertices, and a map of what is within each threshold of the nearest source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.report.products import Drawn, ProductPart, ReportContext, ValueMap, quoted_name, spread, top, who_of
from pipeline.report.reading import VertexColumns
from pipeline.report.results import FOLDER, MOST, Result, Top
from pipeline.report.wording import counted, with_unit
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.definitions import TABLES
from pipeline.tables.points import GEOMETRY

if TYPE_CHECKING:
    from pipeline.report.atlas import Atlas, Map, Marker

SOURCES = 100  # whose isochrones are drawn
SUMS = 3  # whose largest values are listed
NOT_DRAWN = (
    "Isochrones: the table has numbers only. With vertices = true or polygons = true below [isochrones] there is a map of what "
    "is within each threshold."
)


@dataclass(frozen=True, kw_only=True)
class Isochrones(Drawn):
    """What is within thresholds of the nearest of some sources.

    Attributes:
        thresholds: [T], ascending.
        within: float64 [V]: the number of the smallest threshold that each vertex is within, NaN where there is none.
        areas: For each threshold, MultiPolygons in WKB, some of them null.
    """

    thresholds: Sequence[float]
    within: Array
    areas: Sequence[Sequence[bytes | None]]

    def on(self, atlas: "Atlas", markers: Sequence["Marker"]) -> "Map":
        """The map of the vertices in the colours of the thresholds, over the areas."""
        return atlas.steps((self.title, self.sentence), (self.thresholds, self.unit), self.within, self.areas, markers)


def show(product: Folder, context: ReportContext) -> ProductPart:
    """The sources with most within the largest threshold, a map of isochrones or of numbers of vertices, and one of the sums."""
    table, vertices = tables.read(product.path), context.vertices
    largest = pc.max(table["threshold"]).as_py()
    last = table.filter(pc.equal(table["threshold"], largest)) if len(table) else table
    within = f"within {with_unit(largest or 0, context.unit)}"
    own = {column.name for column in TABLES[product.manifest.step]}
    sums = sorted(table.schema.names[table.schema.names.index("vertices") + 1 :], key=own.__contains__)  # ratios last
    tops = [_most(last, name, name if name in own else quoted_name(name), within) for name in ("vertices", *sums[:SUMS])]
    count = ProductFacts.of(product).sources
    to = "; paths lead to them" if product.manifest.parameters["direction"] == "to" else ""
    result = Result(context.title, f"{counted(count, 'source')}, {counted(len(table), 'row')}{to}", tops, {})
    of_all = count == vertices.count
    maps = [_map_of(last, name, within, of_all, context) for name in ("vertices", *sums[:SUMS])]
    of_vertices, *of_sums = maps if len(last) else [None]
    drawn_sums = [drawn for drawn in of_sums if drawn][:1]
    if areas := None if of_all else _isochrones(product, context):
        return ProductPart(result, areas, others=drawn_sums)
    return ProductPart(result, of_vertices, "" if of_all else NOT_DRAWN, drawn_sums)


def show_areas(product: Folder, context: ReportContext) -> ProductPart:
    """How many areas there are, and how those without a triangle get one."""
    rows, empty = ProductFacts.of(product).rows, _empty_areas(product)
    hint = "" if product.manifest.parameters["buffer"] else "; with buffer below [isochrones] they are what is near their edges"
    without = f", {empty:,} of them without a triangle of vertices{hint}" if empty else ""
    return ProductPart(Result(context.title, f"{counted(rows, 'area')}{without}"))


def _empty_areas(product: Folder) -> int:
    """How many areas are null, by the footers of the files."""
    empty = 0
    for path in tables.files(product.path):
        footer = pq.read_metadata(path)
        at = footer.schema.names.index(GEOMETRY)
        empty += sum(footer.row_group(group).column(at).statistics.null_count for group in range(footer.num_row_groups))
    return empty


def _most(last: pa.Table, name: str, in_sql: str, within: str) -> Top:
    """The sources, or places, with most of a column, which is called `in_sql` in queries."""
    who, others = who_of(last, "source"), ["vertices"] if name != "vertices" else []
    known = f"{in_sql} IS NOT NULL AND " if last.schema.field(name).nullable else ""
    order = f"WHERE {known}threshold = {pc.max(last['threshold']).as_py()} ORDER BY {in_sql} DESC"
    order += f", {', '.join(who[:2])} LIMIT {MOST}"
    sql = f"SELECT {', '.join([*who, in_sql, *others])}\nFROM '{FOLDER}/isochrones/*.parquet' {order};"
    columns = [*who, name, *others]
    return top(f"Most {name} {within}", tuple(columns), last.select(columns).filter(last[name].is_valid()), sql, by=len(who))


def _map_of(last: pa.Table, name: str, within: str, of_all: bool, context: ReportContext) -> ValueMap | None:
    """The map of a column; None if it has no value, or a negative one."""
    known = last.filter(last[name].is_valid())
    if not len(known) or pc.min(known[name]).as_py() < 0:
        return None
    sources, values = known["source"].to_numpy(), known[name].to_numpy().astype(np.float64)
    return ValueMap(
        title=f"{name[:1].upper()}{name[1:]} {within}",
        sentence="Each source has the colour of their number; grey edges have none.",
        values=spread(context.vertices, sources, values),
        unit=name,
        marked=None if of_all else sources,
        what="source",
    )


def _isochrones(product: Folder, context: ReportContext) -> Isochrones | None:
    """The map of the run's isochrones; None if nothing says what is within."""
    reached, polygons = (context.products.get(f"isochrone_{name}") for name in ("vertices", "polygons"))
    if not context.has_map or not (reached or polygons):
        return None
    thresholds = product.manifest.parameters["thresholds"]
    sources = np.unique(tables.read(product.path, columns=["source"])["source"].to_numpy())[:SOURCES]
    total = ProductFacts.of(product).sources
    some = f" (the first {len(sources)} of {total:,} sources)" if total > len(sources) else ""
    filled = "; areas are filled" if polygons else ""
    nearest = f"the nearest of {counted(len(sources), 'source')}{some}"
    return Isochrones(
        title="Isochrones",
        sentence=f"What is within each threshold of {nearest}{filled}; the rest is grey.",
        unit=context.unit,
        thresholds=thresholds,
        within=(_within(reached, sources, thresholds, context.vertices) if reached else np.full(context.vertices.count, np.nan)),
        areas=_areas(polygons, sources, thresholds) if polygons else [],
        marked=sources,
        what="source",
    )


def _within(reached: Folder, sources: Array, thresholds: Sequence[float], vertices: VertexColumns) -> Array:
    least = np.full(vertices.count, np.inf)
    for batch in _rows(reached, sources, ["source", "vertex", "distance"]):
        np.minimum.at(least, vertices.positions(batch["vertex"].to_numpy()), batch["distance"].to_numpy().astype(np.float64))
    levels = np.searchsorted(np.array(thresholds, np.float64), least).astype(np.float64)
    levels[np.isinf(least)] = np.nan
    return levels


def _areas(polygons: Folder, sources: Array, thresholds: Sequence[float]) -> list[list[bytes | None]]:
    polygons_of: list[list[bytes | None]] = [[] for _ in thresholds]
    for batch in _rows(polygons, sources, ["source", "threshold", "geometry"]):
        for threshold, area in zip(batch["threshold"].to_pylist(), batch["geometry"].to_pylist(), strict=True):
            polygons_of[thresholds.index(threshold)].append(area)
    return polygons_of


def _rows(folder: Folder, sources: Array, columns: list[str]) -> Iterator[Any]:
    """The rows of some sources, which are the first of a table that is sorted by them."""
    chosen = pa.array(sources)
    for path in tables.files(folder.path):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=columns):
                rows = batch.filter(pc.is_in(batch["source"], chosen))
                if len(batch) and not len(rows):
                    return
                yield rows
