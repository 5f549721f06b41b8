"""A source file at a path or a URL: its file system, the identity of its content, and its bytes as a stream.

Errors that the user can fix (no such file, no permission, an unknown protocol) become BadInput. Every other error of a file
system becomes an OSError, so that a flow retries.
"""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from kernels.records import dataclass
from pipeline.config.model import is_utf8
from pipeline.errors import BadInput, Changed, GraphmillError
from pipeline.redaction import redacted
from pipeline.store.digests import Digest, Unwritten, digest_of_file, sha256_of
from pipeline.store.manifest import digest_of

READ = 2**20  # bytes per read
HERE = "this machine"  # in the place of fsspec's local file system, because fsspec takes long to import
NOT_LISTED = "the files of a web site cannot be listed; name each by its URL, in a list"
_VALIDATORS = ("ETag", "Content-MD5", "Digest", "Last-Modified")
_RETRIABLE = {408, 425, 429}  # HTTP: timeout, too early, too many requests
_USER_ERRORS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


@dataclass(frozen=True)
class Source:
    """A file: the user's path or URL, without secrets, and its file system and path, which may contain secrets."""

    url: str
    fs: Any  # HERE, or of fsspec
    path: str
    below: str = ""  # of one that a pattern names: its path below the folder where the pattern begins

    @property
    def name(self) -> str:
        """The name of the file, without its folder, or with the folders that a pattern names."""
        return self.below or self.url.rstrip("/").rpartition("/")[2]

    @cached_property
    def local(self) -> Path | None:
        """The path on this machine; None for a remote file."""
        return Path(self.path) if self.fs == HERE or _is_local(self.fs) else None

    @property
    def is_local(self) -> bool:
        """Whether the file is on this machine."""
        return self.local is not None

    @property
    def size(self) -> int | None:
        """Bytes of the file, as stored; None for a remote file."""
        return self.local.stat().st_size if self.local else None

    @property
    def location(self) -> str:
        """Where the file is, however the user wrote it: the absolute path without links of a local file, otherwise the URL."""
        return self.url if self.local is None else os.path.realpath(self.local)

    def require_local(self) -> Path:
        """The path on this machine. Raises BadInput for a remote file."""
        if self.local is None:
            raise BadInput(self.url, "is a URL; it must be a file of this machine")
        return self.local

    @cached_property
    def unwritten(self) -> Unwritten | None:
        """Whether the file has not been written since this was called first; None for a remote file."""
        return Unwritten(self.local) if self.local else None


def locate(url: str) -> Source:
    """Find the file system of a path or URL. Raises BadInput if it cannot be opened, or if a local path is not a file."""
    shown = redacted(url) if is_url(url) else url
    if shown != url and any(map(str.isspace, url)):
        raise BadInput(
            redacted(url.split(maxsplit=1)[0]),
            "has white space in a URL with a query, a fragment or user information; write it as %20",
        )
    if not is_url(url):
        source = Source(url, HERE, str(Path(url).absolute()))
    else:
        with reading(Source(shown, None, "")):
            source = _open_file_system(url, shown)
    if not is_utf8(source.path):
        raise BadInput(f"{shown!a}", "its path is not UTF-8")
    if source.local is not None and not source.local.is_file():
        raise BadInput(shown, _why_not_a_file(source.local))
    _ = source.unwritten  # from now on
    return source


def is_url(text: str) -> bool:
    """Whether a text is a URL, perhaps a chained one, and no path."""
    return "://" in text or ("::" in text and not Path(text).exists())


def is_of_web_site(url: str) -> bool:
    """Whether a URL is one of a web site, whose files nobody can list: pages with links need not be folders."""
    return url.lower().startswith(("http://", "https://"))


def _is_local(fs: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(fs, LocalFileSystem)


def _open_file_system(url: str, shown: str) -> Source:
    import fsspec

    try:
        return Source(shown, *fsspec.core.url_to_fs(url))
    except OSError:
        raise
    except Exception as error:  # the protocol is unknown, is not installed, or needs what a URL cannot state
        raise BadInput(shown, f"cannot be opened: {redacted(str(error)) or type(error).__name__}") from None


def _why_not_a_file(path: Path) -> str:
    if path.is_dir():
        return "is a directory, not a file"
    return "is not a regular file" if path.exists() else "no such file"


def identify(source: Source, sha256: str | None) -> str:
    """Return a string that changes with the content.

    It is the BLAKE3 digest of a local file; of a remote one its SHA-256, if that is stated, or the digest of what the file system
    says of the content. Raises BadInput if a local file's SHA-256 differs from the stated one.
    """
    with reading(source):
        if source.local is not None:
            if sha256 is not None:
                check_sha256(source, sha256_of(source.local), sha256)
            return digest_of_file(source.local)
        if sha256 is not None:
            return sha256
        source.fs.invalidate_cache()
        info = source.fs.info(source.path)
        if "http" not in source.fs.protocol:
            return digest_of([source.url, source.fs.ukey(source.path)])
        query = hashlib.sha256(source.path.partition("?")[2].encode()).hexdigest()  # it may choose the content
        # fsspec's own key for a web page is its address, which does not change with the content.
        validators = {name: info[name] for name in _VALIDATORS if name in info}
        if validators:
            return digest_of([source.url, query, info.get("size"), validators])
    with stored(source) as content:
        content.check(None, None)
        return content.digest


class Stored:
    """The stored bytes of a source, still compressed: read once and counted; those of a remote file are hashed while read."""

    def __init__(self, source: Source, file: Any) -> None:
        self.source = source
        self.member = ""  # the file of an archive that is read; known once it is (`pipeline.ingest.decompress.chunks`)
        self.bytes = 0
        self._size = source.local.stat().st_size if source.local else 0
        self._file = file
        self._digest, self._sha256 = Digest(), hashlib.sha256()  # unless the file is local
        self._checked_digest: str | None = None
        self._ahead = b""

    @property
    def file(self) -> str:
        """What messages name: the source, and its member if it is an archive."""
        return f"{self.source.url}/{self.member}" if self.member else self.source.url

    @property
    def digest(self) -> str:
        """BLAKE3 digest of the bytes, once they were checked."""
        assert self._checked_digest is not None, "the content was not checked"
        return self._checked_digest

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the bytes of a remote file, once they were checked; None for a local one."""
        return None if self.source.local else self._sha256.hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the file; of a remote file, those read so far."""
        return max(self.bytes, self._size)

    @property
    def total(self) -> int | None:
        """Bytes of the file; None for a remote one."""
        return self._size if self.source.local else None

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer at the end, without consuming them."""
        while len(self._ahead) < size and (more := self._pull(READ)):
            self._ahead += more
        return self._ahead[:size]

    def read(self, size: int = READ) -> bytes:
        """Return up to `size` bytes; empty at the end."""
        if not self._ahead:
            return self._pull(size)
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data

    def drain(self) -> None:
        """Read the rest."""
        while self.read():
            pass

    def check(self, digest: str | None, sha256: str | None) -> None:
        """Raise BadInput unless the content has this digest and, if it is remote, this SHA-256; the rest of it is read.

        A local file, whose SHA-256 was compared before, still has its digest if it was not written in the meantime.
        """
        if self.source.local:
            self.bytes = self._size
            self._checked_digest = digest if digest and self.source.unwritten else digest_of_file(self.source.local)
        else:
            self.drain()
            self._checked_digest = self._digest.hexdigest()
            check_sha256(self.source, self._sha256.hexdigest(), sha256)
        if digest is not None and self.digest != digest:
            raise Changed(self.source.url, "changed while it was read")

    def _pull(self, size: int) -> bytes:
        with reading(self.source):
            data: bytes = self._file.read(size)
        self.bytes += len(data)
        if not self.source.local:
            self._digest.update(data)
            self._sha256.update(data)
        return data


@contextmanager
def stored(source: Source) -> Iterator[Stored]:
    """Open a source; close it at the end of the block."""
    with reading(source):
        file = source.local.open("rb") if source.local else source.fs.open(source.path, "rb")
    try:
        yield Stored(source, file)
    finally:
        file.close()


def require_same(source: Source, digest: str) -> None:
    """Raise BadInput unless a file that has been read still has the digest that `identify` gave before."""
    with stored(source) as content:
        content.check(digest, None)


def check_sha256(source: Source, actual: str, stated: str | None) -> None:
    """Raise BadInput if a SHA-256 is stated and differs from the actual one."""
    if stated is not None and actual != stated:
        raise BadInput(source.url, f"its SHA-256 is {actual}, expected {stated}")


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Turn errors of a file system into BadInput, if the user can fix them, or OSError."""
    try:
        yield
    except _USER_ERRORS as error:
        cause = error.__cause__
        if _is_transient(cause):
            raise OSError(errno.EIO, _text(cause), source.url) from None
        status = getattr(cause, "status", None)
        reason = f"the server answered {status}" if status else redacted(error.strerror or "no such file")
        raise BadInput(source.url, reason) from None
    except GraphmillError:
        raise
    except OSError as error:
        if source.local is not None:
            raise
        raise OSError(error.errno or errno.EIO, _text(error), source.url) from None
    except Exception as error:  # each protocol has its own exception types
        raise OSError(errno.EIO, _text(error), source.url) from None


def _text(error: BaseException | None) -> str:
    """Describe an error of a file system. The raised error does not chain it, because a log would show its URL."""
    return f"{type(error).__name__}: {redacted(str(error))}"


def _is_transient(cause: BaseException | None) -> bool:
    """Whether the server or the connection failed, which fsspec reports as FileNotFoundError, too."""
    status = getattr(cause, "status", None)
    if status is not None:
        return status >= 500 or status in _RETRIABLE
    return type(cause).__module__.startswith("aiohttp") or isinstance(cause, ConnectionError | TimeoutError)
