"""Digests of files: BLAKE3 for what the project compares itself, and SHA-256, which every other tool computes, of sources.

BLAKE3 (O'Connor, Aumasson, Neves and Wilcox-O'Hearn, 2020) divides a file into a tree, so that many cores can work on one.
Only one core can work on the SHA-256 of a file. A run computes them in the background, and keeps them by BLAKE3 digests in a file
beside the steps, so a file whose content is known is not read again.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from blake3 import blake3
from pydantic import TypeAdapter

from kernels.cpu.parallel import cores, over_items
from kernels.cpu.spare import Spare
from kernels.cpu.staying import StayingThreads
from kernels.spans import span
from pipeline.errors import Changed
from pipeline.runtime.threads import ahead
from pipeline.signals import beside
from pipeline.store.scratch import replace_text

SUMS = "sha256.json"
LARGE = 2**25  # bytes of a file from which on all cores may work on it together
_READ = 2**23  # bytes that each core reads of such a file at a time, at most; before and after it may have to wait for the GIL
_LEAST = 2**20  # the same, at least, and of other files: as much as stays in a core's cache, and needs no new pages of memory
_PARTS = 8  # in which such a file is read, at least
_WORTH_THREADS = 2**20  # bytes
_RECENT = 3 * 10**9  # nanoseconds: a longer step than that of any file system's clock


class Digest:
    """The BLAKE3 digest of bytes that arrive one after the other."""

    def __init__(self, threads: int = 1) -> None:
        """`threads` work on large arguments of `update`; they are this object's own, because a forked child has no others."""
        self._hash = blake3(max_threads=threads)

    def update(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        self._hash.update(data)

    def hexdigest(self) -> str:
        """The digest of the bytes so far."""
        return self._hash.hexdigest()


_SUMS = TypeAdapter(dict[str, str])
_RECORD = TypeAdapter(dict[str, list[int | str]])  # of a file: what `Unwritten` has seen of it, and its digest


class Unwritten:
    """Whether a file has not been written since this object was made: it is the same file with the same size and times.

    A file that was written just before is never taken for unwritten, because its times might not change with the next write.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seen = _look(path)  # device, inode, size and times; empty if the file was just written

    def __bool__(self) -> bool:
        return bool(self.seen) and _look(self._path) == self.seen

    def require_listed(self) -> None:
        """Raise Changed if files were added to a source of several files, or removed; one file has no list."""


class Remembered:
    """Digests of files, which a JSON file keeps: a file that was not written since is not read again."""

    def __init__(self, path: Path) -> None:
        self._path, self._requested = path, dict[str, list[int | str]]()
        try:
            self._known = _RECORD.validate_json(path.read_bytes())
        except (OSError, ValueError):
            self._known = {}

    def digest_of(self, file: Path) -> str:
        """The digest of a file."""
        unwritten, known = Unwritten(file), self._known.get(str(file), [])
        is_known = unwritten and known[:-1] == list(unwritten.seen)
        digest = str(known[-1]) if is_known else _computed("blake3", digest_of_file, file, unwritten)
        if unwritten:
            self._requested[str(file)] = [*unwritten.seen, digest]
        return digest

    def save(self) -> None:
        """Keep the digests that were asked for."""
        if self._requested != self._known:
            replace_text(self._path, json.dumps(self._requested))


def _look(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return _seen_in(status)


def _seen_in(status: os.stat_result) -> tuple[int, ...]:
    if abs(time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns)) < _RECENT:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class _AnotherFile(Exception):
    """The file that was opened is not the one that was seen: a link or a folder has been exchanged between."""


_begun = dict[tuple[Path, str], tuple[tuple[int, ...], Future[str]]]()  # by file and hash: what was seen of the file before


def begin_digests(path: Path) -> None:
    """Begin to compute the BLAKE3 digest and the SHA-256 of a large file that this process will read, unless just written."""
    if unwritten := Unwritten(path):
        seen = unwritten.seen
        _begun[path, "blake3"] = seen, beside(partial(_digest_of_large, path, seen))
        _begun[path, "sha256"] = seen, beside(partial(_hashed_ahead, path, hashlib.sha256(), 1, LARGE, seen))


def _computed(name: str, compute: Callable[[Path], str], path: Path, unwritten: Unwritten) -> str:
    """A digest of a file, of its present content if it stays unwritten: one that was begun, if the file is the same since."""
    seen, begun = _begun.pop((path, name), ((), None))
    with suppress(_AnotherFile):
        if begun and seen == unwritten.seen:
            return begun.result()
    return compute(path)


def digest_of_file(path: Path) -> str:
    """The digest of a file."""
    return digests_of_files([path])[0]


def digests_of_files(paths: Sequence[Path]) -> list[str]:
    """The digests of files."""
    sizes = [path.stat().st_size for path in paths]
    share = max(LARGE, sum(sizes) // cores())  # a core that had more would be the last to finish
    small = [path for path, size in zip(paths, sizes, strict=True) if size < share]
    buffers = Spare(lambda: np.empty(_LEAST, np.uint8).data)
    with span("digest files", "read"):
        one_core_each = over_items(small, partial(_digest_of_small, buffers), parallel=sum(sizes) > _WORTH_THREADS)
        of_small = dict(zip(small, one_core_each, strict=True))
        return [of_small[path] if path in of_small else _digest_of_large(path) for path in paths]


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in large parts: it runs beside other threads, and may wait for the GIL before each."""
    if (size := path.stat().st_size) < LARGE:
        return _hashed(path, hashlib.sha256(), np.empty(max(size, 1), np.uint8).data)
    return _hashed_ahead(path, hashlib.sha256(), 1, LARGE)


def _digest_of_small(buffers: Spare[memoryview], path: Path) -> str:
    buffer = buffers.take()
    digest = _hashed(path, Digest(), buffer)
    buffers.release(buffer)
    return digest


class _Hash(Protocol):
    def update(self, data: memoryview, /) -> None: ...

    def hexdigest(self) -> str: ...


def _hashed(path: Path, digest: _Hash, buffer: memoryview) -> str:
    """The digest of a file that one thread reads through a buffer."""
    file, at = os.open(path, os.O_RDONLY), 0  # Python's own files make more calls, each of which may wait for the GIL
    try:
        while read := os.preadv(file, [buffer], at):
            digest.update(buffer[:read])
            at += read
    finally:
        os.close(file)
    return digest.hexdigest()


def _digest_of_large(path: Path, seen: tuple[int, ...] = ()) -> str:
    """Read by all cores and hashed by all cores."""
    return _hashed_ahead(path, Digest(cores()), cores(), _READ, seen)


def _hashed_ahead(path: Path, digest: _Hash, readers: int, most: int, seen: tuple[int, ...] = ()) -> str:
    """The digest of a file, of which threads read the next bytes, up to `most` each, while the last ones are hashed.

    A memory map would need no buffers, but a file that another program makes shorter would end the process. Raises `_AnotherFile`
    unless the file is the one that was `seen`, if any.
    """
    part = min(max(path.stat().st_size // (_PARTS * readers), _LEAST), most)
    file = os.open(path, os.O_RDONLY)
    try:
        if seen and _seen_in(os.fstat(file)) != seen:
            raise _AnotherFile
        with StayingThreads(readers) as pool:
            for read in ahead(_parts(file, readers, part, pool), 1):
                digest.update(read)
    finally:
        os.close(file)
    return digest.hexdigest()


def _parts(file: int, readers: int, part: int, pool: Executor) -> Iterator[memoryview]:
    """The content of a file in order, in two buffers: what is yielded is valid until the one after the next is asked for."""
    at, size = 0, readers * part
    buffers = [np.empty(size, np.uint8).data for _ in range(2)]

    def fill(buffer: memoryview, begin: int) -> int:
        done, end = begin, begin + part
        while done < end and (read := os.preadv(file, [buffer[done:end]], at + done)):
            done += read
        return done - begin

    while True:
        buffer = buffers[0]
        read = sum(pool.map(partial(fill, buffer), range(0, size, part)))
        yield buffer[:read]
        if read < size:
            return
        at += read
        buffers.reverse()


class Sums:
    """SHA-256 of files by BLAKE3 digests; `path` is the file that keeps them, None for none."""

    def __init__(self, path: Path | None = None) -> None:
        self._path, self._computed = path, dict[str, Future[str]]()
        self._begun = list[tuple[Future[str], Future[str]]]()  # the digests of files, and their sums
        try:
            self._known = _SUMS.validate_json(path.read_bytes()) if path else {}
        except (OSError, ValueError):
            self._known = {}

    def note(self, digest: str, sha256: str) -> None:
        """Keep a sum that was computed elsewhere."""
        self._known[digest] = sha256

    def begin(self, digest: str, path: Path, unwritten: Unwritten) -> None:
        """Compute the sum of a file that has this digest as long as it is unwritten, unless it is known."""
        if digest not in self._known and digest not in self._computed:
            self._computed[digest] = beside(partial(_sum_of, path, unwritten, digest))

    def begin_with(self, digest: Future[str], path: Path, unwritten: Unwritten) -> None:
        """The same while the digest is computed; then both are of the same content only if the file stays unwritten."""
        self._begun.append((digest, beside(partial(_sum_of, path, unwritten, None))))

    def of(self, digests: Iterable[str]) -> dict[str, str]:
        """The sums that are known or were begun, by digests; waits for them, and forgets all others.

        Raises Changed if a file changed before it was read, and OSError if it cannot be read.
        """
        wanted = set(digests)
        self._computed |= {digest.result(): sha256 for digest, sha256 in self._begun if not digest.exception()}
        known = {digest: sha256 for digest, sha256 in self._known.items() if digest in wanted}
        sums = known | {digest: of.result() for digest, of in self._computed.items() if digest in wanted}
        if self._path and sums != self._known:
            replace_text(self._path, json.dumps(sums))
        self._known = sums
        return sums


def _sum_of(path: Path, unwritten: Unwritten, digest: str | None) -> str:
    sha256 = _computed("sha256", sha256_of, path, unwritten)
    if not unwritten and (digest is None or digest_of_file(path) != digest):
        raise Changed(str(path), "changed while it was read")
    return sha256
