"""How many trees of shortest paths the products of a run need, and how much their tables take."""

from typing import NamedTuple

import pyarrow.parquet as pq

from pipeline.config.run import RunConfig
from pipeline.config.sources import read_sources
from pipeline.ingest.formats.parquet import is_parquet, reading
from pipeline.ingest.source import locate

_VALUE = 6.0  # bytes of a value in a table
_ROAD_LIKE = 4  # arcs for each vertex up to which a hierarchy is worth its time


class Trees(NamedTuple):
    """What a product needs."""

    number: int
    bytes: float  # of its table


def trees_of(config: RunConfig, vertices: int, arcs: int) -> dict[str, Trees]:
    """The products that a configuration asks for, by their steps; the bytes of isochrones' vertices and areas are not known.

    Raises:
        BadInput: A file of vertices or pairs is not there, or cannot be read.
    """
    found = dict[str, Trees]()
    if near := config.nearest:
        count = _number_of(near.facilities, vertices)
        found["nearest"] = Trees(count, 3 * _VALUE * vertices * min(near.count, count))
    if asked := config.isochrones:
        count = _number_of(asked.sources, vertices)
        found["isochrones"] = Trees(count, _VALUE * count * len(asked.thresholds) * (2 + len(asked.sums)))
        found |= {
            f"isochrone_{name}": Trees(count, 0.0)
            for name, wanted in (("vertices", asked.vertices), ("polygons", asked.polygons))
            if wanted
        }
    if all_pairs := config.closeness:
        count = _number_of(all_pairs.sources, vertices)
        found["closeness"] = Trees(count, 4 * _VALUE * count)
    if config.flows:
        count = _number_of(config.flows.pairs, vertices)
        found["flows"] = Trees(count, 2 * _VALUE * arcs)
    return found


def are_swept(count: int, vertices: int, arcs: int) -> bool:
    """Whether this number of trees probably comes from a hierarchy; otherwise each source is searched from."""
    from pipeline.steps.products.sweeping import WORTH

    return count >= WORTH and arcs <= _ROAD_LIKE * vertices


def _number_of(file: str | None, vertices: int) -> int:
    """Trees for the vertices, or pairs, of a file; without one, for all vertices."""
    return min(_rows_of(file), vertices) if file else vertices


def _rows_of(file: str) -> int:
    """Vertices, or pairs, of a file."""
    path = locate(file).require_local()
    if not is_parquet(path, file):
        return len(read_sources(path))
    with reading(file):
        rows: int = pq.read_metadata(path).num_rows
    return rows
