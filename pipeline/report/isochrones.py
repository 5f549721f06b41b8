"""The map of isochrones: the smallest threshold within which each vertex is from the nearest source, and the areas."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from struct import unpack_from
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.report.reading import VertexColumns
from pipeline.report.wording import counted
from pipeline.store.facts.products import ProductFacts
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

SOURCES = 100  # whose isochrones are drawn
NOT_DRAWN = (
    "Isochrones: the table has numbers only. With vertices = true or polygons = true below [isochrones] there is a map of what "
    "is within each threshold."
)


@dataclass(frozen=True)
class Isochrones:
    """What is within thresholds of the nearest of some sources.

    Attributes:
        thresholds: [T], ascending.
        within: float64 [V]: the number of the smallest threshold that each vertex is within, NaN where there is none.
        areas: For each threshold, MultiPolygons in WKB, some of them null.
        sources: int64 [S]: external ids.
    """

    sentence: str
    thresholds: Sequence[float]
    within: Array
    areas: Sequence[Sequence[bytes | None]]
    sources: Array


def isochrones(products: Mapping[str, Folder], vertices: VertexColumns) -> Isochrones | None:
    """The isochrones among products by their steps; None if nothing says what is within, or if all vertices are sources."""
    table, reached, polygons = (products.get(f"isochrone{suffix}") for suffix in ("s", "_vertices", "_polygons"))
    if table is None or not (reached or polygons) or is_of_all(table, vertices):
        return None
    thresholds = table.manifest.parameters["thresholds"]
    sources = np.unique(tables.read(table.path, columns=["source"])["source"].to_numpy())[:SOURCES]
    total = ProductFacts.of(table).sources
    some = f" (the first {len(sources)} of {total:,} sources)" if total > len(sources) else ""
    drawn = "; areas are filled" if polygons else ""
    sentence = (
        f"What is within each threshold of the nearest of {counted(len(sources), 'source')}{some}{drawn}; the rest is grey."
    )
    within = _within(reached, sources, thresholds, vertices) if reached else np.full(len(vertices.ids), np.nan)
    areas = _areas(polygons, sources, thresholds) if polygons else []
    return Isochrones(sentence, thresholds, within, areas, sources)


def is_of_all(table: Folder, vertices: VertexColumns) -> bool:
    """Whether all vertices are sources."""
    return ProductFacts.of(table).sources == len(vertices.ids)


def rings_of(area: bytes) -> list[list[Array]]:
    """The rings of each polygon of a MultiPolygon in WKB: longitude and latitude float64 [n, 2], the outer ring first."""
    at, polygons = 9, []
    for _ in range(unpack_from("<I", area, 5)[0]):
        (count,) = unpack_from("<I", area, at + 5)
        at, rings = at + 9, list[Array]()
        for _ in range(count):
            (length,) = unpack_from("<I", area, at)
            rings.append(np.frombuffer(area, "<f8", 2 * length, at + 4).reshape(length, 2))
            at += 4 + 16 * length
        polygons.append(rings)
    return polygons


def _within(reached: Folder, sources: Array, thresholds: Sequence[float], vertices: VertexColumns) -> Array:
    least = np.full(len(vertices.ids), np.inf)
    for batch in _rows(reached, sources, ["source", "vertex", "distance"]):
        np.minimum.at(least, vertices.positions(batch["vertex"].to_numpy()), batch["distance"].to_numpy().astype(np.float64))
    levels = np.searchsorted(np.array(thresholds, np.float64), least).astype(np.float64)
    levels[np.isinf(least)] = np.nan
    return levels


def _areas(polygons: Folder, sources: Array, thresholds: Sequence[float]) -> list[list[bytes | None]]:
    areas: list[list[bytes | None]] = [[] for _ in thresholds]
    for batch in _rows(polygons, sources, ["source", "threshold", "geometry"]):
        for threshold, area in zip(batch["threshold"].to_pylist(), batch["geometry"].to_pylist(), strict=True):
            areas[thresholds.index(threshold)].append(area)
    return areas


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
