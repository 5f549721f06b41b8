"""Parquet files: the columns are found by name and streamed; the weight keeps its type.

A few bytes can declare any number of rows, so the declared number is checked against the limits and the pages before a row is
read.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cpu.parallel import cores
from pipeline.config.graph import RATIO_FROM, GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest.formats.format import HEAD, EdgeList, FileFormat, as_arcs, check_count, choose, with_times
from pipeline.ingest.formats.parquet.footer import ENCRYPTED_MAGIC, Footer, check_rows, open_file
from pipeline.ingest.formats.parquet.on_gpu import ColumnsForGpu
from pipeline.ingest.formats.parquet.pages import MAGIC
from pipeline.ingest.formats.parquet.problems import Contradiction, Unreadable
from pipeline.ingest.formats.parquet.rows import NAME, EdgeColumns, edge_columns
from pipeline.ingest.formats.parquet.schema import ENCRYPTED
from pipeline.ingest.formats.parquet.types import is_text, plain, plain_type
from pipeline.ingest.values.rejects import Rejected, Rejects
from pipeline.runtime.threads import map_in_order
from pipeline.store.edges import LARGEST_GROUP

BATCH = 2**18  # rows
_DAMAGED = "is not a complete Parquet file, or is damaged"


def read(path: Path, file: str, graph: GraphConfig) -> EdgeList:
    """Read a Parquet file at `path`; error messages name it `file`."""
    with reading(file):
        parquet = open_file(path, file, graph.limits)
        check_count(file, parquet.metadata.num_columns, graph.limits)
        schema = parquet.schema_arrow
        columns = choose(file, schema.names, graph.columns)
        names = [*columns.names.values()]
        chosen = edge_columns(file, schema, columns, graph)
        _check_size(file, path.stat().st_size, parquet.metadata, schema, names, graph)
        footer = Footer(path, parquet.schema, names, graph.limits)
    metadata = parquet.metadata
    small = all(metadata.row_group(number).num_rows <= LARGEST_GROUP for number in range(metadata.num_row_groups))
    as_used = all(kind == plain_type(kind) for kind in (schema.field(name).type for name in names))
    rejects = Rejects(word="row")
    edges = EdgeList(
        _tables(path, parquet, file, chosen, footer, rejects), chosen.weight, rows=metadata.num_rows,
        largest={role: footer.largest[name] for role, name in chosen.names.items() if name in footer.largest},
        columns=columns, rejects=rejects, named=chosen.ids == NAME, rereadable=small and as_used and chosen.ids != NAME,
        order=chosen.order, for_gpu=_for_gpu(path, parquet, chosen, footer),
    )  # fmt: skip
    return as_arcs(with_times(edges, graph))


def is_parquet(path: Path, file: str) -> bool:
    """Whether the file at `path` begins as a Parquet file does. Raises BadInput if it is encrypted."""
    with path.open("rb") as content:
        return begins_parquet(content.read(HEAD), file)


def begins_parquet(head: bytes, file: str) -> bool:
    """Whether these HEAD bytes are the first ones of a Parquet file. Raises BadInput if it is encrypted."""
    if head.startswith(ENCRYPTED_MAGIC) and b"\0" in head:  # not a text whose first word is PARENT
        raise BadInput(file, ENCRYPTED)
    return FORMAT.matches(head)


def _check_size(file: str, size: int, metadata: pq.FileMetaData, schema: pa.Schema, names: list[str], graph: GraphConfig) -> None:
    limits = graph.limits
    if metadata.num_rows > limits.edges:
        raise BadInput(file, f"holds {metadata.num_rows} rows, the limit is {limits.edges} edges (graph.limits.edges)")
    expanded = metadata.num_rows * sum(width_of(schema.field(name).type) for name in names)
    if expanded > limits.bytes:
        raise BadInput(file, f"its rows take {expanded} bytes, the limit is {limits.bytes} (graph.limits.bytes)")
    require_ratio(file, size, expanded, limits)


def require_ratio(file: str, size: int, expanded: int, limits: Limits) -> None:
    """Raise BadInput if the rows take too many times the `size` of the file; a few bytes can declare any number."""
    if expanded > RATIO_FROM and expanded > limits.ratio * size:
        times = f"more than {limits.ratio:g} times the file's {size}"
        raise BadInput(file, f"its rows take {expanded} bytes, {times}, the limit (graph.limits.ratio)")


def width_of(kind: pa.DataType) -> int:
    """Bytes of a value, at least one; 8 for a string, which becomes a number, and for other values of varying size."""
    kind = plain_type(kind)
    try:
        return 8 if is_text(kind) else max(1, int(kind.bit_width) // 8)
    except ValueError:
        return 8


def _tables(
    path: Path, parquet: pq.ParquetFile, file: str, columns: EdgeColumns, footer: Footer, rejects: Rejects
) -> Iterator[pa.Table]:
    """Yield the rows: row groups on all cores, or small batches one after the other if a row group is large."""
    metadata, names = parquet.metadata, [*columns.names.values()]
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    firsts = accumulate(sizes[:-1], initial=0) if sizes else ()

    read_rows = columns.good if rejects.limit else columns.all

    def read_group(group: tuple[int, int]) -> tuple[int, int, pa.Table, list[Rejected]]:
        number, first = group
        with reading(file), pq.ParquetFile(path, metadata=metadata, pre_buffer=False, page_checksum_verification=True) as opened:
            footer.check_pages(number)  # here, because it holds the GIL, which decoding does not
            rows = opened.read_row_group(number, names, use_threads=False)
            return len(rows), _nulls(rows), *read_rows(rows, first)

    count, nulls = 0, 0
    with parquet, reading(file):
        if max(sizes, default=0) <= LARGEST_GROUP:
            for rows, nulls_in_group, table, rejected in map_in_order(read_group, enumerate(firsts), cores()):
                count, nulls = count + rows, nulls + nulls_in_group
                rejects.add(file, rejected, rows)
                yield table
        else:
            footer.check_all_pages()
            for batch in parquet.iter_batches(BATCH, columns=names):
                table, rejected = read_rows(batch, count)
                count, nulls = count + len(batch), nulls + _nulls(batch)
                rejects.add(file, rejected, len(batch))
                yield table
        check_rows(count, metadata.num_rows, footer.nulls, nulls)


def _for_gpu(path: Path, parquet: pq.ParquetFile, columns: EdgeColumns, footer: Footer) -> ColumnsForGpu | None:
    """The columns as a GPU decodes them, unless they are to be converted or have nulls."""
    metadata, types = parquet.metadata, {role: parquet.schema_arrow.field(name).type for role, name in columns.names.items()}
    if columns.names.keys() - {"src", "dst", "weight"} or {"src", "dst"} - columns.names.keys() or footer.nulls:
        return None
    rows = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    return ColumnsForGpu(path, footer, columns.names, types, rows)


def _nulls(rows: pa.Table | pa.RecordBatch) -> int:
    return sum(column.null_count for column in rows.columns)


def read_columns(path: Path, parquet: pq.ParquetFile, names: Sequence[str], limits: Limits) -> pa.Table:
    """All rows of some columns of an open file, of plain types. Raises Contradiction and Unreadable, or Arrow's errors."""
    footer = Footer(path, parquet.schema, names, limits)
    footer.check_all_pages()
    table = parquet.read([*names]).select([*names])
    table = pa.table({name: plain(table[name]) for name in names})
    check_rows(len(table), parquet.metadata.num_rows, footer.nulls, sum(column.null_count for column in table.columns))
    return table


@contextmanager
def reading(file: str) -> Iterator[None]:
    """Turn Arrow's errors about the content into BadInput; some of them are OSErrors without a number."""
    try:
        yield
    except Unreadable as error:
        raise BadInput(file, str(error)) from error
    except pa.ArrowNotImplementedError as error:
        raise BadInput(file, f"is written in a way that Arrow does not read: {error}") from error
    except (pa.ArrowException, Contradiction) as error:
        raise BadInput(file, f"{_DAMAGED}: {error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(file, f"has a column whose name is not UTF-8: {error.object[:40]!r}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise BadInput(file, f"{_DAMAGED}: {error}") from error


def _matches(head: bytes) -> bool:
    return head.startswith(MAGIC)


FORMAT = FileFormat(read, ("parquet",), _matches, frozenset({"columns", "ids"}), in_parts=True)
