"""Files that are replaced while they are read, which is how feeds arrive: what reads them starts again, once."""

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from pipeline.errors import BadInput, Busy, Changed, GraphmillError
from pipeline.ingest.source import locate

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
        before = {file: _seen(file) for file in files}
        try:
            return read()
        except Exception as error:
            changed = _changed(before, error)
            if changed is None:
                raise
            if replaced:
                way = "write it under another name, rename it when it is complete, and start again"
                reason = f"was replaced or written while it was read, and again when it was read anew; {way}"
                raise Changed(changed, reason) from error
        replaced = changed
        log.warning("%s: was replaced or written while it was read; starting again", replaced)


def _changed(before: dict[str, tuple[int, ...]], error: Exception) -> str | None:
    """The name of a file that has changed; None if none has, or if the error is that of another run."""
    if isinstance(error, Changed):
        return error.file
    if isinstance(error, Busy):
        return None
    return next((BadInput(file, "").file for file, seen in before.items() if _seen(file) != seen), None)


def _seen(file: str) -> tuple[int, ...]:
    """What changes when a file is replaced or written; nothing for a remote file, whose bytes are digested as they are read."""
    try:
        path = locate(file).local
        status = path.stat() if path else None
    except (GraphmillError, OSError):
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns) if status else ()
