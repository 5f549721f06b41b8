"""A source file at a path or a URL: where it is, what identifies its content, and its stored bytes as they stream by.

What the user can mend (no such file, no permission, an unknown protocol) is a BadInput. Everything else that a file system
raises leaves here as an OSError, so that a flow can try again.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from pipeline.errors import BadInput
from pipeline.store.manifest import digest_of, sha256_of

READ = 2**20  # bytes asked of a file system at a time
_VALIDATORS = ("ETag", "Content-MD5", "Digest", "Last-Modified")
_TRY_AGAIN = {408, 425, 429}  # HTTP: timeout, too early, too many requests
_MENDABLE = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


@dataclass(frozen=True)
class Source:
    """A file: the path or URL that the user gave, and the same for fsspec."""

    url: str
    fs: Any
    path: str

    @property
    def local(self) -> Path | None:
        """The path on this machine; None where the file is elsewhere."""
        return Path(self.path) if isinstance(self.fs, LocalFileSystem) else None


def locate(url: str) -> Source:
    """Find the file system of a path or URL. Raises BadInput where there is none, or a local file is not a file."""
    if "://" not in url and "::" not in url:
        source = Source(url, LocalFileSystem(), str(Path(url).absolute()))
    else:
        try:
            source = Source(url, *fsspec.core.url_to_fs(url))
        except (ValueError, ImportError) as error:
            raise BadInput(url, str(error)) from None
    if source.local is not None and not source.local.is_file():
        raise BadInput(url, _what(source.local))
    return source


def _what(path: Path) -> str:
    if path.is_dir():
        return "is a directory, not a file"
    return "is no regular file" if path.exists() else "no such file"


def identify(source: Source, sha256: str | None) -> str:
    """What changes when the content does: a SHA-256, or what the remote file system says of the file.

    Raises BadInput where a local file's SHA-256 is not the stated one.
    """
    with _reading(source):
        if source.local is not None:
            found = sha256_of(source.local)
            check_sha256(source, found, sha256)
            return found
        if sha256 is not None:
            return sha256
        source.fs.invalidate_cache()
        info = source.fs.info(source.path)
        if "http" not in source.fs.protocol:
            return digest_of([source.url, source.fs.ukey(source.path)])
        # fsspec's own key of a web page is its address, whatever it holds.
        validators = {name: info[name] for name in _VALIDATORS if name in info}
        if validators:
            return digest_of([source.url, info.get("size"), validators])
    with stored(source) as content:
        content.drain()
        return content.sha256


class Stored:
    """The bytes of a source as they lie there: read once, counted and hashed on the way."""

    def __init__(self, source: Source, file: Any) -> None:
        self.source = source
        self.bytes = 0
        self._file = file
        self._hash = hashlib.sha256()
        self._ahead = b""

    @property
    def sha256(self) -> str:
        """SHA-256 of what was read so far."""
        return self._hash.hexdigest()

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes, or all that are left, and leave them to be read."""
        while len(self._ahead) < size and (more := self._pull(READ)):
            self._ahead += more
        return self._ahead[:size]

    def read(self, size: int = READ) -> bytes:
        """Return up to `size` bytes; none at the end."""
        if not self._ahead:
            return self._pull(size)
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data

    def drain(self) -> None:
        """Read what is left."""
        while self.read():
            pass

    def check(self, sha256: str | None) -> None:
        """Read what is left and raise BadInput unless the whole has this SHA-256."""
        self.drain()
        check_sha256(self.source, self.sha256, sha256)

    def _pull(self, size: int) -> bytes:
        with _reading(self.source):
            data: bytes = self._file.read(size)
        self.bytes += len(data)
        self._hash.update(data)
        return data


@contextmanager
def stored(source: Source) -> Iterator[Stored]:
    """Open a source and close it again."""
    with _reading(source):
        file = source.fs.open(source.path, "rb")
    try:
        yield Stored(source, file)
    finally:
        file.close()


def check_sha256(source: Source, found: str, stated: str | None) -> None:
    """Raise BadInput where a SHA-256 is stated, and it is not the one that was found."""
    if stated is not None and found != stated:
        raise BadInput(source.url, f"its SHA-256 is {found}, not {stated}")


@contextmanager
def _reading(source: Source) -> Iterator[None]:
    """Sort what a file system raises into the user's and the world's."""
    try:
        yield
    except _MENDABLE as error:
        cause = error.__cause__
        if _may_pass(cause):
            raise OSError(errno.EIO, f"{type(cause).__name__}: {cause}", source.url) from error
        status = getattr(cause, "status", None)
        raise BadInput(source.url, f"the server answers {status}" if status else error.strerror or "no such file") from error
    except (OSError, BadInput):
        raise
    except Exception as error:  # each protocol has errors of its own, and none of them is ours
        raise OSError(errno.EIO, f"{type(error).__name__}: {error}", source.url) from error


def _may_pass(cause: BaseException | None) -> bool:
    """Whether a web server, or the way to it, failed: fsspec says of both that there is no such file."""
    status = getattr(cause, "status", None)
    if status is not None:
        return status >= 500 or status in _TRY_AGAIN
    return type(cause).__module__.startswith("aiohttp") or isinstance(cause, ConnectionError | TimeoutError)
