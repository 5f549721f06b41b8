"""The file that a run's `sources` may name: a vertex on each line. Blank lines and comments are skipped."""

import re
from pathlib import Path

from pipeline.config.model import LARGEST
from pipeline.errors import BadConfig

_LARGEST_FILE = 2**28  # bytes
_COMMENT = re.compile(rb"(^|(?<=\s))#.*")


def read_sources(path: Path) -> list[str]:
    """Read the vertices, as text. Raises BadConfig with the line of a wrong one, or where there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise BadConfig(f"{path}: the file of the sources cannot be read: {getattr(error, 'strerror', error)}") from None
    if len(content) > _LARGEST_FILE:
        raise BadConfig(f"{path}: has more than {_LARGEST_FILE} bytes, the limit for a file of sources")
    found = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if word := _COMMENT.sub(b"", line).strip():
            try:
                text = word.decode()
            except UnicodeDecodeError:
                raise BadConfig(f"{path}: line {number}: {word[:40].decode('latin-1')!a} is not UTF-8") from None
            if word.isdigit() and int(word[:20]) > LARGEST:
                raise BadConfig(f"{path}: line {number}: {text[:40]!a} is not in 0..{LARGEST}")
            found.append(text)
    if not found:
        raise BadConfig(f"{path}: has no source")
    return found
