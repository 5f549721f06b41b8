"""Coordinates of vertices: those of a file beside the source, and those that the source's own format has."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.graph import Array
from pipeline.config.graph import GraphConfig, Limits
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest.decompress import chunks
from pipeline.ingest.formats import dimacs
from pipeline.ingest.formats.detect import by_name
from pipeline.ingest.formats.format import HEAD, TABLES
from pipeline.ingest.formats.parquet import begins_parquet
from pipeline.ingest.formats.text import Text
from pipeline.ingest.node_columns import names_of
from pipeline.ingest.nodes import read_nodes
from pipeline.ingest.opening import Opened, watched
from pipeline.ingest.places.crs import to_degrees
from pipeline.ingest.source import Stored
from pipeline.ingest.writer import write
from pipeline.runtime.threads import ahead
from pipeline.store.facts import EdgeFacts
from pipeline.store.facts.roads import RoadFacts
from pipeline.store.names import VertexNames
from pipeline.tables.points import COORDINATES
from pipeline.tables.streets import SCHEMA, STREETS, write_streets

_AHEAD = 2  # tables of streets that are made while others are written
_SCHEMA = pa.schema(
    [pa.field("vertex", pa.int64(), False), pa.field("x", pa.float64(), False), pa.field("y", pa.float64(), False)]
)


def write_coordinates(
    graph: GraphConfig, content: Stored, folder: Path, names: VertexNames | None, facts: EdgeFacts
) -> tuple[int, dict[str, str] | None]:
    """Write the coordinates that a file has, and return how many vertices have some, and the columns of a table.

    Raises BadInput for another file.
    """
    url = content.source.url
    if is_table(url, content.peek(HEAD)):
        table, columns = coordinates_of(content, graph, names)
        write(folder / COORDINATES, _SCHEMA, iter([table]))
        return len(table), columns
    if graph.crs:
        raise BadConfig(f"graph.crs: has no effect: {url} is DIMACS, which has degrees; leave the key out")
    if names is not None:
        raise BadInput(url, "has integer ids, but the ids of the graph are strings")
    vertices, batches = dimacs.coordinates(Text(url, chunks(content, graph.limits), graph.limits), graph.limits.edges)
    write(folder / COORDINATES, _SCHEMA, watched(batches, content, graph.limits))
    _require_each_once(url, folder, vertices)
    if facts.first_id is not None and facts.declared_vertices != vertices:
        raise BadInput(url, f"declares {vertices} vertices, but {facts.source.path} declares {facts.declared_vertices}")
    return vertices, None


def write_own(read: Opened, folder: Path, limits: Limits) -> int | None:
    """Write the coordinates that a format has, and return how many vertices have some; None if the format has none.

    Raises BadInput for values that are not degrees, for a vertex that has coordinates twice, and beyond `limits.edges` rows.
    """
    if read.edges.coordinates is None:
        return None
    file = read.content.source.url
    rows = write(folder / COORDINATES, _SCHEMA, watched(_few(file, read.edges.coordinates, limits), read.content, limits))
    vertices = np.sort(_vertices(folder))
    if len(again := np.flatnonzero(vertices[1:] == vertices[:-1])):
        raise BadInput(file, f"vertex {vertices[again[0]]} has coordinates twice")
    return rows


def write_roads(read: Opened, folder: Path, limits: Limits) -> RoadFacts | None:
    """Write what is known of streets, prove the edge list, and return its facts; None for a format without them."""
    edges = read.edges
    if edges.streets is None or edges.prove is None:
        return None
    first = next(edges.streets, SCHEMA.empty_table())
    tables = watched(chain([first], ahead(edges.streets, _AHEAD)), read.content, limits)
    write_streets(folder / STREETS, first.schema, tables)
    return edges.prove(folder)


def _few(file: str, tables: Iterator[pa.Table], limits: Limits) -> Iterator[pa.Table]:
    rows = 0
    for table in tables:
        rows += len(table)
        if rows > limits.edges:
            raise BadInput(file, f"has coordinates of more than {limits.edges} vertices, the limit (graph.limits.edges)")
        _require_degrees(file, table, "x", "y")
        yield table


def is_table(file: str, head: bytes) -> bool:
    """Whether a file is Parquet, by its first HEAD bytes, or CSV or TSV, by its name. Raises BadInput if it is encrypted."""
    return begins_parquet(head, file) or by_name(file) in TABLES


def coordinates_of(content: Stored, graph: GraphConfig, names: VertexNames | None) -> tuple[pa.Table, dict[str, str]]:
    """Columns `vertex`, `x` and `y` of a table, degrees, and what they are called. Rows without coordinates are left out.

    Raises BadInput as `read_nodes`, and for what is not a number of degrees; otherwise as `to_degrees`.
    """
    file = content.source.url
    table, _, columns = read_nodes(content, graph.limits, names, graph.node_columns, ("x", "y"))
    named = names_of(columns, ("x", "y"))
    x, y = named["x"], named["y"]
    if not graph.crs:
        _require_degrees(file, table, x, y)
    axes = {axis: table[name].cast(pa.float64()) for axis, name in zip("xy", (x, y), strict=True)}
    placed = pa.table({"vertex": table["vertex"], **axes}).drop_null()
    if not graph.crs:
        return placed, named

    def what(row: int) -> str:
        vertex = placed["vertex"][row].as_py()
        return f"{named['vertex']} {names.text(vertex) if names else vertex}"

    points = np.stack([placed[axis].to_numpy() for axis in "xy"], axis=1)
    degrees = to_degrees(file, points, graph.crs, "graph.crs", what).T
    return pa.table({"vertex": placed["vertex"], "x": degrees[0], "y": degrees[1]}), named


def _require_degrees(file: str, table: pa.Table, x: str, y: str) -> None:
    """Raise BadInput for a longitude or latitude that is not one; nulls are none."""
    for name, most in ((x, 180), (y, 90)):
        known = table[name].drop_null().cast(pa.float64()).to_numpy()
        if len(known) and not (fits := np.abs(known) <= most).all():
            raise BadInput(file, f"{name} {known[~fits][0]} is not in -{most}..{most} degrees; graph.crs states another system")


def _require_each_once(file: str, folder: Path, vertices: int) -> None:
    """Raise BadInput unless the `vertices` rows of the coordinates that were written contain each of 1..vertices."""
    seen = np.zeros(vertices, bool)
    seen[_vertices(folder) - 1] = True
    if not seen.all():
        raise BadInput(file, f"vertex {int(np.argmin(seen)) + 1} has no coordinates, another vertex has them twice")


def _vertices(folder: Path) -> Array:
    """The column `vertex`, int64, of the coordinates that were written."""
    with pq.ParquetFile(folder / COORDINATES, pre_buffer=False) as parquet:
        vertices: Array = parquet.read(["vertex"])["vertex"].to_numpy()
        return vertices
