"""A block of a PBF file: groups of elements, and the strings that they use.

https://wiki.openstreetmap.org/wiki/PBF_Format
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kernels.graph import Array
from pipeline.ingest.formats.osm.blobs import Blob
from pipeline.ingest.formats.osm.strings import kinds_of
from pipeline.ingest.formats.osm.wire import fields, members

_GRANULARITY = 100
_LARGEST = 2**31 - 1  # nanodegrees


class PbfBlock:
    """The data of a blob: groups of elements and the strings that they use."""

    def __init__(self, blob: Blob) -> None:
        self.blob, content = blob, blob.data()
        self.length = len(content)
        view = memoryview(content)
        parts = fields(view)
        if parts is None:
            raise blob.wrong("its content is damaged")
        self.data, self.view = np.frombuffer(content, np.uint8), view
        self._begin = self.data.__array_interface__["data"][0]
        self._strings, groups = ([self._range(part) for part in parts.get(number, [])] for number in (1, 2))
        self.groups = groups
        self.form = np.array([self._number(parts, 17, _GRANULARITY), self._number(parts, 19, 0), self._number(parts, 20, 0)])
        if not 0 < self.form[0] <= _LARGEST:
            raise blob.wrong(f"its granularity is {self.form[0]}, expected 1 to {_LARGEST} nanodegrees")

    def _range(self, part: int | memoryview) -> tuple[int, int]:
        """Where the bytes of a field begin and end in the block."""
        if isinstance(part, int):
            raise self.blob.wrong("its content is damaged: a message has the type of a number")
        begin = np.frombuffer(part, np.uint8).__array_interface__["data"][0] - self._begin if len(part) else 0
        return begin, begin + len(part)

    def _number(self, parts: Mapping[int, list[int | memoryview]], field: int, default: int) -> int:
        value = parts.get(field, [default])[-1]
        if not isinstance(value, int):
            raise self.blob.wrong("its content is damaged: a number has the type of a message")
        return value - 2**64 if value >= 2**63 else value

    def elements(self, group: tuple[int, int], kind: int) -> Array:
        """Where the elements of a kind in a group begin and end, int32 [n, 2]."""
        begin, end = group
        ranges = np.empty(((end - begin) // 2, 2), np.int32)
        count = members(self.data, begin, end, kind, ranges)
        if count < 0:
            raise self.blob.wrong("a group of its elements is damaged")
        return ranges[:count]

    def strings(self, keys: "PbfKeys") -> "PbfStrings":
        """The strings, and what each is for as a key."""
        if len(self._strings) != 1:
            raise self.blob.wrong(f"has {len(self._strings)} tables of strings")
        ranges = self.elements(self._strings[0], 1).copy()
        kinds = np.empty(len(ranges), np.int8)
        kinds_of(self.data, ranges, keys.texts, keys.ends, keys.kinds, kinds)
        return PbfStrings(self.view, ranges, kinds, np.full(len(ranges), -1, np.int32))

    def dense(self, part: tuple[int, int]) -> Array:
        """Where ids, latitudes, longitudes and tags of dense nodes begin and end, int64 [4, 2]."""
        parts = fields(self.view[slice(*part)])
        if parts is None or any(len(parts.get(field, [])) > 1 for field in (1, 8, 9, 10)):
            raise self.blob.wrong("its dense nodes are damaged")
        empty = memoryview(b"")
        return np.array([self._range(parts.get(field, [empty])[0]) for field in (1, 8, 9, 10)], np.int64)

    def dense_versions(self, part: tuple[int, int]) -> Array:
        """Where ids and versions of dense nodes begin and end, int64 [2, 2]; without metadata there are no versions."""
        empty, parts = memoryview(b""), fields(self.view[slice(*part)])
        info = parts.get(5, [empty])[-1] if parts else empty
        versions = None if isinstance(info, int) else fields(info)
        if parts is None or versions is None:
            raise self.blob.wrong("its dense nodes are damaged")
        return np.array([self._range(parts.get(1, [empty])[0]), self._range(versions.get(1, [empty])[0])], np.int64)

    def require(self, kept: int, what: str) -> int:
        """The number of elements that were kept. Raises BadInput if it stands for a damaged one."""
        if kept < 0:
            raise self.blob.wrong(f"{what} {-1 - kept} of a group is damaged, or its coordinates are no degrees")
        return kept


class PbfStrings(NamedTuple):
    """The strings of a block: its bytes, where each begins and ends, int32 [S, 2], and what each is for as a key, int8 [S].

    `numbers`, int32 [S], is -1 between calls of functions that number some of them.
    """

    view: memoryview
    ranges: Array
    kinds: Array
    numbers: Array

    def text(self, number: int) -> bytes:
        """A string by its number."""
        return bytes(self.view[slice(*self.ranges[number].tolist())])


class PbfKeys(NamedTuple):
    """Keys that are for something: their texts, one behind the other, where each ends, and what it is for."""

    texts: Array
    ends: Array
    kinds: Array

    @staticmethod
    def of(kinds: Mapping[bytes, int]) -> "PbfKeys":
        """The keys of a mapping to what each is for."""
        ends = np.cumsum(np.array([len(key) for key in kinds], np.int64))
        return PbfKeys(np.frombuffer(b"".join(kinds), np.uint8), ends, np.array(list(kinds.values()), np.int8))
