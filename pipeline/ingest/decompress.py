"""Decompress a source in chunks of bounded size. The compression is detected from the content, not from the file's name.

The limits on size, ratio, frames and time are checked for every chunk, so a decompression bomb costs a few chunks of memory.
Short frames of zstd, as pzstd writes them, are decompressed on all cores.
"""

import bz2
import lzma
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from kernels.cpu.parallel import cores
from pipeline.config.graph import RATIO_FROM, Limits
from pipeline.config.model import MIB
from pipeline.errors import BadInput
from pipeline.ingest.archives import BLOCK, USTAR, ZIP, is_tar, tar_member, zip_member
from pipeline.ingest.source import Stored
from pipeline.runtime.threads import map_in_order

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 4 * MIB
XZ_MEMORY = 256 * MIB  # an xz header may request 4 GiB; `xz -9` requests 65 MiB
READ = 2**16  # bytes given to a decompressor, which copies what follows the end of a frame
SHORT = 16 * MIB  # stored bytes of a short frame at most
_HELD = 4  # chunks of a short frame that a thread decompresses before the others are taken
_NO_END = "the file ends before its end mark"
FRAME = 2**10  # stored bytes that an allowed frame has on average, beyond Limits.frames
_CORRUPT = (EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError, zipfile.BadZipFile)
_ZSTD = b"\x28\xb5\x2f\xfd"  # the beginning of a frame


class _Gzip:
    """A decompressor of one gzip member with the interface of those of lzma and zstd; zlib checks header and checksum."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS + 16)

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def needs_input(self) -> bool:
        return not self._member.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, size: int) -> bytes:
        return self._member.decompress(self._member.unconsumed_tail + data, size)


class _Bzip2:
    """A decompressor of one bzip2 stream, whose errors are not taken for those of a disk."""

    def __init__(self) -> None:
        self._stream = bz2.BZ2Decompressor()

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return self._stream.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, size: int) -> bytes:
        try:
            return self._stream.decompress(data, size)
        except OSError as error:
            raise EOFError(f"bzip2: {error}") from None


_NEW: dict[bytes, Callable[[], Any]] = {  # how a frame begins, and its decompressor
    b"\x1f\x8b": _Gzip,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY),
    _ZSTD: zstd.ZstdDecompressor,
    **{b"BZh%d" % level + block: _Bzip2 for level in range(1, 10) for block in (b"1A", b"\x17r")},
}


def _decompressor(stored: Stored) -> Callable[[], Any] | None:
    head = stored.peek(6)
    return next((new for magic, new in _NEW.items() if head.startswith(magic)), None)


def is_plain(stored: Stored) -> bool:
    """Whether the file is neither compressed nor an archive."""
    head = stored.peek(BLOCK)
    return _decompressor(stored) is None and not head.startswith(ZIP) and not (USTAR in head and is_tar(head))


def chunks(stored: Stored, limits: Limits) -> Iterator[bytes]:
    """Yield the decompressed bytes, about CHUNK at a time; of an archive, those of `stored.member`, which is known by then.

    Raises BadInput for corrupt input and exceeded limits.
    """
    if stored.peek(BLOCK).startswith(ZIP):
        plain = _bounded(stored, iter(lambda: stored.read(CHUNK), b""), limits)
        with saved(stored.source.local, plain) as path:
            yield from _bounded(stored, zip_member(stored, path, limits), limits)
        return
    new = _decompressor(stored)
    stream = _bounded(stored, _frames(stored, new, limits) if new else iter(lambda: stored.read(CHUNK), b""), limits)
    first = next(stream, b"")
    whole = chain([first] if first else [], stream)
    yield from tar_member(stored, whole, limits) if USTAR in first[:BLOCK] and is_tar(first) else whole


def _bounded(stored: Stored, stream: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    """The bytes of a stream, about CHUNK at a time. Raises BadInput for corrupt input and exceeded limits."""
    file = stored.source.url
    total = yielded = 0
    parts: list[bytes] = []
    try:
        for part in stream:
            total += len(part)
            if total > limits.bytes:
                raise BadInput(file, f"has more than {limits.bytes} bytes of content, the limit (graph.limits.bytes)")
            if total > RATIO_FROM and total > limits.ratio * stored.bytes:
                expanded = f"{stored.bytes} bytes decompress to over {total}, more than {limits.ratio:g} times"
                raise BadInput(file, f"{expanded}, the limit (graph.limits.ratio)")
            parts.append(part)
            if total - yielded >= CHUNK // 2:
                yield b"".join(parts)
                parts, yielded = [], total
    except _CORRUPT as error:
        raise BadInput(file, f"the compressed data is truncated or corrupt: {error} (after {total} bytes of content)") from error
    if parts:
        yield b"".join(parts)


@contextmanager
def saved(path: Path | None, stream: Iterator[bytes], folder: Path | None = None) -> Iterator[Path]:
    """Yield a file for a reader that needs random access: an uncompressed one of this machine at `path`, or a copy of `stream`.

    The copy is in `folder`, or in the folder of temporary files. Its name says nothing about the format.
    """
    if path:
        yield path
        return
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        try:
            file.writelines(stream)
            file.flush()
        except OSError as error:  # the disk may be full; that the stream cannot be read is a BadInput
            if error.errno is not None:  # without one, a name would hide the text
                error.filename = error.filename or str(Path(file.name).parent)
            raise
        yield Path(file.name)


def _frames(stored: Stored, new: Callable[[], Any], limits: Limits) -> Iterator[bytes]:
    """Decompress concatenated frames, which may be padded with zeros if they are not zstd's."""
    short, count, padding = _ShortFrames(stored, limits), 0, b"\0"
    if new is zstd.ZstdDecompressor:
        padding = b""
        for parts, frame in map_in_order(_begun, short, cores()):
            yield from parts
            yield from _following(frame)
        count = short.count
    data = _next(stored, short.rest, padding) if count else short.rest or stored.read(READ)
    while data:
        frame = new()
        count += 1
        _require_few(stored, count, limits)
        while not frame.eof:
            if not data and frame.needs_input and not (data := stored.read(READ)):
                raise EOFError(_NO_END)
            if chunk := frame.decompress(data, CHUNK):
                yield chunk
            data = b""
        data = _next(stored, frame.unused_data, padding)


def _next(stored: Stored, data: bytes, padding: bytes) -> bytes:
    """The bytes after the padding behind a frame, of which `data` was read; empty at the end of the file."""
    data = data.lstrip(padding)
    while not data and (more := stored.read(READ)):
        data = more.lstrip(padding)
    return data


class _ShortFrames:
    """The short zstd frames at the beginning of a file; `rest` has the bytes read after them, `count` their number."""

    def __init__(self, stored: Stored, limits: Limits) -> None:
        self.rest, self.count = b"", 0
        self._stored, self._limits = stored, limits

    def __iter__(self) -> Iterator[bytes]:
        begin, end = 0, -1
        while end:
            while len(self.rest) - begin < SHORT and (more := self._stored.read(SHORT)):
                self.rest, begin = self.rest[begin:] + more, 0
            if end := _end_of_frame(self.rest, begin):
                self.count += 1
                _require_few(self._stored, self.count, self._limits)
                yield self.rest[begin:end]
                begin = end
        self.rest = self.rest[begin:]


def _end_of_frame(data: bytes, begin: int) -> int:
    """The end of the zstd frame at `begin` (RFC 8878, section 3.1.1); 0 if there is none, or if it ends after `data`."""
    if not data.startswith(_ZSTD, begin) or len(data) < begin + 5:
        return 0
    descriptor = data[begin + 4]
    single, has_checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    at = begin + 6 - single + (0, 1, 2, 4)[descriptor & 3] + (single, 2, 4, 8)[descriptor >> 6]
    while at + 3 <= len(data):
        block = int.from_bytes(data[at : at + 3], "little")
        repeats_a_byte, is_last = block >> 1 & 3 == 1, block & 1
        at += 3 + (1 if repeats_a_byte else block >> 3)
        if is_last:
            at += 4 * has_checksum
            return at if at <= len(data) else 0
    return 0


def _begun(data: bytes) -> tuple[list[bytes], Any]:
    """The first chunks of a complete frame, and its decompressor, which has the others."""
    frame = zstd.ZstdDecompressor()
    return [frame.decompress(data, CHUNK), *islice(_following(frame), _HELD - 1)], frame


def _following(frame: Any) -> Iterator[bytes]:
    """The chunks that a decompressor has, up to the end of its frame."""
    while not frame.eof:
        if frame.needs_input:
            raise EOFError(_NO_END)
        yield frame.decompress(b"", CHUNK)


def _require_few(stored: Stored, count: int, limits: Limits) -> None:
    """Raise BadInput for a file with many frames that are tiny on average."""
    if count > limits.frames and count * FRAME > stored.bytes:
        many = f"{limits.frames} compressed frames, of under {FRAME} bytes on average"
        raise BadInput(stored.source.url, f"has more than {many}, the limit (graph.limits.frames)")
