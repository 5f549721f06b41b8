"""Write an edge list as Parquet with page checksums and row groups of equal size, independent of the source's blocks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from pipeline.ingest.formats.format import EdgeList
from pipeline.runtime.threads import map_in_order
from pipeline.store.edges import EdgeArrays, largest_of
from pipeline.tables.batches import in_groups
from pipeline.tables.files import ROWS_PER_GROUP, file_name


def edges_schema(weight: pa.DataType | None, order: pa.DataType | None = None) -> pa.Schema:
    """Return the schema of an edge list; a column of order has nulls where a vertex was declared."""
    fields = [pa.field(name, pa.int64(), nullable=False) for name in ("src", "dst")]
    fields += [] if weight is None else [pa.field("weight", weight, nullable=False)]
    return pa.schema(fields if order is None else [*fields, pa.field("order", order)])


def write(path: Path, schema: pa.Schema, tables: Iterator[pa.Table]) -> int:
    """Write tables to a Parquet file and return the number of rows. -0.0 becomes 0.0, so that equal tables are equal bytes."""
    rows = 0
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=False,
        column_encoding={field.name: _encoding(field.type) for field in schema},
        write_page_checksum=True,
    ) as writer:
        for group in in_groups(tables):
            columns = [_positive_zeros(group[field.name]).cast(field.type) for field in schema]
            writer.write_table(pa.table(columns, schema), ROWS_PER_GROUP)
            rows += len(group)
    return rows


def _encoding(kind: pa.DataType) -> str:
    """The encoding that makes the values of a type small."""
    if pa.types.is_integer(kind):
        return "DELTA_BINARY_PACKED"
    return "BYTE_STREAM_SPLIT" if pa.types.is_floating(kind) else "PLAIN"


@dataclass(frozen=True)
class StoredEdges:
    """A stored edge list: number of edges, largest values of integer columns, whether all edges are in the arrays."""

    edges: int
    largest: dict[str, int]
    held: bool


def decoded(edges: EdgeList, arrays: EdgeArrays | None) -> StoredEdges | None:
    """The edges of a file that need no copy, which a GPU has decoded to the arrays; None if their tables have to be read."""
    if not (arrays and arrays.on_gpu and edges.rereadable and edges.for_gpu and edges.for_gpu.worthwhile):
        return None
    largest = edges.for_gpu.put(arrays)
    return None if largest is None or edges.rows is None else StoredEdges(edges.rows, largest, held=True)


def store(tables: Iterator[pa.Table], schema: pa.Schema, folder: Path | None, arrays: EdgeArrays | None) -> StoredEdges:
    """Store the tables of an edge list on all cores.

    Args:
        tables: Of the edge list; integers may be narrower than in `schema`.
        schema: Of the files' tables.
        folder: Gets files of `ROWS_PER_GROUP` rows, as `write` writes them; at least one. None: nothing is written.
        arrays: Gets all rows, if their values fit.
    """

    def store_part(part: tuple[int, int, pa.Table]) -> StoredEdges:
        number, first, group = part
        if folder:
            write(folder / file_name(number), schema, iter([group]))
        largest = largest_of(group)
        return StoredEdges(len(group), largest, arrays is not None and arrays.put(first, group, largest))

    groups = tables
    if folder:
        groups = in_groups(tables)
        groups = chain([next(groups, schema.empty_table())], groups)  # a file without rows if there are none
    edges, largest, held = 0, largest_of(schema.empty_table()), arrays is not None
    for part in map_in_order(store_part, _numbered(groups), cores()):
        edges, held = edges + part.edges, held and part.held
        largest = {name: max(value, part.largest[name]) for name, value in largest.items()}
    return StoredEdges(edges, largest, held)


def _numbered(groups: Iterable[pa.Table]) -> Iterator[tuple[int, int, pa.Table]]:
    """The groups with their numbers and those of their first rows."""
    first = 0
    for number, group in enumerate(groups):
        yield number, first, group
        first += len(group)


def _positive_zeros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.add(column, pa.scalar(0, column.type)) if pa.types.is_floating(column.type) else column
