"""Check a Parquet file's footer against the pages that it describes, before a value is decoded.

A footer is a claim: Arrow allocates and reads what it states, and ignores pages beyond it. The headers of the pages are Thrift's
compact protocol; the numbers of the fields are those of https://github.com/apache/parquet-format (parquet.thrift).
"""

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow.parquet as pq

from pipeline.config.graph import Limits
from pipeline.errors import BadInput
from pipeline.ingest.formats.thrift import MALFORMED, read_struct

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")  # length of the footer, magic
_FOOTER_SHARE = 100  # a footer may take this fraction of a large file
_DATA, _DATA_V2 = 0, 3  # types of pages with rows
_CONTENT = {_DATA: 5, _DATA_V2: 8}  # the field with the counts of such a page: values in 1, rows in 3 of the second
# Physical types and the bytes of their values; 0: any number.
_WIDTHS = {
    0: ("BOOLEAN", 0), 1: ("INT32", 4), 2: ("INT64", 8), 3: ("INT96", 12), 4: ("FLOAT", 4), 5: ("DOUBLE", 8),
    6: ("BYTE_ARRAY", 0), 7: ("FIXED_LEN_BYTE_ARRAY", 0),
}  # fmt: skip
_CONVERTED = {
    "UTF8": 0, "ENUM": 4, "DECIMAL": 5, "DATE": 6, "TIME_MILLIS": 7, "TIME_MICROS": 8, "TIMESTAMP_MILLIS": 9,
    "TIMESTAMP_MICROS": 10, "UINT_8": 11, "UINT_16": 12, "UINT_32": 13, "UINT_64": 14, "INT_8": 15, "INT_16": 16, "INT_32": 17,
    "INT_64": 18, "JSON": 19,
}  # fmt: skip
_OF_VALUES = 12  # the field with the statistics of a column of a row group
_NULLS, _MAXIMUM = 3, 5  # the fields with the number of nulls and the largest value in it
_STATISTICS = (1, 2, _MAXIMUM, 6)  # fields with a minimum or a maximum
_PLAIN, _ENCODINGS = 0, {0, *range(2, 10)}  # 1 was never defined
_BYTES_PER_ROW, _BYTES_PER_PAGE = 16, 2**16  # at most; a plain value and its levels take less than 10
_TEXT_PER_ROW = 2**12  # bytes of an id that is a string on average, at most
_TEXT_PER_PAGE = 2**28  # of other strings, at most
_HEADER = 2**12  # bytes; more than the header of a page of numbers needs
_ROWS_PER_PAGE = 64  # that an allowed page has on average, beyond Limits.frames
_EMPTY_PAGES = 2  # of a chunk: a dictionary, and a page without rows


class Contradiction(ValueError):
    """A footer that contradicts its file."""


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


class Footer:
    """The footer of a Parquet file, whose description of some columns is consistent.

    The footer is read here once more, because Arrow ends the process for some that are malformed. Thread-safe.
    """

    nulls: int  # that it states for these columns
    largest: dict[str, int]  # the largest value that it states of each column of integers, if all row groups state one

    def __init__(
        self, path: Path, schema: pq.ParquetSchema, names: Sequence[str], limits: Limits, nullable: bool = False
    ) -> None:
        """Raises Contradiction. `nullable`: the columns may have nulls, and strings of any length."""
        leaves = [schema.column(number) for number in range(len(schema))]
        columns = {place: leaf for place, leaf in enumerate(leaves) if leaf.path in names}
        if len(columns) != len(names) or any(leaf.max_repetition_level for leaf in columns.values()):
            raise Contradiction(f"columns {', '.join(map(repr, names))} are nested or ambiguous")
        self._path, self._limits, self._pages, self._lock = path, limits, 0, Lock()
        self._nullable = nullable
        with path.open("rb") as content:  # not mapped, because a file that is truncated meanwhile would end the process
            file = content.fileno()
            end = os.fstat(file).st_size - _TAIL.size
            try:
                (length, _) = _TAIL.unpack(os.pread(file, _TAIL.size, max(end, 0)))
                footer, _ = read_struct(os.pread(file, length, max(end - length, 0)))
                self._read(footer, columns)
            except Contradiction:
                raise
            except (*MALFORMED, struct.error):
                raise Contradiction("its footer is malformed") from None

    def _read(self, footer: dict[int, Any], columns: dict[int, pq.ColumnSchema]) -> None:
        """Raises Contradiction, or one of MALFORMED if the footer lacks a field."""
        self._total, groups = footer[3], footer[4]
        self._rows = [group[3] for group in groups]
        if sum(self._rows) != self._total or min(self._rows, default=0) < 0:
            raise Contradiction(f"its footer has {self._total} rows, but its row groups have {sum(self._rows)}")
        types = [element.get(6) for element in footer[2] if not element.get(5)]
        self._chunks: list[dict[str, _Chunk]] = [{} for _ in groups]
        self.nulls, self.largest = 0, {}
        for place, leaf in columns.items():
            if types[place] not in (None, _CONVERTED.get(leaf.converted_type)):
                raise Contradiction(f"column {leaf.path!r} has two types")
            for chunks, group in zip(self._chunks, groups, strict=True):
                chunks[leaf.path] = _chunk(group[1][place], leaf, self._nullable)
                self.nulls += group[1][place][3].get(_OF_VALUES, {}).get(_NULLS, 0)
            if leaf.physical_type.startswith("INT"):
                signed = not leaf.converted_type.startswith("U")
                maxima = [group[1][place][3].get(_OF_VALUES, {}).get(_MAXIMUM) for group in groups if group[3]]
                if None not in maxima:
                    values = (int.from_bytes(maximum, "little", signed=signed) for maximum in maxima)
                    self.largest[leaf.path] = max(values, default=0)

    def check_pages(self, number: int) -> None:
        """Raise Contradiction unless rows, values and pages of the columns agree in a row group, and pages are not tiny."""
        with self._path.open("rb") as content:
            for name, chunk in self._chunks[number].items():
                where = f"row group {number}, column {name!r}"
                pages = _count_pages(content.fileno(), where, chunk, self._rows[number])
                with self._lock:
                    self._pages += pages
                    if self._pages > self._limits.frames and self._pages * _ROWS_PER_PAGE > self._total:
                        many = f"{self._limits.frames} pages, of under {_ROWS_PER_PAGE} rows on average"
                        raise Contradiction(f"has more than {many}, the limit (graph.limits.frames)")

    def check_all_pages(self) -> None:
        """`check_pages` of every row group."""
        for number in range(len(self._rows)):
            self.check_pages(number)


def check_rows(found: int, stated: int, stated_nulls: int, nulls: int = 0) -> None:
    """Raise Contradiction if another number of rows, or fewer nulls, were read than the footer states."""
    if found != stated or nulls < stated_nulls:
        raise Contradiction(f"{found} rows with {nulls} nulls were read, the footer states {stated} with {stated_nulls}")


@dataclass(frozen=True)
class _Chunk:
    """A column of a row group: its values, its codec (0: none), its bytes, and where its first page with rows begins."""

    values: int
    codec: int
    start: int
    end: int
    data: int
    width: int  # bytes of a value; 0: any number
    most: int  # bytes of a page, expanded
    optional: bool  # whether levels, which tell nulls, are before the values of a page
    nulls: int | None  # among the values; None if the footer does not state them, and there may be some


def _chunk(chunk: dict[int, Any], leaf: pq.ColumnSchema, nullable: bool) -> _Chunk:
    """Read the description of a column of a row group. Raises Contradiction if it does not describe this column of this file."""
    meta = chunk[3]
    kind, width = _WIDTHS.get(meta[1], ("", 0))
    path = b".".join(meta[3]).decode()
    if 1 in chunk or (path, kind) != (leaf.path, leaf.physical_type):
        raise Contradiction(f"column {leaf.path!r} is {kind} {path!r} in a row group, or is in another file")
    statistics = meta.get(_OF_VALUES, {})
    if width and any(len(statistics[field]) != width for field in _STATISTICS if field in statistics):
        raise Contradiction(f"column {leaf.path!r} has a minimum or maximum that is not {kind}")
    nulls = statistics.get(_NULLS)
    if nulls is not None and nulls < 0:  # it would hide those of another column
        raise Contradiction(f"column {leaf.path!r} has {nulls} nulls")
    values, start = meta[5], min(meta[9], meta.get(11, 0) or meta[9])
    most = values * (_BYTES_PER_ROW if width else _TEXT_PER_ROW) + _BYTES_PER_PAGE
    if nullable and not width:
        most = max(most, _TEXT_PER_PAGE)
    optional = leaf.max_definition_level > 0
    return _Chunk(values, meta[4], start, start + meta[7], meta[9], width, most, optional, nulls if nullable else 0)


def _count_pages(file: int, where: str, chunk: _Chunk, rows: int) -> int:
    """Number of pages of a column chunk. Raises Contradiction unless they have its rows, and fill its bytes."""
    if chunk.values != rows:
        raise Contradiction(f"{where}: {chunk.values} values of {rows} rows")
    if not rows:
        return 0
    size = os.fstat(file).st_size
    if not len(_MAGIC) <= chunk.start <= chunk.end <= size:
        raise Contradiction(f"{where}: is in bytes {chunk.start}..{chunk.end} of {size}")
    at = chunk.start
    values = pages = 0
    begins = False  # whether the first rows are at the offset that the footer states
    while at < chunk.end:
        found, end = _read_page(file, at, where, chunk)
        begins |= at == chunk.data and not values
        values += found
        at = end
        pages += 1
        if not found and pages > rows + _EMPTY_PAGES:
            break
    if values != rows or at != chunk.end or not begins:
        raise Contradiction(f"{where}: the footer has {rows} rows in bytes up to {chunk.end}, its pages {values} up to {at}")
    return pages


def _read_page(file: int, start: int, where: str, chunk: _Chunk) -> tuple[int, int]:
    """A page's number of rows, 0 unless it has data, and where it ends. Raises Contradiction."""
    try:
        header, length = read_struct(os.pread(file, _HEADER, start))
        kind, expanded, stored = (header[field] for field in (1, 2, 3))
        content = header[_CONTENT[kind]] if kind in _CONTENT else {1: 0}
        values = content[1]
        if kind == _DATA_V2 and content[3] != values:
            raise ValueError
        if kind == _DATA and not all(content[field] in _ENCODINGS for field in (2, 3, 4)):
            raise ValueError
        if expanded != stored and (chunk.codec == 0 or (kind == _DATA_V2 and not content.get(7, True))):
            raise ValueError  # the footer calls compressed bytes values
        if min(expanded, stored, values) < 0 or expanded > chunk.most:
            raise ValueError
        # Levels that are read as values, or values as levels. A page with levels and nulls may have as many bytes as values take.
        if kind == _DATA_V2 and (content[5] > 0) != chunk.optional:
            raise ValueError
        if kind == _DATA and chunk.width and content[2] == _PLAIN:
            bare = expanded == chunk.width * values
            if bare == chunk.optional and (chunk.nulls == 0 or not bare):
                raise ValueError
        return values, start + length + stored
    except MALFORMED:
        raise Contradiction(f"{where}: no valid page at byte {start}") from None
