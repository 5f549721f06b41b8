"""The pages of a Parquet column: their headers are read, and compared with what the footer states, before a value is decoded.

Headers are Thrift's compact protocol; the numbers of the fields are those of https://github.com/apache/parquet-format
(parquet.thrift).
"""

import os
import re
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.ingest.formats.parquet.problems import Contradiction, Unreadable
from pipeline.ingest.formats.parquet.thrift import MALFORMED, read_integer, read_struct

MAGIC = b"PAR1"
STATISTICS = 12  # the field with the statistics of a column of a row group
NULLS, MAXIMUM = 3, 5  # the fields with the number of nulls and the largest value in it
_DATA, _DATA_V2 = 0, 3  # types of pages with rows
_CONTENT = {_DATA: 5, _DATA_V2: 8}  # the field with the counts of such a page: values in 1, rows in 3 of the second
# Physical types and the bytes of their values; 0: any number.
_WIDTHS = {
    0: ("BOOLEAN", 0), 1: ("INT32", 4), 2: ("INT64", 8), 3: ("INT96", 12), 4: ("FLOAT", 4), 5: ("DOUBLE", 8),
    6: ("BYTE_ARRAY", 0), 7: ("FIXED_LEN_BYTE_ARRAY", 0),
}  # fmt: skip
_EXTREMES = (1, 2, MAXIMUM, 6)  # fields of statistics with a minimum or a maximum
_PLAIN, _ENCODINGS = 0, {0, *range(2, 10)}  # 1 was never defined
_BYTES_PER_ROW, _BYTES_PER_PAGE = 16, 2**16  # at most; a plain value and its levels take less than 10
_BYTES_OF_TEXTS = 2**28  # of a page of texts, at most
_LZO = 3  # of the codecs
_CODECS = {0: "", 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_MOST_KINDS = 2**10  # of headers that are remembered; usual chunks have a few
_USUAL_HEADER = 2**7  # bytes; more than `_USUAL` has
_HEADER = 2**12  # bytes; more than the header of a page needs without statistics
_LONGEST_HEADER = 2**24  # bytes, with the longest texts as statistics: what Arrow reads
_EMPTY_PAGES = 2  # of a chunk: a dictionary, and a page without rows
_CHECKSUM = 4  # the field of a header with the CRC of the page's stored bytes
_VARINT = rb"[\x80-\xff]{0,4}+[\x00-\x7f]"
_NUMBER, _COUNT = rb"\x15(" + _VARINT + rb")", rb"\x15" + _VARINT
_VALUE = rb"(?:\x08.{8}|\x04.{4})"  # its length, and its bytes
_VALUES = _VALUE + rb"\x18" + _VALUE
_STATISTICS = (
    rb"\x1c(?:\x18" + _VALUES + rb")?(?:[\x16\x36]" + _VARINT + rb")?(?:[\x28\x58]" + _VALUES + rb")?[\x11\x12]{0,2}\x00"
)
# The header of a page of numbers as most programs write it: type, sizes, perhaps a checksum, and the number and encodings of its
# values with their statistics, or without. Reading it byte by byte takes twenty times as long.
_USUAL = re.compile(
    rb"\x15\x00" + 2 * _NUMBER + rb"(?:" + _NUMBER + rb"\x1c|\x2c)(" + 4 * _COUNT + rb")(?:" + _STATISTICS + rb")?\x00\x00",
    re.DOTALL,
)
_EACH_NUMBER = re.compile(_NUMBER, re.DOTALL)


@dataclass(frozen=True)
class Chunk:
    """A column of a row group: its values, its codec (0: none), its bytes, and where its first page with rows has to begin."""

    values: int
    codec: int
    start: int
    end: int
    data: int
    width: int  # bytes of a value; 0: any number
    texts: bool  # whether values have any number of bytes each
    optional: bool  # whether levels, which tell nulls, are before the values of a page
    nulls: int | None  # among the values; None if the footer does not state them

    @property
    def most(self) -> int:
        """Bytes of a page at most, expanded."""
        numbers = self.values * _BYTES_PER_ROW + _BYTES_PER_PAGE
        return numbers if self.width else max(numbers, _BYTES_OF_TEXTS)


def chunk_of(chunk: dict[int, Any], leaf: pq.ColumnSchema) -> Chunk:
    """Read the description of a column of a row group. Raises Contradiction if it is not of this column of this file."""
    meta = chunk[3]
    kind, width = _WIDTHS.get(meta[1], ("", 0))
    path = b".".join(meta[3]).decode()
    if 1 in chunk or (path, kind) != (leaf.path, leaf.physical_type):
        raise Contradiction(f"column {leaf.path!r} is {kind} {path!r} in a row group, or is in another file")
    if meta[4] == _LZO:
        raise Unreadable(f"column {leaf.path!r} is compressed with LZO, which Arrow does not read; write it with zstd")
    statistics = meta.get(STATISTICS, {})
    if width and any(len(statistics[field]) != width for field in _EXTREMES if field in statistics):
        raise Contradiction(f"column {leaf.path!r} has a minimum or maximum that is not {kind}")
    nulls = statistics.get(NULLS)
    if nulls is not None and nulls < 0:  # it would hide those of another column
        raise Contradiction(f"column {leaf.path!r} has {nulls} nulls")
    values, start = meta[5], min(meta[9], meta.get(11, 0) or meta[9])
    optional = leaf.max_definition_level > 0
    return Chunk(values, meta[4], start, start + meta[7], meta[9], width, kind == "BYTE_ARRAY", optional, nulls)


def count_pages(file: int, where: str, chunk: Chunk, rows: int, checksums: bool = False) -> int:
    """Number of pages of a column chunk. Raises Contradiction unless they have its rows, and fill its bytes.

    `checksums`: whether the bytes of pages that state a checksum must have it; Arrow checks it when it decodes them.

    Like Arrow, this reads from the dictionary on, if there is one, and does not need the offset of the first rows: DuckDB 0.9
    and 0.10 state one within the dictionary.
    """
    if chunk.values != rows:
        raise Contradiction(f"{where}: {chunk.values} values of {rows} rows")
    if not rows:
        return 0
    size = os.fstat(file).st_size
    if not len(MAGIC) <= chunk.start <= chunk.data < chunk.end <= size:
        raise Contradiction(f"{where}: is in bytes {chunk.start}..{chunk.end} of {size}")
    at = chunk.start
    values = pages = 0
    accepted = dict[tuple[bytes, ...], int]()  # rows of a page, by what decides in usual headers whether it is accepted
    while at < chunk.end:
        of_page, end = _read_page(file, at, where, chunk, checksums, accepted)
        values += of_page
        at = end
        pages += 1
        if len(accepted) > _MOST_KINDS:
            accepted.clear()
        if not of_page and pages > rows + _EMPTY_PAGES:
            break
    if values != rows or at != chunk.end:
        raise Contradiction(f"{where}: the footer has {rows} rows in bytes up to {chunk.end}, its pages {values} up to {at}")
    return pages


def _read_page(
    file: int, start: int, where: str, chunk: Chunk, checksums: bool, accepted: dict[tuple[bytes, ...], int]
) -> tuple[int, int]:
    """A page's number of rows, 0 unless it has data, and where it ends. Raises Contradiction and Unreadable.

    A page like one that was `accepted` takes half of the time, during which this thread holds the GIL.
    """
    try:
        match = _USUAL.match(os.pread(file, _USUAL_HEADER, start))
        like = (match.group(1, 4) if chunk.codec else match.group(1, 2, 4)) if match else ()
        if match and like in accepted and (stored := _number(match[2])) >= 0:
            checksum = None if match[3] is None else read_integer(match[3], 0, 32)[0]
            if checksums and checksum is not None:
                _check_sum(file, where, start, match.end(), stored, checksum)
            return accepted[like], start + match.end() + stored
        header, length = _read_header(file, start)
        kind, expanded, stored = header[1], header[2], header[3]
        content = header[_CONTENT[kind]] if kind in _CONTENT else {1: 0}
        values = content[1]
        if kind == _DATA_V2 and content[3] != values:
            raise ValueError
        if kind == _DATA and not {content[2], content[3], content[4]} <= _ENCODINGS:
            raise ValueError
        if expanded != stored and (chunk.codec == 0 or (kind == _DATA_V2 and not content.get(7, True))):
            raise ValueError  # the footer calls compressed bytes values
        if min(expanded, stored, values) < 0 or (chunk.width and expanded > chunk.most):
            raise ValueError
        if expanded > chunk.most:
            raise Unreadable(f"{where}: a page of texts takes {expanded} bytes, the limit is {chunk.most}")
        # Levels that are read as values, or values as levels. A page with levels and nulls may have as many bytes as values take.
        if kind == _DATA_V2 and values and (content[5] > 0) != chunk.optional:
            raise ValueError
        if kind == _DATA and chunk.width and content[2] == _PLAIN:
            bare = expanded == chunk.width * values
            if bare == chunk.optional and values and (chunk.nulls == 0 or not bare):
                raise ValueError
        if checksums and _CHECKSUM in header:
            _check_sum(file, where, start, length, stored, header[_CHECKSUM])
        accepted[like] = values
        return values, start + length + stored
    except MALFORMED:
        raise Contradiction(f"{where}: no valid page at byte {start}") from None


def _check_sum(file: int, where: str, start: int, length: int, stored: int, checksum: int) -> None:
    """Raise Contradiction unless the bytes of a page behind its header of this length have the checksum."""
    if zlib.crc32(os.pread(file, stored, start + length)) != checksum % 2**32:
        raise Contradiction(f"{where}: the page at byte {start} does not have its checksum")


def states_checksum(file: int, chunk: Chunk) -> bool:
    """Whether the first page of a column chunk states a checksum; not if there is no valid page."""
    with suppress(*MALFORMED):
        return _CHECKSUM in _read_header(file, chunk.start)[0]
    return False


def check_bare(file: int, where: str, chunk: Chunk) -> None:
    """Raise Contradiction unless texts without levels fill the first page of them; levels that are not stated are read as texts.

    `count_pages` has accepted the pages. One page is enough, because the schema says for all of them whether there are levels.
    """
    if chunk.width or chunk.optional or not chunk.texts:
        return
    at = chunk.start
    while at < chunk.end:
        header, length = _read_header(file, at)
        begin, at = at + length, at + length + header[3]
        if header[1] in _CONTENT and header[_CONTENT[header[1]]][1]:
            content = header[_CONTENT[header[1]]]
            if header[1] == _DATA and content[2] == _PLAIN and chunk.codec in _CODECS:
                stored = os.pread(file, header[3], begin)
                page = pa.Codec(_CODECS[chunk.codec]).decompress(stored, header[2], asbytes=True) if chunk.codec else stored
                end = 0
                for _ in range(content[1]):
                    end += 4 + int.from_bytes(page[end : end + 4], "little")
                if end != len(page):
                    raise Contradiction(f"{where}: its texts take {end} bytes of a page of {len(page)}")
            return


def _read_header(file: int, start: int) -> tuple[dict[int, Any], int]:
    data = os.pread(file, _HEADER, start)
    try:
        return _read_usual(data) or read_struct(data)
    except MALFORMED:
        return read_struct(_LongHeader(file, start))


def _read_usual(data: bytes) -> tuple[dict[int, Any], int] | None:
    """What `read_struct` returns, without statistics, if the header is a usual one."""
    if not (match := _USUAL.match(data)):
        return None
    expanded, stored, checksum, counts = match.groups()
    content = {field: _number(number) for field, number in enumerate(_EACH_NUMBER.findall(counts), 1)}
    header = {1: _DATA, 2: _number(expanded), 3: _number(stored), 5: content}
    if checksum is not None:
        header[_CHECKSUM] = read_integer(checksum, 0, 32)[0]
    return header, match.end()


@lru_cache(2**14)
def _number(value: bytes) -> int:
    """A number of a header; pages of a file have the same ones again and again."""
    return read_integer(value, 0, 32)[0]


class _LongHeader(Sequence[int]):
    """The bytes of a header that is long because of texts; its other bytes are few, or the header is forged."""

    def __init__(self, file: int, start: int) -> None:
        self._file, self._start, self._left = file, start, _HEADER
        self._window, self._first = b"", 0
        self._size = min(os.fstat(file).st_size - start, _LONGEST_HEADER)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:
        """A byte, or the bytes of a text. Raises IndexError behind the longest header, and after too many single bytes."""
        if isinstance(at, slice):
            return os.pread(self._file, at.stop - at.start, self._start + at.start)
        self._left -= 1
        if not self._left or at >= self._size:
            raise IndexError
        if not self._first <= at < self._first + len(self._window):
            self._window, self._first = os.pread(self._file, _HEADER, self._start + at), at
        return self._window[at - self._first]
