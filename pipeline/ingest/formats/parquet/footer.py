"""Check a Parquet file's footer against the pages that it describes, before a value is decoded.

A footer is a claim: Arrow allocates and reads what it states, and ignores pages beyond it. The headers of the pages are Thrift's
compact protocol; the numbers of the fields are those of https://github.com/apache/parquet-format (parquet.thrift).
"""

import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.graph import Limits
from pipeline.errors import BadInput
from pipeline.ingest.formats.parquet.pages import (
    MAGIC,
    MAXIMUM,
    NULLS,
    STATISTICS,
    Chunk,
    check_bare,
    chunk_of,
    count_pages,
    states_checksum,
)
from pipeline.ingest.formats.parquet.problems import Contradiction, Unreadable
from pipeline.ingest.formats.parquet.schema import ENCRYPTED, check_names, check_plain, columns_of
from pipeline.ingest.formats.parquet.thrift import MALFORMED, read_struct

ENCRYPTED_MAGIC = b"PARE"  # in the place of the magic, if the footer is encrypted
_TAIL = struct.Struct("<I4s")  # length of the footer, magic
_FOOTER_SHARE = 100  # a footer may take this fraction of a large file
_ROWS_PER_PAGE = 64  # that an allowed page has on average, beyond Limits.frames


def open_file(path: Path, file: str, limits: Limits, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file whose footer is within the limits. Raises BadInput, or Arrow's errors."""
    size = path.stat().st_size
    with path.open("rb") as content:
        content.seek(max(0, size - _TAIL.size))
        tail = content.read()
    length, magic = _TAIL.unpack(tail) if len(tail) == _TAIL.size else (0, b"")
    if magic == ENCRYPTED_MAGIC:
        raise BadInput(file, ENCRYPTED)
    if magic == MAGIC and length > max(limits.header, size // _FOOTER_SHARE):
        raise BadInput(file, f"its footer has {length} bytes, the limit is {limits.header} (graph.limits.header)")
    try:
        return pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True, **options)
    except (OSError, pa.ArrowException):
        if magic == MAGIC:
            with suppress(*MALFORMED, struct.error):
                check_plain(_footer_of(path))
        raise


def _footer_of(path: Path) -> dict[int, Any]:
    """The fields of a footer. Raises one of MALFORMED, or struct.error."""
    with path.open("rb") as content:  # not mapped, because a file that is truncated meanwhile would end the process
        file = content.fileno()
        end = os.fstat(file).st_size - _TAIL.size
        (length, _) = _TAIL.unpack(os.pread(file, _TAIL.size, max(end, 0)))
        return read_struct(os.pread(file, length, max(end - length, 0)))[0]


class Footer:
    """The footer of a Parquet file, whose description of some columns is consistent.

    The footer is read here once more, because Arrow ends the process for some that are malformed. Thread-safe.
    """

    nulls: int  # that it states for these columns
    largest: dict[str, int]  # the largest value that it states of each column of integers, if all row groups state one

    def __init__(self, path: Path, schema: pq.ParquetSchema, names: Sequence[str], limits: Limits) -> None:
        """Raises Contradiction and Unreadable."""
        leaves = [schema.column(number) for number in range(len(schema))]
        columns = {position: leaf for position, leaf in enumerate(leaves) if leaf.path in names}
        if len(columns) != len(names) or any(leaf.max_repetition_level for leaf in columns.values()):
            raise Unreadable(f"columns {', '.join(map(repr, names))[:200]} are nested or ambiguous; rename them")
        self._path, self._limits, self._pages, self._lock = path, limits, 0, Lock()
        self._counted = set[tuple[int, str]]()  # row groups and columns whose pages are among these
        try:
            footer = _footer_of(path)
            self._read(footer, columns)
        except (*MALFORMED, struct.error):
            raise Contradiction("its footer is malformed") from None

    def _read(self, footer: dict[int, Any], columns: dict[int, pq.ColumnSchema]) -> None:
        """Raises Contradiction, or one of MALFORMED if the footer lacks a field."""
        self._total, groups = footer[3], footer[4]
        self._rows = [group[3] for group in groups]
        if sum(self._rows) != self._total or min(self._rows, default=0) < 0:
            raise Contradiction(f"its footer has {self._total} rows, but its row groups have {sum(self._rows)}")
        check_plain(footer)
        of_footer = columns_of(footer)
        check_names(footer, of_footer)
        self._chunks: list[dict[str, Chunk]] = [{} for _ in groups]
        self.nulls, self.largest = 0, {}
        for position, leaf in columns.items():
            of_footer.leaves[position].check()
            for chunks, group in zip(self._chunks, groups, strict=True):
                chunks[leaf.path] = chunk_of(group[1][position], leaf)
                self.nulls += group[1][position][3].get(STATISTICS, {}).get(NULLS, 0)
            if leaf.physical_type.startswith("INT"):
                signed = not leaf.converted_type.startswith("U")
                maxima = [group[1][position][3].get(STATISTICS, {}).get(MAXIMUM) for group in groups if group[3]]
                if None not in maxima:
                    values = (int.from_bytes(maximum, "little", signed=signed) for maximum in maxima)
                    self.largest[leaf.path] = max(values, default=0)
        self._check_apart()

    def _check_apart(self) -> None:
        """Raise Contradiction if two of the columns have the same bytes."""
        several = (chunks for chunks, rows in zip(self._chunks, self._rows, strict=True) if rows)
        parts = sorted((chunk.start, chunk.end, name) for chunks in several for name, chunk in chunks.items())
        for (_, end, name), (start, _, other) in pairwise(parts):
            if start < end:
                raise Contradiction(f"column {other!r} begins at byte {start}, before column {name!r} ends")

    def check_pages(self, number: int, checksums: bool = False) -> None:
        """Raise Contradiction unless rows, values and pages of the columns agree in a row group, Unreadable if pages are tiny.

        `checksums`: also unless pages have the checksums that they state, which Arrow checks when it decodes them.
        """
        with self._path.open("rb") as content:
            for name, chunk in self._chunks[number].items():
                where = f"row group {number}, column {name!r}"
                pages = count_pages(content.fileno(), where, chunk, self._rows[number], checksums)
                if self._rows[number] and not any(self._rows[:number]):
                    check_bare(content.fileno(), where, chunk)
                with self._lock:
                    if (number, name) not in self._counted:
                        self._counted.add((number, name))
                        self._pages += pages
                    if self._pages > self._limits.frames and self._pages * _ROWS_PER_PAGE > self._total:
                        many = f"{self._limits.frames} pages, of under {_ROWS_PER_PAGE} rows on average"
                        raise Unreadable(f"has more than {many}, the limit (graph.limits.frames)")

    def check_all_pages(self, checksums: bool = False) -> None:
        """`check_pages` of every row group."""
        for number in range(len(self._rows)):
            self.check_pages(number, checksums)

    def has_checksums(self) -> bool:
        """Whether the first page of a column states a checksum, as those of a program do for all pages or for none."""
        with self._path.open("rb") as content:
            chunks = (chunk for number, of_group in enumerate(self._chunks) if self._rows[number] for chunk in of_group.values())
            first = next(chunks, None)
            return first is not None and states_checksum(content.fileno(), first)


def check_rows(rows: int, stated: int, stated_nulls: int, nulls: int = 0) -> None:
    """Raise Contradiction if another number of rows, or fewer nulls, were read than the footer states."""
    if rows != stated or nulls < stated_nulls:
        raise Contradiction(f"{rows} rows with {nulls} nulls were read, the footer states {stated} with {stated_nulls}")
