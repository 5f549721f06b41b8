"""Two versions of a sorted table, read together: in ranges of keys for all cores, each block by block.

Memory holds a row group or two of each version for each core, and does not grow with the tables.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.graph import Array
from kernels.spans import span
from pipeline.comparison.values import whole
from pipeline.comparison.versions import Version
from pipeline.errors import Damaged
from pipeline.tables import files as tables
from pipeline.tables.changes import ROW

# Rows of a block: a row group. After each of the hundred operations on a block a thread may wait for the GIL; with
# four times as many blocks, 16 threads waited for most of the time.
ROWS = 2**20
Key = tuple[Any, ...] | None  # None: beyond all keys


@dataclass(frozen=True)
class _RowGroup:
    """A row group of a file, and the rows of the table before it."""

    path: Path
    number: int
    rows: int
    before: int


class VersionReader:
    """A version of a table, of which some columns are read."""

    def __init__(self, version: Version, columns: list[str], keys: list[str], numbers: Mapping[str, Array] | None = None) -> None:
        """`numbers` replace the values of columns of vertices: each value by the number at its place, in the same order."""
        self.keys, self._columns, self._numbers, self._version = keys, columns, numbers or {}, version
        self.groups: list[_RowGroup] = []
        self.rows = 0
        for path, footer in version.footers.items():
            for number in range(footer.num_row_groups):
                rows = footer.row_group(number).num_rows
                self.groups.append(_RowGroup(path, number, rows, self.rows))
                self.rows += rows
        self._first: dict[int, tuple[Any, ...]] = {}
        self._uses = Counter[int]()  # how many ranges still have to read a row group that several have in common
        self._held = dict[int, pa.Table]()
        self._locks = [Lock() for _ in self.groups]

    def empty(self) -> pa.Table:
        """A block without rows."""
        table = self._version.schema.empty_table().select(self._columns) if self._version.files else pa.table({})
        return table.append_column(ROW, pa.array([], pa.int64())) if self.keys == [ROW] else table

    def first(self, group: int) -> tuple[Any, ...]:
        """The key of the first row of a row group, by number."""
        if group not in self._first:
            self._first[group] = self._smallest(self.groups[group]) or self._read_first(self.groups[group])
        return self._first[group]

    def _smallest(self, group: _RowGroup) -> Key:
        """The first key by the statistics of a row group; None if they do not state it."""
        about = self._version.footers[group.path].row_group(group.number)
        columns = {column.path_in_schema: column.statistics for column in map(about.column, range(about.num_columns))}
        smallest = list[Any]()
        for key in self.keys:  # a column ascends within a row group where all keys before it are the same
            stated = columns.get(key)
            if not (stated and stated.has_min_max) or key in self._numbers:
                return None
            smallest.append(stated.min)
            if stated.min != stated.max and len(smallest) < len(self.keys):
                return None
        return tuple(smallest)

    def _read_first(self, group: _RowGroup) -> tuple[Any, ...]:
        with self._opened(group) as file:
            columns = [key for key in self.keys if key != ROW]
            first = next(file.iter_batches(1, row_groups=[group.number], columns=columns, use_threads=False))
            rows = self._completed(pa.Table.from_batches([first]), group.before)
        return tuple(rows[key][0].as_py() for key in self.keys)

    def between(self, begin: Key, end: Key) -> Iterator[pa.Table]:
        """The rows from key `begin` up to and without `end`, row group by row group."""
        for number in self._within(begin, end):
            rows = self._rows(number)
            last = below(rows, self.keys, end)[0] if end else len(rows)
            first = below(rows, self.keys, begin)[0] if begin else 0
            if first < last:
                yield rows[first:last]
            if last < len(rows):
                return

    def share(self, ranges: Sequence[tuple[Key, Key]]) -> None:
        """Decode a row group once if several of these ranges, of which each will be read once, have it in common."""
        self._uses = Counter(number for keys in ranges for number in self._within(*keys))

    def _within(self, begin: Key, end: Key) -> range:
        """The row groups with keys from `begin` up to and without `end`."""
        numbers = range(len(self.groups))
        low = max(bisect_right(numbers, begin, key=self.first) - 1, 0) if begin else 0
        return numbers[low : bisect_left(numbers, end, key=self.first) if end else len(self.groups)]

    def _rows(self, number: int) -> pa.Table:
        """The rows of a row group, which is held until all ranges that share it have them."""
        group = self.groups[number]
        with self._locks[number]:
            rows = self._held.pop(number, None)
            if rows is None:
                with span("read rows", "read"), self._opened(group) as file:
                    read = file.read_row_group(group.number, self._columns, use_threads=False)
                rows = self._completed(read, group.before)
            self._uses[number] -= 1
            if self._uses[number] > 0:
                self._held[number] = rows
        return rows

    @contextmanager
    def _opened(self, group: _RowGroup) -> Iterator[pq.ParquetFile]:
        """The file of a row group. Raises Damaged if it cannot be read."""
        try:
            footer = self._version.footers[group.path]
            with pq.ParquetFile(group.path, metadata=footer, page_checksum_verification=True) as file:
                yield file
        except (OSError, pa.ArrowException) as error:
            raise Damaged(f"{group.path}: {error}") from None

    def _completed(self, rows: pa.Table, before: int) -> pa.Table:
        """Rows, before which the table has others, with the column `ROW` if it is the key, and with other numbers of vertices."""
        if self.keys == [ROW]:
            rows = rows.append_column(ROW, pa.array(np.arange(before, before + len(rows))))
        for position, name in enumerate(rows.schema.names):
            if name in self._numbers:
                rows = rows.set_column(position, name, _renumbered(rows[name].combine_chunks(), self._numbers[name]))
        return rows


def below(table: pa.Table, keys: list[str], limit: tuple[Any, ...]) -> tuple[int, int]:
    """The number of rows of a sorted table below a key, and of those up to and including it."""
    begin, end = 0, len(table)
    for key, value in zip(keys, limit, strict=True):  # the rows from `begin` to `end` equal it in all keys before
        values = whole(table[key]).to_numpy(zero_copy_only=False)[begin:end]
        begin, end = begin + int(np.searchsorted(values, value)), begin + int(np.searchsorted(values, value, "right"))
    return begin, end


def ranges(old: VersionReader, new: VersionReader) -> list[tuple[Key, Key]]:
    """Ranges of keys that cover both versions, each of about as many rows as a row group has."""
    longer = max((new, old), key=lambda side: side.rows)
    cuts: list[Key] = [None]
    rows = 0
    for number, group in enumerate(longer.groups):
        if rows >= tables.ROWS_PER_GROUP:
            cuts.append(longer.first(number))
            rows = 0
        rows += group.rows
    return [*pairwise([*cuts, None])]


def aligned(sides: Sequence[VersionReader], begin: Key = None, end: Key = None) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Pairs of blocks of up to `ROWS` rows of both versions in a range; both blocks of a pair have the same range of keys."""
    keys, read = sides[0].keys, [side.between(begin, end) for side in sides]
    held = [side.empty() for side in sides]
    while True:
        held = [rows if len(rows) else next(blocks, rows) for rows, blocks in zip(held, read, strict=True)]
        present = [rows for rows in held if len(rows)]
        if not present:
            return
        limit = min(tuple(rows[key][min(ROWS, len(rows)) - 1].as_py() for key in keys) for rows in present)
        ends = [below(rows, keys, limit)[1] if len(rows) else 0 for rows in held]
        yield held[0][: ends[0]], held[1][: ends[1]]
        held = [rows[end:] for rows, end in zip(held, ends, strict=True)]


def _renumbered(column: pa.Array, numbers: Array) -> pa.Array:
    """The numbers at the places in a column, or in its lists. A null, or a missing place, becomes null."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_list(column.type):
        return pa.ListArray.from_arrays(column.offsets, _renumbered(column.values, numbers))
    return pc.take(pa.array(numbers), pc.if_else(pc.less(column, 0), pa.scalar(None, column.type), column))
