"""Files that are replaced while they are read, which is how feeds arrive: what reads them starts again, once."""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pipeline.errors import BadInput, Busy, Changed
from pipeline.ingest.feed import files_here

T = TypeVar("T")
log = logging.getLogger(__name__)


def steadily(files: Iterable[str], read: Callable[[], T]) -> T:
    """Call a function that reads files, and once more if it fails and one of them was replaced or written meanwhile.

    It may fail in any way, because it may have read the beginning of one content and the end of another. It must compare what
    it has read with a digest that it took before, so that such a mixture never passes; and it must leave nothing of a failure.

    Raises:
        Changed: A file was replaced during the second call, too.
        Exception: As `read`.
    """
    files, replaced = [*files], ""
    while True:
        before = _seen(files)
        try:
            return read()
        except Exception as error:
            changed = _changed(files, before, error)
            if changed is None:
                raise
            if replaced:
                way = "write it under another name, rename it when it is complete, and start again"
                reason = f"was replaced or written while it was read, and again when it was read anew; {way}"
                raise Changed(changed, reason) from error
        replaced = changed
        log.warning("%s: was replaced or written while it was read; starting again", replaced)


def _changed(files: list[str], before: dict[str, tuple[int, ...]], error: Exception) -> str | None:
    """The name of a file that has changed, or came or went; None if none has, or if the error is that of another run."""
    if isinstance(error, Changed):
        return error.file
    if isinstance(error, Busy):
        return None
    now = _seen(files)
    return next((BadInput(file, "").file for file in before | now if before.get(file) != now.get(file)), None)


def _seen(files: list[str]) -> dict[str, tuple[int, ...]]:
    """What changes when a file is replaced or written; nothing for remote files, whose bytes are digested as they are read."""
    seen = dict[str, tuple[int, ...]]()
    for source in (source for file in files for source in files_here(file)):
        with suppress(OSError):
            status = Path(source.path).stat()
            times = status.st_mtime_ns, status.st_ctime_ns
            seen[source.url] = (status.st_dev, status.st_ino, status.st_size, *times)
    return seen
