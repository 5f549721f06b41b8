"""A file that a run's `sources` may name: one vertex per line. Blank lines and comments are skipped."""

import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import BadConfig
from pipeline.texts import shown, why_not_utf8

_COMPRESSED = b"\x1f\x8b", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"BZh", b"PK\3\4"  # how gzip, xz, zstd, bzip2 and zip files begin
BOM = b"\xef\xbb\xbf"  # with which spreadsheets begin their CSV files
_LARGEST_FILE = 2**28  # bytes
_COMMENT = re.compile(rb"(^|(?<=\s))#.*")
_QUOTED = re.compile(rb'\s*"((?:[^"]|"")+)"\s*(?:#.*)?')


def read_sources(path: Path) -> list[str]:
    """Read the vertices, as text. Raises BadConfig as `numbered_sources`."""
    return [text for _, text in numbered_sources(path)]


def numbered_sources(path: Path) -> Iterator[tuple[int, str]]:
    """Read the vertices, as text, each with its line.

    Raises BadConfig for a wrong vertex, with its line, and for a file that is empty or compressed.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise BadConfig(f"{path}: the file of the sources cannot be read: {getattr(error, 'strerror', error)}") from None
    if len(content) > _LARGEST_FILE:
        raise BadConfig(f"{path}: has more than {_LARGEST_FILE} bytes, the limit for a file of sources")
    if content.startswith(_COMPRESSED):
        raise BadConfig(f"{path}: is compressed; a file of vertices must be plain text, or Parquet where that is allowed")
    number = 0
    for line_number, line in enumerate(content.removeprefix(BOM).split(b"\n"), 1):
        quoted = _QUOTED.fullmatch(line)
        if word := quoted[1].replace(b'""', b'"') if quoted else _COMMENT.sub(b"", line).strip():
            number = line_number
            if reason := why_not_utf8(word):
                raise BadConfig(f"{path}: line {number}: {shown(word)} {reason}")
            yield number, word.decode()
    if not number:
        raise BadConfig(f"{path}: contains no vertex")
