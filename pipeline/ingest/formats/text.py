"""Split decompressed bytes into numbered lines: one at a time for headers, in blocks of whole lines for the data."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from kernels.cpu.parallel import cores
from pipeline.config.graph import Limits
from pipeline.config.sources import BOM
from pipeline.errors import BadInput
from pipeline.ingest.fields import Fault
from pipeline.runtime.threads import map_in_order
from pipeline.texts import shown

CARRIAGE_RETURN = "a carriage return within the line"
_SPACE = b" \t\r\n\v\f"
_BLANKS = bytes.maketrans(b"\t\v\f", b"   ")
FEW_LINES = 1000  # few enough to check one by one in Python
_NEWLINE = ord("\n")
_IN_CACHE = 2**18  # bytes that are compared several times
_WINDOW = 2**22  # bytes that are compared at a time: threads wait for the GIL after each operation on them
_SIZE = re.compile(rb"[0-9]{1,18}")
T = TypeVar("T")
Tidied = tuple[bytes, npt.NDArray[np.int64]]  # the lines that are kept, and the number of each within the block, from 0


class Empty(BadInput):
    """A file without content."""


@dataclass(frozen=True)
class Block:
    """Whole lines of a file, each with its newline; the first has number `line`, from 1."""

    parts: tuple[bytes | memoryview, ...]
    line: int

    @cached_property
    def data(self) -> bytes:
        """The lines, joined by the thread that parses them."""
        return b"".join(self.parts)


class Text:
    """The lines of a file, read once from front to back. Raises BadInput where a limit is exceeded.

    Attributes:
        head: The first bytes of the file, as many as a header may have; not all of them are blank.
        chunks: What has not been read as lines, including `head` at first.
        bytes, line: Bytes and lines read so far.
    """

    def __init__(self, file: str, chunks: Iterator[bytes], limits: Limits) -> None:
        self.file = file
        self.bytes = 0
        self.line = 0
        self._limits = limits
        self._in_header = 0  # bytes
        self._data = b""
        self._at = 0
        parts: list[bytes] = []
        while sum(map(len, parts)) <= limits.header and (chunk := next(chunks, b"")):
            parts.append(chunk if parts else chunk.removeprefix(BOM))
        self.chunks: Iterator[bytes] = chain(parts, chunks)
        content = b"".join(parts)
        self.head = content[: limits.header]
        if not self.head.strip():
            raise Empty(file, "is empty") if len(content) <= limits.header else BadInput(file, self._too_long())

    def peek_line(self, delimiter: str = "") -> bytes | None:
        """Return the next line of the header, without blanks at its ends that are not the delimiter; None at the end."""
        while (end := self._data.find(b"\n", self._at)) < 0:
            if len(self._data) - self._at > self._limits.header:
                raise BadInput(self.file, self._too_long(), self.line + 1)
            if not self._more():
                return None
        if self._in_header + end - self._at > self._limits.header:
            raise BadInput(self.file, self._too_long(), self.line + 1)
        line = self._data[self._at : end].removesuffix(b"\r")
        if b"\r" in line:
            raise BadInput(self.file, CARRIAGE_RETURN, self.line + 1)
        return line.strip(_SPACE.replace(delimiter.encode(), b""))

    def readline(self, delimiter: str = "") -> bytes | None:
        """Return and consume the line that `peek_line` returns."""
        line = self.peek_line(delimiter)
        if line is not None:
            end = self._data.index(b"\n", self._at) + 1
            self._in_header += end - self._at
            self._at = end
            self.line += 1
        return line

    def header(self, comment: bytes = b"", delimiter: str = "") -> bytes:
        """Return the next line that is neither blank nor starts with `comment`; empty at the end."""
        while (line := self.readline(delimiter)) is not None:
            if line.strip() and not (comment and line.startswith(comment)):
                return line
        return b""

    def blocks(self) -> Iterator[Block]:
        """Yield the remaining lines in blocks of about the size of a chunk, whose lines are counted on all cores."""
        read, self._data = self._data[self._at :], b""
        chunks, rest = chain([read], self.chunks), b""
        self._at, self.bytes = 0, self.bytes - len(read)
        for chunk, lines in map_in_order(lambda chunk: (chunk, count_of(chunk, b"\n")), chunks, cores()):
            self.bytes += len(chunk)
            self._require_short(len(rest) + (chunk.index(b"\n") if lines else len(chunk)))
            if not lines:
                rest += chunk
                continue
            end = chunk.rindex(b"\n") + 1
            block = Block((rest, memoryview(chunk)[:end]), self.line + 1)
            rest = chunk[end:]
            self.line += lines
            yield block
        if rest:  # the last line lacks its newline
            self.line += 1
            yield Block((rest, b"\n"), self.line)

    def _require_short(self, length: int) -> None:
        """Raise BadInput if the next line is longer than a line may be."""
        if length > self._limits.line:
            limit = f"{self._limits.line} bytes, the limit for a line (graph.limits.line)"
            raise BadInput(self.file, f"is longer than {limit}", self.line + 1)

    def _more(self) -> bool:
        chunk = next(self.chunks, b"")
        if not chunk and (self._at == len(self._data) or self._data.endswith(b"\n")):
            return False
        self.bytes += len(chunk)
        self._data = self._data[self._at :] + (chunk or b"\n")  # the last line may lack its newline
        self._at = 0
        return True

    def _too_long(self) -> str:
        return f"has more than {self._limits.header} bytes before its data, the limit (graph.limits.header)"


def count_of(data: bytes, pattern: bytes) -> int:
    """`data.count(pattern)` of a pattern that does not overlap itself; lets other threads of Python run."""
    letters, count = np.frombuffer(data, np.uint8), 0
    end = len(letters) - len(pattern) + 1
    for begin in range(0, end, _WINDOW):
        positions = min(_WINDOW, end - begin)
        matches = letters[begin : begin + positions] == pattern[0]
        for at, letter in enumerate(pattern[1:], begin + 1):
            matches &= letters[at : at + positions] == letter
        count += int(np.count_nonzero(matches))
    return count


def integers_of(lines: bytes) -> npt.NDArray[np.int64] | None:
    """The integers int64 [n] of lines with one each, blank ones between them; None if a line has something else."""
    if lines.startswith(BOM):  # which Arrow skips
        return None
    try:
        column = csv.read_csv(
            pa.BufferReader(lines),
            csv.ReadOptions(column_names=["value"]),
            csv.ParseOptions(quote_char=False),
            csv.ConvertOptions(column_types={"value": pa.int64()}, null_values=[]),
        )["value"]
    except pa.ArrowInvalid:
        return None
    values: npt.NDArray[np.int64] = column.to_numpy()
    return values


def has_leading_zero(data: bytes, delimiter: str = "") -> bool:
    """Whether some digit follows a zero at the begin of the data, or a zero behind anything but a digit or one of `-./:`.

    Where fields have a delimiter, a zero behind a digit and a blank is left out: it is within a text, as in a date with a time.
    """
    if data[:1] == b"0" and data[1:2].isdigit():
        return True
    letters, zero, digits, before = np.frombuffer(data, np.uint8), ord("0"), np.uint8(10), np.uint8(ord(":") + 1 - ord("-"))
    for begin in range(0, len(letters) - 2, _IN_CACHE):
        part = letters[begin : begin + _IN_CACHE + 2]
        zeros = part[1:-1] == zero
        zeros &= part[2:] - np.uint8(zero) < digits  # unsigned: what is below becomes large
        zeros &= part[:-2] - np.uint8(ord("-")) >= before
        if zeros.any() and not (delimiter and _within_texts(letters, begin + 1 + np.flatnonzero(zeros), delimiter)):
            return True
    return False


def _within_texts(letters: npt.NDArray[np.uint8], positions: npt.NDArray[np.intp], delimiter: str) -> bool:
    """Whether a blank that is not the delimiter, and a digit before it, precede each of these places."""
    behind, digit = letters[positions - 1], letters[np.maximum(positions - 2, 0)] - np.uint8(ord("0")) < np.uint8(10)
    return bool((((behind == ord(" ")) | (behind == ord("\t"))) & (behind != ord(delimiter)) & digit).all())


def parse(
    file: str,
    block: Block,
    tidy: Callable[[bytes], Tidied],
    read: Callable[[bytes], T | None],
    explain: Callable[[bytes], Fault | None],
    hint: str = "",
) -> T:
    """Parse a block unchanged; if that fails, tidied; if that fails too, raise BadInput for the first bad line.

    Args:
        tidy: `without` or `tidied`, with the format's comment character.
        read: Parses whole lines with Arrow; None if it cannot.
        explain: Returns what is wrong with one line; None if nothing is.
        hint: What to do about one bad line.
    """
    data = block.data.replace(b"\r\n", b"\n") if b"\r" in block.data else block.data

    def read_as_it_is(lines: bytes) -> T | None:
        # Arrow ends a line at a lone carriage return, which would make our line numbers wrong.
        return None if b"\r" in lines else read(lines)

    if (content := read_as_it_is(data)) is not None:
        return content
    lines, numbers = tidy(data)
    if (content := read_as_it_is(lines)) is not None:
        if b"\r" in data:  # in a comment, where a row may be behind it
            raise BadInput(file, CARRIAGE_RETURN, block.line + data[: data.index(b"\r")].count(b"\n"))
        return content
    lines, numbers = _narrow(lines, numbers, read_as_it_is)
    for number, line in zip(numbers, lines.split(b"\n"), strict=False):
        if fault := Fault(CARRIAGE_RETURN, value=line) if b"\r" in line else explain(line):
            raise BadInput(file, fault.reason + ("" if fault.structural else hint), block.line + int(number))
    raise BadInput(file, "cannot be read", block.line + int(numbers[0]))


def _narrow(lines: bytes, numbers: npt.NDArray[np.int64], read: Callable[[bytes], T | None]) -> Tidied:
    """Bisect to at most FEW_LINES lines that contain the first bad one."""
    while len(numbers) > FEW_LINES:
        cut, half = halved_at(lines, numbers)
        first = lines[:cut]
        if read(first) is None:
            lines, numbers = first, numbers[:half]
        else:
            lines, numbers = lines[cut:], numbers[half:]
    return lines, numbers


def halved_at(lines: bytes, numbers: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Where the second half of the lines begins: the byte, and the line."""
    half = len(numbers) // 2
    return int(np.flatnonzero(np.frombuffer(lines, np.uint8) == _NEWLINE)[half - 1]) + 1, half


def tidied(data: bytes, comment: bytes = b"") -> Tidied:
    """Reduce blanks to one space between fields, and drop blank lines and those that start with the byte `comment`."""
    data = b"\n" + data.translate(_BLANKS)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return without(data.replace(b"\n ", b"\n").replace(b" \n", b"\n")[1:], comment)


def without(data: bytes, comment: bytes = b"") -> Tidied:
    """Drop empty lines and those that start with the byte `comment`."""
    letters = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(letters == _NEWLINE)
    starts = np.concatenate(([0], ends + 1))[: len(ends)]
    first = letters[starts]
    keep = first != _NEWLINE
    if comment:
        keep &= first != ord(comment)
    if keep.all():
        return data, np.arange(len(ends))
    return letters[np.repeat(keep, ends + 1 - starts)].tobytes(), np.flatnonzero(keep)


def line_of(block: Block, tidy: Callable[[bytes], Tidied], arcs_of: Callable[[bytes], int], arc: int) -> int:
    """Return the number of the line that contains the block's arc number `arc`, from 0."""
    lines, numbers = tidy(block.data.replace(b"\r\n", b"\n"))
    for number, line in zip(numbers, lines.split(b"\n"), strict=False):
        arc -= arcs_of(line)
        if arc < 0:
            return block.line + int(number)
    raise AssertionError("the arc is in the block")


def problem(text: Text, line: bytes, name: bytes, count: int) -> list[int]:
    """Return the `count` integers that follow the words `name` in a file's header line. Raises BadInput."""
    words, expected = line.split(), name.split()
    numbers = words[len(expected) :]
    if words[: len(expected)] != expected or len(numbers) != count or not all(map(_SIZE.fullmatch, numbers)):
        form = " ".join([*name.decode().split(), *["NUMBER"] * count])
        raise BadInput(text.file, f'expected the header "{form}", found {shown(line)}', text.line or 1)
    return [int(number) for number in numbers]
