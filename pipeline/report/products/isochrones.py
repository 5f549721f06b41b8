"""The report's part on isochrones: most vertices, and a map of what is within each threshold of the nearest source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.report.products import Drawn, ProductPart, ReportContext, ValueMap, spread, top, who_of
from pipeline.report.reading import VertexColumns
from pipeline.report.results import FOLDER, MOST, Result
from pipeline.report.wording import counted, with_unit
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

if TYPE_CHECKING:
    from pipeline.report.atlas import Atlas, Map, Marker

SOURCES = 100  # whose isochrones are drawn
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
    """The sources with most vertices within the largest threshold, and one of two maps."""
    table, vertices = tables.read(product.path), context.vertices
    largest = pc.max(table["threshold"]).as_py()
    last = table.filter(pc.equal(table["threshold"], largest)) if len(table) else table
    who = who_of(table, "source")
    order = f"WHERE threshold = {largest} ORDER BY vertices DESC, {', '.join(who[:2])} LIMIT {MOST}"
    sql = f"SELECT {', '.join(who)}, vertices\nFROM '{FOLDER}/isochrones/*.parquet' {order};"
    within = f"within {with_unit(largest or 0, context.unit)}"
    shown = [*who, "vertices"]
    tops = [top(f"Most vertices {within}", tuple(shown), last.select(shown), sql, by=len(who))]
    count = ProductFacts.of(product).sources
    result = Result(context.title, f"{counted(count, 'source')}, {counted(len(table), 'row')}", tops, {})
    of_all = count == len(vertices.ids)
    if areas := None if of_all else _isochrones(product, context):
        return ProductPart(result, areas)
    drawn = ValueMap(
        title=f"Vertices {within}",
        sentence="Each source has the colour of their number; grey edges have none.",
        values=spread(vertices, last["source"].to_numpy(), last["vertices"].to_numpy().astype(np.float64)),
        unit="vertices",
        marked=None if of_all else last["source"].to_numpy(),
        what="source",
    )
    return ProductPart(result, drawn if len(last) else None, "" if of_all else NOT_DRAWN)


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
        within=(
            _within(reached, sources, thresholds, context.vertices) if reached else np.full(len(context.vertices.ids), np.nan)
        ),
        areas=_areas(polygons, sources, thresholds) if polygons else [],
        marked=sources,
        what="source",
    )


def _within(reached: Folder, sources: Array, thresholds: Sequence[float], vertices: VertexColumns) -> Array:
    least = np.full(len(vertices.ids), np.inf)
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
