"""Check a Parquet file's footer against the pages that it describes, before a value is decoded.

A footer is a claim: Arrow allocates and reads what it states, and ignores pages beyond it. The headers of the pages are Thrift's
compact protocol: https://github.com/apache/parquet-format (parquet.thrift),
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipeline.config.graph import Limits
from pipeline.errors import BadInput

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")  # length of the footer, magic
_FOOTER_SHARE = 100  # a footer may take this fraction of a large file
_DATA, _DATA_V2 = 0, 3  # types of pages with rows
_CONTENT = {_DATA: 5, _DATA_V2: 8}  # the field with the counts of such a page: values in 1, rows in 3 of the second
_BYTES_PER_ROW, _BYTES_PER_PAGE = 16, 2**16  # at most; a plain value and its levels take less than 10
_ROWS_PER_PAGE = 64  # that an allowed page has on average, beyond Limits.frames
_EMPTY_PAGES = 2  # of a chunk: a dictionary, and a page without rows
_MOST_NESTED = 8
_TRUE, _FALSE, _BYTE, _NUMBERS, _DOUBLE, _BYTES, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, 12  # types of fields


class Contradiction(ValueError):
    """A footer that its file does not bear out."""


def open_file(path: Path, file: str, limits: Limits, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file whose footer is within the limits. Raises BadInput, or Arrow's errors."""
    size = path.stat().st_size
    with path.open("rb") as content:
        content.seek(max(0, size - _TAIL.size))
        tail = content.read()
    length, magic = _TAIL.unpack(tail) if len(tail) == _TAIL.size else (0, b"")
    if magic == _MAGIC and length > max(limits.header, size // _FOOTER_SHARE):
        raise BadInput(file, f"its footer has {length} bytes, the limit is {limits.header} (graph.limits.header)")
    return pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True, **options)


def check_pages(path: Path, metadata: pq.FileMetaData, names: Sequence[str], limits: Limits) -> None:
    """Raise Contradiction unless rows, values and pages of these columns agree in all row groups, and pages are not tiny."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    if rows != metadata.num_rows:
        raise Contradiction(f"its footer has {metadata.num_rows} rows, but its row groups have {rows}")
    leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    places = [place for place, leaf in enumerate(leaves) if leaf.path in names]
    if len(places) != len(names) or any(leaves[place].max_repetition_level for place in places):
        raise Contradiction(f"columns {', '.join(map(repr, names))} are nested or ambiguous")
    pages = 0
    with path.open("rb") as content, mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for number, group in enumerate(groups):
            for place in places:
                chunk, leaf = group.column(place), leaves[place]
                where = f"row group {number}, column {leaf.path!r}"
                if (chunk.path_in_schema, chunk.physical_type, chunk.file_path) != (leaf.path, leaf.physical_type, ""):
                    raise Contradiction(f"{where}: is {chunk.physical_type} {chunk.path_in_schema!r} of file {chunk.file_path!r}")
                pages += _count_pages(data, where, chunk, group.num_rows)
                if pages > limits.frames and pages * _ROWS_PER_PAGE > rows:
                    many = f"{limits.frames} pages, of under {_ROWS_PER_PAGE} rows on average"
                    raise Contradiction(f"has more than {many}, the limit (graph.limits.frames)")


def _count_pages(data: mmap.mmap, where: str, chunk: pq.ColumnChunkMetaData, rows: int) -> int:
    """Number of pages of a column chunk. Raises Contradiction unless they have its rows, and fill its bytes."""
    if chunk.num_values != rows:
        raise Contradiction(f"{where}: {chunk.num_values} values of {rows} rows")
    if not rows:
        return 0
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    end = start + chunk.total_compressed_size
    if not len(_MAGIC) <= start <= end <= len(data):
        raise Contradiction(f"{where}: is in bytes {start}..{end} of {len(data)}")
    values = pages = 0
    begins = False  # whether the first rows are at the offset that the footer states
    while start < end:
        page = _read_page(data, start, where, rows)
        begins |= start == chunk.data_page_offset and not values
        values += page.values
        start = page.end
        pages += 1
        if not page.values and pages > rows + _EMPTY_PAGES:
            break
    if values != rows or start != end or not begins:
        raise Contradiction(f"{where}: the footer has {rows} rows in bytes up to {end}, its pages {values} up to {start}")
    return pages


def check_rows(found: int, stated: int) -> None:
    """Raise Contradiction if another number of rows was read than the footer states."""
    if found != stated:
        raise Contradiction(f"{found} rows were read, the footer states {stated}")


@dataclass(frozen=True)
class _Page:
    """A page's number of rows, which is 0 unless it has data, and where it ends in the file."""

    values: int
    end: int


def _read_page(data: mmap.mmap, start: int, where: str, rows: int) -> _Page:
    reader = _Compact(data, start)
    try:
        header = reader.read_struct()
        kind, expanded, stored = (header[field] for field in (1, 2, 3))
        values = header[_CONTENT[kind]][1] if kind in _CONTENT else 0
        if kind == _DATA_V2 and header[_CONTENT[kind]][3] != values:
            raise ValueError
        if min(expanded, stored, values) < 0 or expanded > _BYTES_PER_ROW * rows + _BYTES_PER_PAGE:
            raise ValueError
        return _Page(values, reader.at + stored)
    except (KeyError, IndexError, TypeError, ValueError, struct.error):
        raise Contradiction(f"{where}: no valid page at byte {start}") from None


class _Compact:
    """Thrift's compact protocol, of which page headers use structs of numbers, booleans, bytes and lists."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self.at = at
        self._data = data

    def read_struct(self, depth: int = 0) -> dict[int, Any]:
        """Fields by number."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MOST_NESTED:
            raise ValueError
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _NUMBERS:
            return self._integer()
        if kind == _STRUCT:
            return self.read_struct(depth + 1)
        sizes = {_BYTE: 1, _DOUBLE: 8}
        skipped = sizes[kind] if kind != _BYTES else self._varint()
        self.at += skipped
        return None

    def _byte(self) -> int:
        value: int = self._data[self.at]
        self.at += 1
        return value

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
