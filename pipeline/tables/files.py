"""The published tables: how a table is written, and how it is read back."""

import json
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.algorithm import Column
from kernels.cpu.parallel import over_items
from kernels.registry import BY_NAME
from kernels.spans import span
from pipeline.runtime.threads import BoundedThreads
from pipeline.store import edges
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.store.scratch import new_attempt
from pipeline.tables.definitions import (
    CUSTOM,
    LIST,
    MEASURED,
    PLACE,
    definition_of,
    geometry_of,
    has_seeds,
    other_column,
    with_followers,
)
from pipeline.tables.names import require_names, with_names
from pipeline.tables.points import GEOMETRY, metadata, sorted_coordinates, with_geometry

FILES = edges.FILES
ROWS_PER_GROUP = 1_000_000
ROWS_PER_FILE = 1_000_000  # a multiple of ROWS_PER_GROUP: what a core encodes, and what a worker writes again if it dies
Write = Callable[[int, Path, pa.Schema, Sequence[str], Iterable[pa.RecordBatch]], object]  # of a file, by its number
UNITS = b"units"  # in the metadata of a file: JSON, column to the unit that the graph states; absent if it states none


def table_of(step: str) -> str:
    """Name of the table that a step writes."""
    return BY_NAME[step].table_name if step in BY_NAME else step.removeprefix(CUSTOM)


def columns(table: str, dimensions: int = 0, schema: pa.Schema | None = None, seeded: bool = False) -> list[Column]:
    """The columns of a table, in their order; a table of labels has `dimensions`, a user's stage those of its `schema`."""
    once = [column for column in definition_of(table, schema, seeded) if not column.each]
    each = [column for column in definition_of(table) if column.each]
    return once + [replace(column, name=f"{column.name}_{number}") for number in range(dimensions) for column in each]


def schema(
    table: str, weight: str | None, dimensions: int = 0, measure: str | None = None, without: Container[str] = (),
    seeded: bool = False,
) -> pa.Schema:  # fmt: skip
    """Arrow schema of a table; weights have Arrow type `weight` (None: each is 1, an int64) and the stated unit `measure`.

    Columns `without` are not in it. A table with an answer for each seed is `seeded`.
    """
    described = [column for column in columns(table, dimensions, seeded=seeded) if column.name not in without]
    weight_type = pa.type_for_alias(weight or "int64")
    followed = {
        "weight": weight_type,
        "distance": pa.int64() if pa.types.is_integer(weight_type) else pa.float64(),
        "flow": pa.int64(),  # of weights that are floats, float64
        "zone": pa.string(),  # or the type of the column that names zones
        LIST: pa.list_(pa.field("element", pa.int64(), nullable=False)),
    }
    fields = (
        pa.field(column.name, followed.get(column.type) or pa.type_for_alias(column.type), nullable=column.nulls != "never")
        for column in described
    )
    measured = {column.name: measure for column in described if measure and column.type in MEASURED}
    return stating(of_fields(fields, geometry_of(table)), measured)


def stating(arrow: pa.Schema, units: Mapping[str, str]) -> pa.Schema:
    """A schema that also states the units of some columns."""
    if not units:
        return arrow
    stated = json.dumps({**units_of(arrow), **units}, ensure_ascii=False)
    return arrow.with_metadata({**(arrow.metadata or {}), UNITS: stated.encode()})


def units_of(arrow: pa.Schema) -> dict[str, str]:
    """The units that a schema states, by columns."""
    units: dict[str, str] = json.loads((arrow.metadata or {}).get(UNITS, b"{}"))
    return units


def of_fields(fields: Iterable[pa.Field], geometry: Sequence[str] = ("Point",)) -> pa.Schema:
    """The schema of a table with these columns; with a geometry, of types `geometry`, it has the metadata of GeoParquet."""
    columns = pa.schema(fields)
    return columns.with_metadata(metadata(geometry)) if GEOMETRY in columns.names else columns


def describe(table: str, types: pa.Schema, dimensions: int = 0, measure: str | None = None) -> list[dict[str, str]]:
    """The columns of a table for a manifest: name, Arrow type, unit and nulls.

    The unit is the one that `types` states; of weights and sums it is `measure`, if known.
    """
    known = with_followers(
        replace(column, unit=measure) if measure and column.type in MEASURED else column
        for column in columns(table, dimensions, types)
    )
    units = units_of(types)
    return [
        {"name": field.name, "type": str(field.type), "unit": units.get(field.name, column.unit), "nulls": column.nulls}
        for field in types
        for column in [known.get(field.name) or other_column(table, field)]
    ]


def write(folder: Path, table: str, weight: str | None, batches: Iterable[pa.RecordBatch], dimensions: int = 0) -> int:
    """Write sorted batches as a table of one file; return the number of rows."""
    return write_file(folder / file_name(0), table, weight, batches, dimensions)


def write_file(path: Path, table: str, weight: str | None, batches: Iterable[pa.RecordBatch], dimensions: int = 0) -> int:
    """As `write_rows`, with the schema and the order of a table."""
    return write_rows(path, schema(table, weight, dimensions), keys(table), batches)


def keys(table: str, present: Collection[str] = ()) -> list[str]:
    """The columns by which a table is sorted; of those that are `present`, also a seed, and the ids of places after vertices."""
    own = [column.name for column in definition_of(table, seeded=has_seeds(table, present)) if column.key]
    return [name for key in own for name in (key, f"{key}{PLACE}") if name == key or name in present]


def write_rows(path: Path | pa.NativeFile, arrow: pa.Schema, keys: Sequence[str], batches: Iterable[pa.RecordBatch]) -> int:
    """Write batches, sorted by the columns `keys`, as one Parquet file with page checksums; return the number of rows.

    `path` may also be an open file of Arrow.
    """
    words = [field.name for field in arrow if pa.types.is_string(field.type) and field.name != "id"]  # ids differ
    rows = 0
    written = pq.ParquetWriter(
        path, arrow, compression="zstd", use_dictionary=words, write_page_index=True, write_page_checksum=True,
        column_encoding=dict(_encoding(field) for field in arrow if field.name not in words),
        sorting_columns=[pq.SortingColumn(arrow.get_field_index(name)) for name in keys] or None,
    )  # fmt: skip
    with span("write rows", "write"), written as file:
        for batch in batches:
            file.write_batch(batch, ROWS_PER_GROUP)
            rows += batch.num_rows
    return rows


class Files:
    """Files of a table that one process encodes on several threads, under names that no other attempt has.

    Attributes:
        paths: Of the files begun, by their numbers in the table.
        rows: Of all of them.
    """

    def __init__(self, folder: Path, arrow: pa.Schema, keys: Sequence[str], threads: int, write: Write | None = None) -> None:
        """`arrow` and `keys` are those of `write_rows`; `write` may do the same as this by other means."""
        self.paths: dict[int, Path] = {}
        self.rows = 0
        self._folder, self._form, self._write = folder, (arrow, keys), write or (lambda _, *rows: write_rows(*rows))
        self._threads = BoundedThreads(threads, threads)
        self._begun: tuple[int, list[pa.RecordBatch]] | None = None

    def __enter__(self) -> "Files":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        with self._threads:
            if error is None:
                self._end()
                self._threads.finish()

    def begin(self, number: int) -> None:
        """Begin a file; the previous file is complete."""
        self._end()
        self.paths[number] = new_attempt(self._folder)
        self._begun = number, []

    def write(self, number: int, batch: pa.RecordBatch) -> None:
        """Append rows to file `number`, which is begun if it is new. A file is in memory until it is complete and encoded."""
        if number not in self.paths:
            self.begin(number)
        assert self._begun
        self._begun[1].append(batch)
        self.rows += batch.num_rows

    def _end(self) -> None:
        """Let a thread encode the file that was begun; wait for one if all threads are busy."""
        if self._begun:
            number, batches = self._begun
            self._threads.submit(self._write, number, self.paths[number], *self._form, batches)
            self._begun = None


def file_name(number: int) -> str:
    """Name of a file of a table, from 0 in the table's order."""
    return f"part-{number:05d}.parquet"


def published_names(table: Folder) -> dict[str, str]:
    """The names that a step's files have in a run, by their own names.

    Those of several files have a part of the step's digest, so that files of two runs are never taken for one table.
    """
    names = [name for name in table.manifest.files if fnmatch(name, FILES)]
    mark = f"-{table.digest[:16]}" if len(names) > 1 else ""
    return {name: f"{name.removesuffix('.parquet')}{mark}.parquet" for name in names}


def by_file(answers: int, num_vertices: int) -> list[range]:
    """The numbers of the answers in each file of a `bfs` or `sssp` table: as many whole answers as fit, at least one.

    An answer that does not fit has `files_of` files of its own. Without answers there is one file without rows.
    """
    fit = max(1, ROWS_PER_FILE // max(1, num_vertices))
    return [range(first, min(first + fit, answers)) for first in range(0, answers, fit)] or [range(0)]


def files_of(rows: int) -> int:
    """Number of files of an answer of `rows` rows: one, which several answers may share, or several of its own."""
    return max(1, -(-rows // ROWS_PER_FILE))


def groups_of(rows: int) -> int:
    """Number of row groups of an answer of `rows` rows: each answer begins a row group, because it is a batch of its own."""
    return -(-rows // ROWS_PER_GROUP)


def position_of(answer: int, rows: int, group: int) -> tuple[int, int]:
    """The file, and the row group in it, of row group `group` of an answer, by number; all answers have `rows` rows."""
    if rows > ROWS_PER_FILE:
        file, within = divmod(group, ROWS_PER_FILE // ROWS_PER_GROUP)
        return answer * files_of(rows) + file, within
    file, before = divmod(answer, ROWS_PER_FILE // max(1, rows))
    return file, before * groups_of(rows) + group


def files(folder: Path) -> list[Path]:
    """The Parquet files of a table, in its order."""
    return sorted(folder.glob(FILES))


def read(folder: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a table, or some of its columns, on all cores; page checksums are verified. Each row group becomes a chunk."""
    footers = {path: pq.read_metadata(path) for path in files(folder)}
    groups = [(path, group) for path, footer in footers.items() for group in range(max(1, footer.num_row_groups))]
    return _read_groups(groups, columns, footers)


def read_answer(files: Sequence[Path], answer: int, rows: int, columns: Sequence[str]) -> pa.Table:
    """Read columns of one of the answers in the files of a table as `read` does; each has `rows` rows, at least one."""
    positions = (position_of(answer, rows, group) for group in range(groups_of(rows)))
    groups = [(files[file], within) for file, within in positions]
    return _read_groups(groups, columns, {path: pq.read_metadata(path) for path in {path for path, _ in groups}})


def _read_groups(groups: Sequence[tuple[Path, int]], columns: Sequence[str] | None, footers: Mapping[Path, Any]) -> pa.Table:
    return pa.concat_tables(over_items(groups, lambda at: read_group(*at, columns, footers[at[0]]), parallel=len(groups) > 1))


def read_group(path: Path, group: int, columns: Sequence[str] | None, footer: Any = None) -> pa.Table:
    """Read a row group of a file, or no rows of a file without any; `footer` saves reading it again."""
    with span("read rows", "read"), pq.ParquetFile(path, metadata=footer, page_checksum_verification=True) as file:
        return file.read_row_groups([group] if file.num_row_groups else [], columns, use_threads=False)


def head(folder: Path, rows: int) -> pa.Table:
    """Read the first rows of a table, and no further."""
    with pq.ParquetFile(files(folder)[0], page_checksum_verification=True) as file:
        return pa.Table.from_batches([*islice(file.iter_batches(rows), 1)], file.schema_arrow)


def _encoding(field: pa.Field) -> tuple[str, str]:
    """The Parquet column of a field, and its encoding."""
    kind = field.type
    if pa.types.is_list(kind):
        return f"{field.name}.list.element", "DELTA_BINARY_PACKED" if pa.types.is_integer(kind.value_type) else "DELTA_BYTE_ARRAY"
    if pa.types.is_boolean(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return field.name, "PLAIN"  # DuckDB reads no other encoding of a decimal
    if pa.types.is_string(kind):
        return field.name, "DELTA_BYTE_ARRAY"
    return field.name, "DELTA_BINARY_PACKED" if pa.types.is_integer(kind) and kind.bit_width >= 32 else "BYTE_STREAM_SPLIT"


def write_coordinates(edges: Folder, above: Path, named: bool = False) -> Path | None:
    """Write table `above/coordinates` from an edge list, if `named` with names; return it, or None if it has no coordinates."""
    if (coordinates := sorted_coordinates(edges)) is None:
        return None
    (folder := above / "coordinates").mkdir()
    rows = with_geometry(coordinates).cast(schema(folder.name, None))
    if named and (names := open_names(edges)):
        rows = with_names(rows, ["vertex"], names)
        require_names(folder.name, rows, ["vertex"], names)
    write_rows(folder / file_name(0), rows.schema, keys(folder.name), rows.to_batches())
    return folder
