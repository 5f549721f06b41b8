"""The file that a run's `sources` may name: an external id on each line; blank lines and what follows a `#` are skipped."""

from pathlib import Path

from pipeline.config.model import LARGEST
from pipeline.errors import BadConfig

_LARGEST_FILE = 2**28  # bytes


def read_sources(path: Path) -> list[int]:
    """Read the ids. Raises BadConfig with the line of one that is not an integer from 0, or where there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise BadConfig(f"{path}: the file of the sources cannot be read: {getattr(error, 'strerror', error)}") from None
    if len(content) > _LARGEST_FILE:
        raise BadConfig(f"{path}: has more than {_LARGEST_FILE} bytes, the limit for a file of sources")
    found = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if word := line.partition(b"#")[0].strip():
            if not (word.isdigit() and len(word) <= len(str(LARGEST)) and int(word) <= LARGEST):
                raise BadConfig(f"{path}: line {number}: {word[:40].decode('latin-1')!a} is not an integer in 0..{LARGEST}")
            found.append(int(word))
    if not found:
        raise BadConfig(f"{path}: has no source")
    return found
