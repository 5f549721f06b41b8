"""Decompress a source in chunks of bounded size. The compression is detected from the content, not from the file's name.

The limits on size and ratio are checked for every chunk, so a decompression bomb costs one chunk of memory.
"""

from __future__ import annotations

import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

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
_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
_CORRUPT = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstd.ZstdError)


def is_plain(stored: Stored) -> bool:
    """Whether the file is not compressed."""
    return not stored.peek(6).startswith((_GZIP, _XZ, _ZSTD))


def chunks(stored: Stored, limits: Limits) -> Iterator[bytes]:
    """Yield the decompressed bytes, about CHUNK at a time. Raises BadInput for corrupt input and exceeded limits."""
    file = stored.source.url
    total = yielded = 0
    parts: list[bytes] = []
    try:
        for part in _plain(stored):
            total += len(part)
            if total > limits.bytes:
                raise BadInput(file, f"has more than {limits.bytes} bytes of content, the limit")
            if total > RATIO_FROM and total > limits.ratio * stored.bytes:
                raise BadInput(
                    file, f"{stored.bytes} bytes decompress to over {total}, more than {limits.ratio:g} times, the limit"
                )
            parts.append(part)
            if total - yielded >= CHUNK:
                yield b"".join(parts)
                parts, yielded = [], total
    except _CORRUPT as error:
        raise BadInput(file, f"the compressed data is truncated or corrupt: {error} (after {total} bytes of content)") from error
    if parts:
        yield b"".join(parts)


def _plain(stored: Stored) -> Iterator[bytes]:
    head = stored.peek(6)
    if head.startswith(_GZIP):
        return _read(gzip.GzipFile(fileobj=cast(IO[bytes], stored), mode="rb"))
    if head.startswith(_XZ):
        return _frames(stored, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY))
    if head.startswith(_ZSTD):
        return _frames(stored, zstd.ZstdDecompressor)
    return _read(stored)


def _read(file: Any) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _frames(stored: Stored, new: Callable[[], Any]) -> Iterator[bytes]:
    """Decompress concatenated frames, which may be padded with zeros."""
    data = stored.read()
    while data:
        frame = new()
        while not frame.eof:
            if not data and frame.needs_input and not (data := stored.read()):
                raise EOFError("the file ends before its end mark")
            if chunk := frame.decompress(data, CHUNK):
                yield chunk
            data = b""
        data = frame.unused_data.lstrip(b"\0")
        while not data and (more := stored.read()):
            data = more.lstrip(b"\0")
