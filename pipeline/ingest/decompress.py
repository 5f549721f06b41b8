"""Decompress a source in chunks of bounded size. The compression is detected from the content, not from the file's name.

The limits on size, ratio, frames and time are checked for every chunk, so a decompression bomb costs one chunk of memory.
"""

import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.config.graph import RATIO_FROM, Limits
from pipeline.config.model import MIB
from pipeline.errors import BadInput
from pipeline.ingest.source import Stored

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK = 8 * MIB
XZ_MEMORY = 256 * MIB  # an xz header may request 4 GiB; `xz -9` requests 65 MiB
READ = 2**16  # bytes given to a decompressor, which copies what follows the end of a frame
FRAME = 2**10  # stored bytes that an allowed frame has on average, beyond Limits.frames
_CORRUPT = (EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError)


class _Gzip:
    """A decompressor of one gzip member with the methods of those of lzma and zstd; zlib checks its header and checksum."""

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


_NEW: dict[bytes, Callable[[], Any]] = {  # how a frame begins, and its decompressor
    b"\x1f\x8b": _Gzip,
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY),
    b"\x28\xb5\x2f\xfd": zstd.ZstdDecompressor,
}


def _decompressor(stored: Stored) -> Callable[[], Any] | None:
    head = stored.peek(6)
    return next((new for magic, new in _NEW.items() if head.startswith(magic)), None)


def is_plain(stored: Stored) -> bool:
    """Whether the file is not compressed."""
    return _decompressor(stored) is None


def chunks(stored: Stored, limits: Limits) -> Iterator[bytes]:
    """Yield the decompressed bytes, about CHUNK at a time. Raises BadInput for corrupt input and exceeded limits."""
    file = stored.source.url
    new = _decompressor(stored)
    total = yielded = 0
    parts: list[bytes] = []
    try:
        for part in _frames(stored, new, limits) if new else iter(lambda: stored.read(CHUNK), b""):
            total += len(part)
            if total > limits.bytes:
                raise BadInput(file, f"has more than {limits.bytes} bytes of content, the limit (graph.limits.bytes)")
            if total > RATIO_FROM and total > limits.ratio * stored.bytes:
                expanded = f"{stored.bytes} bytes decompress to over {total}, more than {limits.ratio:g} times"
                raise BadInput(file, f"{expanded}, the limit (graph.limits.ratio)")
            parts.append(part)
            if total - yielded >= CHUNK:
                yield b"".join(parts)
                parts, yielded = [], total
    except _CORRUPT as error:
        raise BadInput(file, f"the compressed data is truncated or corrupt: {error} (after {total} bytes of content)") from error
    if parts:
        yield b"".join(parts)


def _frames(stored: Stored, new: Callable[[], Any], limits: Limits) -> Iterator[bytes]:
    """Decompress concatenated frames, which may be padded with zeros."""
    data = stored.read(READ)
    count = 0
    while data:
        frame = new()
        count += 1
        if count > limits.frames and count * FRAME > stored.bytes:
            many = f"{limits.frames} compressed frames, of under {FRAME} bytes on average"
            raise BadInput(stored.source.url, f"has more than {many}, the limit (graph.limits.frames)")
        while not frame.eof:
            if not data and frame.needs_input and not (data := stored.read(READ)):
                raise EOFError("the file ends before its end mark")
            if chunk := frame.decompress(data, CHUNK):
                yield chunk
            data = b""
        data = frame.unused_data.lstrip(b"\0")
        while not data and (more := stored.read(READ)):
            data = more.lstrip(b"\0")
