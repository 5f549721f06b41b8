"""Turn lines of fields into columns: Arrow parses a block, vectorised checks follow; only a bad block is read by line."""

import csv as quoted
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from kernels.cpu.parallel import cores
from pipeline.config.model import MIB
from pipeline.config.sources import BOM
from pipeline.errors import BadInput
from pipeline.ingest.fields import Fault, Field, beyond_int64, converted, explain, has_null_text, in_range, small_integer
from pipeline.ingest.formats.text import Block, Text, Tidied, count_of, has_leading_zero, line_of, parse, tidied, without
from pipeline.ingest.values.rejects import HINT, Rejected, Rejects
from pipeline.ingest.values.sifting import sift
from pipeline.runtime.threads import map_in_order
from pipeline.texts import shown

_LEADING = "^[ \t]*-?0[0-9]|^[ \t]*-0"  # what Arrow reads as an integer, but no id is written as
_OF_NUMBERS = frozenset("-./:")  # delimiters that numbers and times contain, too
LONGEST_LINE = MIB  # of fields; what Arrow reads at a time


@dataclass(frozen=True)
class LineLayout:
    """The layout of a file's data lines."""

    fields: tuple[Field, ...]
    tag: bytes = b""  # the word before the first field ("a" in DIMACS); empty if there is none
    header: bytes = b""  # the word that starts the only header line; empty if there is none
    comment: bytes = b""  # first byte of a comment line; empty if there are none
    delimiter: str = ""  # the character between fields, which may then be quoted; empty means blanks

    @property
    def named(self) -> tuple[Field, ...]:
        """The fields that become columns."""
        return tuple(field for field in self.fields if field.type is not None)

    def read(self, data: bytes) -> pa.Table | None:
        """Parse whole lines; None if one of them is malformed or out of range."""
        if not data:
            return pa.table({field.name: pa.array([], field.type) for field in self.named})
        if _has_long_line(data):
            return None
        try:
            table = self._columns(data, [pa.string() if field.is_converted else field.type for field in self.named])
            for place, field in enumerate(self.named):
                if field.is_converted:
                    table = table.set_column(place, field.name, converted(table[field.name], field))
        except pa.ArrowInvalid:
            return None
        return table if self._is_right(data, table) else None

    def _is_right(self, data: bytes, table: pa.Table) -> bool:
        """Whether a file may have the values that Arrow accepted."""
        return (
            len(table) == count_of(data, b"\n")  # no blank line, and no quote that spans lines
            and (not self.delimiter or b'"' not in data or _quotes_end(data))
            and (self.delimiter or self._has_only_numbers or self._has_single_blanks(data, len(table)))
            and (not self.tag or count_of(data, b"\n" + self.tag + b" ") + data.startswith(self.tag + b" ") == len(table))
            and not ((b"x" in data or b"X" in data) and self._has_hexadecimals(data))
            and not (any(beyond_int64(table[field.name], field) for field in self.named) and self._has_long_integers(data))
            and all(in_range(table[field.name], field) for field in self.named)
            and not any(has_null_text(table[field.name], field) for field in self.named)
            and not self._has_other_forms(data, table)
        )

    @property
    def _has_only_numbers(self) -> bool:
        """Whether Arrow reads all fields, as numbers, which have no blanks within."""
        return len(self.named) == len(self.fields) and not any(field.is_text or field.is_converted for field in self.named)

    def _has_single_blanks(self, data: bytes, lines: int) -> bool:
        """Whether lines have one blank between fields and none elsewhere, so that skipped fields are neither empty nor two."""
        blanks = count_of(data, b" ") + count_of(data, b"\t")
        strange = (b"\t\n", b" \n", b"\v", b"\f")
        return blanks == lines * (len(self.fields) - 1 + bool(self.tag)) and not any(each in data for each in strange)

    def tidy(self, data: bytes) -> Tidied:
        """Drop comments and blank lines; see `text.parse`."""
        return without(data) if self.delimiter else tidied(data, self.comment)

    def explain(self, line: bytes) -> Fault | None:
        """Return the fault of a line, None if there is none. Raises Decimals or OtherForm if the file must be read again."""
        if len(line) > LONGEST_LINE:
            return Fault(f"is longer than {LONGEST_LINE} bytes, the limit for a line of fields", value=line)
        if self.delimiter and line.count(b'"') % 2:
            return Fault(f"unterminated quote: {shown(line)}", value=line)
        values = split_quoted(line, self.delimiter) if self.delimiter else line.split(b" ")
        if self.header and values[0] == self.header:
            return Fault(f"a second header: {shown(line)}", value=line, structural=True)
        if self.tag:
            if values[0] != self.tag:
                return Fault(f"starts with {shown(values[0])}, expected {shown(self.tag)}", value=line)
            values = values[1:]
        if len(values) != len(self.fields):
            return Fault(f"{len(values)} fields, expected {len(self.fields)}: {shown(line)}", value=line)
        reasons = (explain(value, field) for value, field in zip(values, self.fields, strict=True) if field.type)
        return next(filter(None, reasons), None)

    def _columns(self, data: bytes, types: list[pa.DataType]) -> pa.Table:
        blank = "\t" if b"\t" in data[: data.index(b"\n")] else " "
        names = ["tag"] * bool(self.tag) + [field.name for field in self.fields]
        chosen = {field.name: kind for field, kind in zip(self.named, types, strict=True)}
        return csv.read_csv(
            pa.BufferReader(BOM + data if data.startswith(BOM) else data),  # Arrow skips the first mark
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=self.delimiter or blank, quote_char='"' if self.delimiter else False),
            csv.ConvertOptions(column_types=chosen, include_columns=list(chosen), null_values=[]),
        )

    def _has_hexadecimals(self, data: bytes) -> bool:
        """Whether a column that is read contains an x: Arrow would accept 0x10 as an integer."""
        types = [pa.binary()] * len(self.named)
        read = self._columns(data, types).columns
        columns = [column for column, field in zip(read, self.named, strict=True) if not (field.is_text or field.is_converted)]
        return any(pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py() for column in columns)

    def _has_other_forms(self, data: bytes, table: pa.Table) -> bool:
        """Whether an integer id is not in the one form of ids: Arrow accepts leading zeros and -0."""
        ids = [field.name for field in self.named if field.is_id and not field.is_text]
        if not ids or not len(table):
            return False
        minus = b"-0" in data and any(pc.min(table[name]).as_py() == 0 for name in ids)
        if not (minus or self.delimiter in _OF_NUMBERS or has_leading_zero(data, self.delimiter)):
            return False
        texts = self._columns(data, [pa.binary()] * len(self.named))
        return any(pc.any(pc.match_substring_regex(texts[name], _LEADING)).as_py() for name in ids)

    def _has_long_integers(self, data: bytes) -> bool:
        """Whether a column that may have integers has one beyond int64, which is refused before and after the first decimal."""
        columns = self._columns(data, [pa.string() if field.decimals else pa.binary() for field in self.named])
        texts = [_plain(columns[field.name], field) for field in self.named if field.decimals]
        long = [text.filter(pc.match_substring_regex(text, "^-?[0-9]{19,}$")).to_pylist() for text in texts]
        return any(small_integer(value.encode()) is None for values in long for value in values)


def _plain(texts: pa.ChunkedArray, field: Field) -> pa.ChunkedArray:
    """The numbers as programs write them, without those that are absent."""
    return field.form.plain_column(field.form.without_nulls(texts)).drop_null() if field.is_converted else texts


def split_quoted(line: bytes, delimiter: str) -> list[bytes]:
    """Split a line of CSV or TSV."""
    try:
        values = next(quoted.reader([line.decode("latin-1")], delimiter=delimiter))
    except quoted.Error:  # a field of over 128 KiB
        return [line]
    return [value.encode("latin-1") for value in values]


@dataclass(frozen=True)
class Declared:
    """The number of arcs that a header declares, and the line of that header."""

    arcs: int
    line: int


def tables(
    text: Text, rows: LineLayout, limit: int, declared: Declared | None = None, rejects: Rejects | None = None
) -> Iterator[pa.Table]:
    """Yield the remaining rows of a text block by block, parsed on all cores; check their number against limit and header.

    Where `rejects` allows bad rows, it gets them, and the tables lack them.
    """

    def read(block: Block) -> tuple[Block, pa.Table, list[Rejected]]:
        how = text.file, block, rows.tidy, rows.read, rows.explain
        if not rejects or not rejects.limit:
            return block, parse(*how, hint=HINT if rejects else ""), []
        parts, rejected = sift(*how)
        return block, pa.concat_tables(parts), rejected

    seen = 0
    for block, table, rejected in map_in_order(read, text.blocks(), cores()):
        due, lines = min(limit, declared.arcs) if declared else limit, len(table) + len(rejected)
        if seen + lines > due:
            line = line_of(block, rows.tidy, lambda _line: 1, due - seen)
            raise too_many(text.file, line, limit, declared)
        seen += lines
        if rejects and rejects.limit:
            rejects.add(text.file, rejected, lines)
        yield table
    check_count(text.file, seen, declared)


def too_many(file: str, line: int, limit: int, declared: Declared | None) -> BadInput:
    """Return the error for the first line beyond the limit or the header's count."""
    if declared and declared.arcs <= limit:
        return BadInput(file, f"more than the {declared.arcs} that line {declared.line} declares", line)
    return BadInput(file, f"more than {limit} edges, the limit (graph.limits.edges)", line)


def check_count(file: str, seen: int, declared: Declared | None) -> None:
    """Raise BadInput if the file has fewer rows than its header declares."""
    if declared and seen < declared.arcs:
        raise BadInput(file, f"declares {declared.arcs}, but the file has {seen}", declared.line)


def _has_long_line(data: bytes) -> bool:
    window = LONGEST_LINE // 4  # at least three such windows are within a longer line
    if all(data.find(b"\n", at, at + window) >= 0 for at in range(0, len(data) - window, window)):
        return False
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    return bool(np.diff(ends, prepend=-1).max() > LONGEST_LINE + 1)


def _quotes_end(data: bytes) -> bool:
    """Whether every quote ends on its line."""
    letters = np.frombuffer(data, np.uint8)
    quotes = np.searchsorted(np.flatnonzero(letters == ord('"')), np.flatnonzero(letters == ord("\n")))
    return not (quotes % 2).any()
