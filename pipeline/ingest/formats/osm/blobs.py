"""The blobs of a PBF file: each a length, a header that states its type and size, and its content, mostly compressed.

A content has at most 32 MiB, a header 64 KiB, as the format says (https://wiki.openstreetmap.org/wiki/PBF_Format).
"""

import lzma
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from pipeline.config.graph import RATIO_FROM, Limits
from pipeline.config.model import MIB
from pipeline.errors import BadInput
from pipeline.ingest.formats.osm.wire import fields

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LONGEST_HEADER, LONGEST = 64 * 1024, 32 * MIB
_HEADER, _DATA = b"OSMHeader", b"OSMData"
_SHORT = "the file ends before its end"
_LENGTH = struct.Struct(">I")
_RAW, _SIZE, _OLD_BZIP2 = 1, 2, 5
_OPTIONAL, _SORTED = 5, b"Sort.Type_then_ID"  # first nodes, then ways, then relations
_KNOWN = {"OsmSchema-V0.6", "DenseNodes"}  # features that a reader must have; `HistoricalInformation` is another


@dataclass(frozen=True)
class Blob:
    """The stored content of a blob, and the place of its length in the file."""

    file: str
    offset: int
    content: bytes

    def wrong(self, reason: str) -> BadInput:
        """The error of what is wrong with it."""
        return BadInput(self.file, f"the blob at byte {self.offset}: {reason}")

    def data(self) -> bytes:
        """The content, decompressed. Raises BadInput."""
        parts = fields(memoryview(self.content))
        if parts is None or len(kinds := [number for number in parts if number != _SIZE]) != 1:
            raise self.wrong("is damaged: it is not one content and its size")
        kind, stored, size = kinds[0], parts[kinds[0]][-1], parts.get(_SIZE, [None])[-1]
        if not isinstance(stored, memoryview) or isinstance(size, memoryview):
            raise self.wrong("is damaged: its content has the type of a number, or its size has not")
        if kind == _RAW:
            return bytes(stored)
        if kind not in _UNPACK:
            packed = "bzip2, which is obsolete" if kind == _OLD_BZIP2 else f"a compression of number {kind}"
            raise self.wrong(f"has {packed}; those that are read are zlib, lzma, lz4 and zstd")
        if size is None or size > LONGEST:
            raise self.wrong(f"states {size} bytes of content, the limit is {LONGEST}" if size else "does not state its size")
        try:
            data = _UNPACK[kind](stored, size)
        except (zlib.error, lzma.LZMAError, zstd.ZstdError, EOFError, pa.ArrowException, OSError) as error:
            raise self.wrong(f"the compressed data is corrupt: {error}") from None
        if len(data) != size:
            raise self.wrong(
                f"its content has {'more than ' * (len(data) > size)}{min(len(data), size)} bytes, not the {size} that it states"
            )
        return data


def blobs(path: Path, file: str, wanted: Callable[[int], bool] = lambda _: True) -> Iterator[Blob]:
    """The blobs of data of a file, behind its header, whose offsets are wanted. Raises BadInput."""
    at, first = 0, True
    with path.open("rb") as content:
        size = os.fstat(content.fileno()).st_size
        while at < size:
            blob, kind = _next(content, size, file, at, first or wanted(at))
            at = content.tell()
            if first != (kind == _HEADER):
                raise blob.wrong(
                    "is not the header of the file, which comes first" if first else "is a second header of the file"
                )
            if first:
                _require_readable(blob)
            elif kind == _DATA and wanted(blob.offset):
                yield blob
            first = False
    if first:
        raise BadInput(file, "is empty")


def offsets_if_sorted(path: Path, file: str) -> list[int]:
    """The offsets of all blobs of data of a file that says that it is sorted by type; otherwise none. Raises BadInput."""
    offsets, at = list[int](), 0
    with path.open("rb") as content:
        size = os.fstat(content.fileno()).st_size
        while at < size:
            blob, kind = _next(content, size, file, at, at == 0)
            at = content.tell()
            if blob.offset == 0 and (kind != _HEADER or not _says_sorted(blob)):
                return []
            if kind == _DATA:
                offsets.append(blob.offset)
    return offsets


def blob_at(path: Path, file: str, offset: int) -> Blob:
    """The blob at an offset. Raises BadInput."""
    with path.open("rb") as content:
        content.seek(offset)
        return _next(content, os.fstat(content.fileno()).st_size, file, offset, True)[0]


def _says_sorted(header: Blob) -> bool:
    parts = fields(memoryview(header.data())) or {}
    return any(bytes(part) == _SORTED for part in parts.get(_OPTIONAL, []) if not isinstance(part, int))


def _next(content: BinaryIO, size: int, file: str, offset: int, wanted: bool) -> tuple[Blob, bytes]:
    """The blob at an offset of a file of a size, and its type; without its content unless it is wanted."""

    def wrong(reason: str) -> BadInput:
        return Blob(file, offset, b"").wrong(reason)

    if len(length := content.read(_LENGTH.size)) < _LENGTH.size:
        raise wrong(_SHORT)
    (header_size,) = _LENGTH.unpack(length)
    if header_size > LONGEST_HEADER:
        raise wrong(f"states a header of {header_size} bytes, the limit is {LONGEST_HEADER}")
    if len(header := content.read(header_size)) < header_size:
        raise wrong(_SHORT)
    parts = fields(memoryview(header)) or {}
    kind, stored = parts.get(1, [b""])[-1], parts.get(3, [-1])[-1]
    if isinstance(kind, int) or not isinstance(stored, int) or stored < 0:
        raise wrong("its header is damaged: it has no type, or no size")
    if stored > LONGEST:
        raise wrong(f"states {stored} stored bytes, the limit is {LONGEST}")
    if content.tell() + stored > size:
        raise wrong(_SHORT)
    if wanted:
        return Blob(file, offset, content.read(stored)), bytes(kind)
    content.seek(stored, os.SEEK_CUR)
    return Blob(file, offset, b""), bytes(kind)


def replication_of(path: Path, file: str) -> tuple[int | None, int | None]:
    """When the content of a file was current, in seconds since 1970, and the number of the last change that it has.

    Each is None if the file does not say so, as osmium, Osmosis and Geofabrik do. Raises BadInput.
    """
    parts = fields(memoryview(blob_at(path, file, 0).data())) or {}
    seconds, number = (one if isinstance(one := parts.get(part, [None])[-1], int) else None for part in (32, 33))
    return seconds, number


def _require_readable(blob: Blob) -> None:
    parts = fields(memoryview(blob.data()))
    if parts is None:
        raise blob.wrong("the header of the file is damaged")
    required = {bytes(part).decode(errors="replace") for part in parts.get(4, []) if not isinstance(part, int)}
    if "HistoricalInformation" in required:
        raise BadInput(
            blob.file, "has the history of OpenStreetMap; a graph is made from the state of one day (osmium time-filter)"
        )
    if missing := required - _KNOWN:
        raise BadInput(blob.file, f"needs a reader with {', '.join(sorted(missing))}")


class Inflated:
    """Counts the bytes of contents against the limits on what a source may expand to."""

    def __init__(self, file: str, stored: int, limits: Limits) -> None:
        self._file, self._stored, self._limits, self._bytes = file, stored, limits, 0

    def add(self, length: int) -> None:
        """Count the bytes of a blob. Raises BadInput for too many."""
        self._bytes += length
        if self._bytes > self._limits.bytes:
            raise BadInput(self._file, f"has more than {self._limits.bytes} bytes of content, the limit (graph.limits.bytes)")
        if self._bytes > RATIO_FROM and self._bytes > self._limits.ratio * self._stored:
            expanded = f"{self._stored} bytes decompress to over {self._bytes}, more than {self._limits.ratio:g} times"
            raise BadInput(self._file, f"{expanded}, the limit (graph.limits.ratio)")


def _zlib(data: memoryview, size: int) -> bytes:
    stream = zlib.decompressobj()
    inflated = stream.decompress(data, size + 1)
    if len(inflated) <= size and not stream.eof:
        raise EOFError("it ends before its end mark")
    return inflated


def _lzma(data: memoryview, size: int) -> bytes:
    return lzma.LZMADecompressor(memlimit=256 * MIB).decompress(data, size + 1)


def _zstd(data: memoryview, size: int) -> bytes:
    return zstd.ZstdDecompressor().decompress(data, size + 1)


def _lz4(data: memoryview, size: int) -> bytes:
    inflated: bytes = pa.decompress(bytes(data), size, "lz4_raw", asbytes=True)
    return inflated


_UNPACK: dict[int, Callable[[memoryview, int], bytes]] = {3: _zlib, 4: _lzma, 6: _lz4, 7: _zstd}
