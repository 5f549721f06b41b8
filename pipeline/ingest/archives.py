"""Archives (tar, zip): the one member that is the graph, as a stream; a member is never written under its own name.

It is the member with the archive's name (SuiteSparse's `NAME/NAME.mtx` in `NAME.tar.gz`, KONECT's `out.NAME`), or else the only
one. Folders, links, hidden files and files about a graph (README, `.html`, Graphalytics' `.v`, ...) are not read. The headers of
tar are parsed here, because `tarfile` holds extended headers of any length in memory.
"""

import io
import re
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pipeline.config.graph import LONGEST_BLOCK, Limits
from pipeline.errors import BadInput
from pipeline.ingest.source import Stored

ZIP, USTAR = (b"PK\3\4", b"PK\5\6"), b"ustar"  # how zip archives begin; what a header of tar has from byte 257 on
BLOCK = 512  # bytes of a header of tar, to which contents are padded
_READ = 2**20
_PACKED = re.compile(r"\.(?:t(?:ar|gz|bz2|xz|zst)|zip|gz|bz2|xz|zst)$")
_BESIDE = re.compile(r"(?:^|/)(?:\.|__macosx/)|(?:^|/)(?:readme|licen[cs]e|copying)[^/]*$|\.(?:md|html?|pdf|bib|properties|v)$")
_SHOWN = 5  # members that a message names
_FILE, _LINKS = b"0\x007", b"123456"  # what the flag of a member of tar says; 7 is a file in one piece


@dataclass
class _Choice:
    """Which of an archive's files is read, as their names come."""

    file: str
    limits: Limits
    chosen: str | None = None  # the file with the archive's name
    others: list[str] = field(default_factory=list)
    count: int = 0

    def sees(self, name: str) -> bool:
        """Whether the file has the archive's name. Raises BadInput for a second one, and for too many files."""
        self.count += 1
        if self.count > self.limits.frames:
            raise BadInput(self.file, f"has more than {self.limits.frames} members, the limit (graph.limits.frames)")
        if _BESIDE.search(name.lower()):
            return False
        if not _fits(self.file, name):
            self.others.append(name)
            return False
        if self.chosen is not None:
            raise BadInput(self.file, f"has two files with its name, {self.chosen!a} and {name!a}; unpack the graph")
        self.chosen = name
        return True

    def final(self) -> str:
        """The file that is read. Raises BadInput if there is none, or more than one."""
        if self.chosen is not None:
            return self.chosen
        if len(self.others) != 1:
            names = ", ".join(f"{name[:80]!a}" for name in self.others[:_SHOWN]) + (", ..." if self.others[_SHOWN:] else "")
            several = f"has {len(self.others)} files, none of which has its name: {names}; unpack the graph"
            raise BadInput(self.file, several if self.others else "is an archive without a file to read")
        return self.others[0]


def _fits(archive: str, member: str) -> bool:
    """Whether a member has the name of its archive, whatever the suffixes are."""
    whole, base = archive.lower().rpartition("/")[2], member.lower().rpartition("/")[2]
    while (shorter := _PACKED.sub("", whole)) != whole:
        whole = shorter
    same = whole in (base, base.rpartition(".")[0])
    return same or (base.startswith("out.") and f".{whole}".endswith(base.removeprefix("out")))


def is_tar(head: bytes) -> bool:
    """Whether a file begins with a header of tar (POSIX, GNU)."""
    return head[257:262] == USTAR and _checksum(head) == _octal(head[148:156])


class _Bounded(io.FileIO):
    """A file of which zipfile reads only so many bytes at a time, such as those of its directory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > LONGEST_BLOCK:
            raise zipfile.BadZipFile(f"its directory has more than {LONGEST_BLOCK} bytes")
        return super().read(size) or b""


def zip_member(stored: Stored, path: Path, limits: Limits) -> Iterator[bytes]:
    """The content of the member of a zip archive at `path`, which `stored` was read from. Raises BadInput, BadZipFile."""
    file = stored.source.url
    with _Bounded(path) as packed, zipfile.ZipFile(packed) as archive:
        choice, members = _Choice(file, limits), {one.filename: one for one in archive.infolist() if not one.is_dir()}
        if len(members) < sum(not one.is_dir() for one in archive.infolist()):
            raise BadInput(file, "has two files of the same name")
        for name in members:
            choice.sees(name)
        member = members[choice.final()]
        stored.member = member.filename
        if member.flag_bits & 1:
            raise BadInput(file, f"its member {member.filename!a} is encrypted")
        # The decompressors of other methods ignore how many bytes are asked for.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            how = f"by method {member.compress_type} of zip; only deflate (8) is supported"
            raise BadInput(file, f"its member {member.filename!a} is compressed {how}")
        with archive.open(member) as content:
            while data := content.read(_READ):
                stored.bytes = max(stored.bytes, packed.tell())
                yield data


def tar_member(stored: Stored, stream: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    """The content of the member of a tar archive, read from `stream`. Raises BadInput."""
    tar, choice = _Tar(stored.source.url, stream, limits), _Choice(stored.source.url, limits)
    with tempfile.TemporaryFile() as aside:
        for name, size, is_file in tar:
            if not is_file:
                tar.skip(size)
            elif choice.sees(name):
                stored.member = name
                yield from tar.content(size)
            elif choice.others == [name] and choice.chosen is None:
                aside.writelines(tar.content(size))  # the only one perhaps
            else:
                tar.skip(size)
        for _ in stream:  # so that checksums behind the end are compared
            pass
        if choice.chosen is None:
            stored.member = choice.final()
            yield from _from_start(aside)


def _from_start(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    return iter(lambda: file.read(_READ), b"")


class _Tar:
    """The members of a tar archive, one after the other: names, sizes, and whether they are files."""

    def __init__(self, file: str, stream: Iterator[bytes], limits: Limits) -> None:
        self._file, self._stream, self._limits = file, stream, limits
        self._data = b""

    def __iter__(self) -> Iterator[tuple[str, int, bool]]:
        path, stated = None, None  # of the next member, if a header before it says them
        while (head := self._exactly(BLOCK, may_end=True)).strip(b"\0"):
            if _checksum(head) != _octal(head[148:156]):
                raise BadInput(self._file, "a header of the tar archive is damaged")
            size, flag = _octal(head[124:136]), head[156:157]
            if flag in (b"x", b"L", b"K", b"g"):
                content = self._header(size)
                if flag == b"L":
                    path = content.rstrip(b"\0")
                elif flag == b"x":
                    records = _records(content)
                    path, length = records.get(b"path", path), records.get(b"size")
                    stated = int(length) if length and length.isdigit() and len(length) < 19 else None
                continue
            parts = [part.partition(b"\0")[0] for part in (head[345:500] if head[257:263] == b"ustar\0" else b"", head[:100])]
            name = path or b"/".join(part for part in parts if part)
            size = 0 if flag in _LINKS else size if stated is None else stated
            if flag and flag not in _FILE + _LINKS:
                raise BadInput(self._file, f"its member {_text(name)!a} is of kind {_text(flag)!a}, which is not supported")
            yield _text(name), size, flag in _FILE and not name.endswith(b"/")
            path = stated = None

    def content(self, size: int) -> Iterator[bytes]:
        """The bytes of the member that came last."""
        left = size
        while left:
            self._data = self._data or next(self._stream, b"")
            if not self._data:
                raise BadInput(self._file, "the tar archive is truncated")
            part, self._data = self._data[:left], self._data[left:]
            left -= len(part)
            yield part
        self._exactly(-size % BLOCK)

    def skip(self, size: int) -> None:
        """Pass over the member that came last."""
        for _ in self.content(size):
            pass

    def _header(self, size: int) -> bytes:
        if size > self._limits.header:
            reason = f"has a header of {size} bytes, the limit is {self._limits.header} (graph.limits.header)"
            raise BadInput(self._file, reason)
        return b"".join(self.content(size))

    def _exactly(self, size: int, may_end: bool = False) -> bytes:
        while len(self._data) < size and (more := next(self._stream, b"")):
            self._data += more
        if len(self._data) < size and not (may_end and not self._data):
            raise BadInput(self._file, "the tar archive is truncated")
        part, self._data = self._data[:size], self._data[size:]
        return part


def _records(content: bytes) -> dict[bytes, bytes]:
    """The records `LENGTH KEY=VALUE` of an extended header (POSIX.1-2001)."""
    values = {}
    while content:
        length = content.partition(b" ")[0]
        if not length.isdigit() or not len(length) < int(length[:9]) <= len(content):
            break
        key, _, value = content[len(length) + 1 : int(length) - 1].partition(b"=")
        values[key] = value
        content = content[int(length) :]
    return values


def _checksum(head: bytes) -> int:
    return sum(head[:148]) + 8 * ord(" ") + sum(head[156:BLOCK])


def _octal(digits: bytes) -> int:
    """A number of a header: octal digits, or bytes if the first bit is set; -1 if it is neither."""
    if digits[:1] and digits[0] & 0x80:
        return int.from_bytes(digits[1:]) if digits[0] == 0x80 else -1
    text = digits.strip(b" \0")
    return int(text, 8) if text and not text.strip(b"01234567") else -1 if text else 0


def _text(name: bytes) -> str:
    return name.decode(errors="replace")
