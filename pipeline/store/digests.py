"""Digests of files, computed by all cores.

The digest of a file of at most `BLOCK` bytes is its SHA-256. That of a larger file is the SHA-256 of the concatenated SHA-256 of
its blocks of `BLOCK` bytes, of which the last may be shorter, so that many cores can work on one file.
"""

import hashlib
import json
import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from kernels.cpu.parallel import over_items
from kernels.cpu.spare import Spare
from pipeline.store.scratch import scratch

BLOCK = 2**26  # bytes
_READ = 2**24  # bytes in memory at a time; before and after each read a thread may have to wait for the GIL
_WORTH_THREADS = 2**20  # bytes
_RECENT = 3 * 10**9  # nanoseconds: a longer step than that of any file system's clock


class Digest:
    """The digest of bytes that arrive one after the other."""

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._block, self._left = hashlib.sha256(), BLOCK

    def update(self, data: bytes) -> None:
        """Append bytes."""
        rest = memoryview(data)
        while len(rest) > self._left:
            self._block.update(rest[: self._left])
            rest = rest[self._left :]
            self._blocks.append(self._block.digest())
            self._block, self._left = hashlib.sha256(), BLOCK
        self._block.update(rest)
        self._left -= len(rest)

    def hexdigest(self) -> str:
        """The digest of the bytes so far."""
        return joined([*self._blocks, self._block.digest()])


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


class Remembered:
    """Digests of files, which a JSON file keeps: a file that was not written since is not read again."""

    def __init__(self, path: Path) -> None:
        self._path, self._asked = path, dict[str, list[int | str]]()
        try:
            self._known = _RECORD.validate_json(path.read_bytes())
        except (OSError, ValueError):
            self._known = {}

    def digest_of(self, file: Path) -> str:
        """The digest of a file."""
        unwritten, known = Unwritten(file), self._known.get(str(file), [])
        digest = str(known[-1]) if unwritten and known[:-1] == list(unwritten.seen) else digest_of_file(file)
        if unwritten:
            self._asked[str(file)] = [*unwritten.seen, digest]
        return digest

    def save(self) -> None:
        """Keep the digests that were asked for."""
        if self._asked != self._known:
            with scratch(self._path.parent) as unfinished:
                file = unfinished / self._path.name
                file.write_text(json.dumps(self._asked), encoding="utf-8")
                file.replace(self._path)


def _look(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    if abs(time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns)) < _RECENT:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest_of_file(path: Path) -> str:
    """The digest of a file."""
    return digests_of_files([path])[0]


def digests_of_files(paths: Sequence[Path]) -> list[str]:
    """The digests of files."""
    sizes = [path.stat().st_size for path in paths]
    blocks = [range(0, max(size, 1), BLOCK) for size in sizes]
    tasks = [(path, begin) for path, begins in zip(paths, blocks, strict=True) for begin in begins]
    buffers = Spare(lambda: np.empty(min(_READ, max(sizes)), np.uint8).data)
    found = iter(over_items(tasks, partial(_digest_of_block, buffers), parallel=sum(sizes) > _WORTH_THREADS))
    return [joined([next(found) for _ in begins]) for begins in blocks]


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file of any size, as other tools compute it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of_block(buffers: Spare[memoryview], block: tuple[Path, int]) -> bytes:
    path, begin = block
    digest, end, buffer = hashlib.sha256(), begin + BLOCK, buffers.take()
    file = os.open(path, os.O_RDONLY)  # Python's own files make more calls, each of which may wait for the GIL
    try:
        while begin < end and (read := os.preadv(file, [buffer[: end - begin]], begin)):
            digest.update(buffer[:read])
            begin += read
    finally:
        os.close(file)
    buffers.give_back(buffer)
    return digest.digest()


def joined(blocks: list[bytes]) -> str:
    """The digest of a file from the SHA-256 of each of its blocks."""
    return (blocks[0] if len(blocks) == 1 else hashlib.sha256(b"".join(blocks)).digest()).hex()
