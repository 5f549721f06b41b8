"""PBF files of OpenStreetMap: their blocks are decompressed and read on all cores, in the order of the file.

https://wiki.openstreetmap.org/wiki/PBF_Format
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline import progress
from pipeline.config.graph import Limits
from pipeline.ingest.formats.osm.blobs import Blob, Inflated, blob_at, blobs, offsets_if_sorted
from pipeline.ingest.formats.osm.elements import equal_tags, kinds_of, read_dense, read_nodes, read_ways
from pipeline.ingest.formats.osm.extract import StreetNodes, StreetWays
from pipeline.ingest.formats.osm.wire import fields, members
from pipeline.runtime.threads import map_in_order

_NODES, _DENSE, _WAYS, _RELATIONS = 1, 2, 3, 4  # fields of a group
_GRANULARITY = 100
_LARGEST = 2**31 - 1  # nanodegrees


class _Block:
    """The data of a blob: groups of elements and the strings that they use."""

    def __init__(self, blob: Blob) -> None:
        self.blob, content = blob, blob.data()
        self.length = len(content)
        view = memoryview(content)
        parts = fields(view)
        if parts is None:
            raise blob.wrong("its content is damaged")
        self.data, self._view = np.frombuffer(content, np.uint8), view
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

    def strings(self, keys: "_Keys") -> tuple[Callable[[int], bytes], Array]:
        """The strings by their numbers, and what each is for as a key, int8 [S]."""
        if len(self._strings) != 1:
            raise self.blob.wrong(f"has {len(self._strings)} tables of strings")
        ranges, view = self.elements(self._strings[0], 1).copy(), self._view
        kinds = np.empty(len(ranges), np.int8)
        kinds_of(self.data, ranges, keys.texts, keys.ends, keys.kinds, kinds)
        return (lambda number: bytes(view[slice(*ranges[number].tolist())])), kinds

    def dense(self, part: tuple[int, int]) -> Array:
        """Where ids, latitudes, longitudes and tags of dense nodes begin and end, int64 [4, 2]."""
        parts = fields(self._view[slice(*part)])
        if parts is None or any(len(parts.get(field, [])) > 1 for field in (1, 8, 9, 10)):
            raise self.blob.wrong("its dense nodes are damaged")
        empty = memoryview(b"")
        return np.array([self._range(parts.get(field, [empty])[0]) for field in (1, 8, 9, 10)], np.int64)

    def require(self, kept: int, what: str) -> int:
        """The number of elements that were kept. Raises BadInput if it stands for a damaged one."""
        if kept < 0:
            raise self.blob.wrong(f"{what} {-1 - kept} of a group is damaged, or its coordinates are no degrees")
        return kept


class _Keys(NamedTuple):
    """Keys that are for something: their texts, one behind the other, where each ends, and what it is for."""

    texts: Array
    ends: Array
    kinds: Array

    @staticmethod
    def of(kinds: Mapping[bytes, int]) -> "_Keys":
        """The keys of a mapping to what each is for."""
        ends = np.cumsum(np.array([len(key) for key in kinds], np.int64))
        return _Keys(np.frombuffer(b"".join(kinds), np.uint8), ends, np.array(list(kinds.values()), np.int8))


class _WaysOfGroup(NamedTuple):
    """Ways with an entry: as the results of `read_ways`, and of `equal_tags` with the texts of each list of tags."""

    ids: Array
    groups: Array
    lists: list[tuple[tuple[bytes, bytes], ...]]
    names: Array
    texts: dict[int, bytes]
    lengths: Array
    refs: Array


@dataclass
class PbfReader:
    """A PBF file at a path, that is read twice.

    Attributes:
        offsets: Blobs with nodes, once the ways were read.
        skipped: Those that were not read for ways, as the file says that it is sorted by type, and a later one has nodes, too.
    """

    path: Path
    file: str
    limits: Limits
    offsets: set[int] = field(default_factory=set)
    skipped: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self._size = self.path.stat().st_size
        self._inflated = Inflated(self.file, self._size, self.limits)

    def ways(self, into: StreetWays) -> None:
        """Add all ways. Raises BadInput."""
        self.skipped = frozenset(self._only_nodes())
        self.offsets |= self.skipped
        for offset, length, has_nodes, groups in self._each(
            partial(_ways_of, _Keys.of(into.kinds)), lambda offset: offset not in self.skipped
        ):
            self._inflated.add(length)
            if has_nodes:
                self.offsets.add(offset)
            for group in groups:
                _add(group, into)
            progress.reached(offset // 2, self._size, "bytes")

    def nodes(self, into: StreetNodes) -> None:
        """Add all nodes that are wanted. Raises BadInput."""
        for offset, length, groups in self._each(
            partial(_nodes_of, into, _Keys.of(into.kinds), self.skipped), self.offsets.__contains__
        ):
            if offset in self.skipped:
                self._inflated.add(length)
            for places, units, closed in groups:
                into.add(places, units, closed)
            progress.reached((self._size + offset) // 2, self._size, "bytes")

    def _only_nodes(self) -> list[int]:
        """Blobs before the first one with ways, of a file that says that it is sorted by type, found by bisection.

        When their nodes are read, it is checked that they have no ways.
        """
        offsets = offsets_if_sorted(self.path, self.file)
        low, high = 0, len(offsets)
        while low < high:
            middle = (low + high) // 2
            block = _Block(blob_at(self.path, self.file, offsets[middle]))
            if any(len(block.elements(group, kind)) for group in block.groups for kind in (_WAYS, _RELATIONS)):
                high = middle
            else:
                low = middle + 1
        return offsets[:low]

    def _each(self, read: Callable[[Blob], Any], wanted: Callable[[int], bool]) -> Iterator[Any]:
        return map_in_order(read, blobs(self.path, self.file, wanted), cores())


def _ways_of(keys: _Keys, blob: Blob) -> tuple[int, int, bool, list[_WaysOfGroup]]:
    """Of a blob: its offset, its length, whether it has nodes, and the ways of its groups."""
    block, has_nodes, groups = _Block(blob), False, list[_WaysOfGroup]()
    strings = None
    for group in block.groups:
        has_nodes |= any(len(block.elements(group, kind)) for kind in (_NODES, _DENSE))
        if len(ways := block.elements(group, _WAYS)):
            strings = strings or block.strings(keys)
            groups.append(_read_ways(block, ways, group[1] - group[0], *strings))
    return blob.offset, block.length, has_nodes, groups


def _read_ways(block: _Block, ways: Array, size: int, text: Callable[[int], bytes], kind: Array) -> _WaysOfGroup:
    ids, names, tags = np.empty(len(ways), np.int64), np.empty(len(ways), np.int32), np.empty((size, 2), np.int32)
    tag_ends, refs, ref_ends = np.empty(len(ways), np.int64), np.empty(size, np.int64), np.empty(len(ways), np.int64)
    kept = block.require(read_ways(block.data, ways, kind, ids, names, tags, tag_ends, refs, ref_ends), "way")
    groups, slots = np.empty((kept, 2), np.int32), np.full(2 ** (kept + 1).bit_length(), -1, np.int64)
    count = equal_tags(tags, tag_ends[:kept], slots, groups)
    lists = []
    for way in groups[:count, 1].tolist():
        begin, end = (int(tag_ends[way - 1]) if way else 0), int(tag_ends[way])
        lists.append(tuple((text(key), text(value)) for key, value in tags[begin:end].tolist()))
    texts = {number: text(number) for number in np.unique(names[:kept]).tolist() if number >= 0}
    lengths = np.diff(ref_ends[:kept], prepend=0).astype(np.int32)
    ended = int(ref_ends[kept - 1]) if kept else 0
    return _WaysOfGroup(ids[:kept].copy(), groups[:, 0], lists, names[:kept].copy(), texts, lengths, refs[:ended].copy())


def _add(group: _WaysOfGroup, into: StreetWays) -> None:
    """Add the ways of a group that are streets, and count the others."""
    verdicts = [into.verdict(tags) for tags in group.lists]
    for verdict, count in zip(verdicts, np.bincount(group.groups, minlength=len(verdicts)).tolist(), strict=True):
        if isinstance(verdict, str):
            into.left[verdict] += count
    streets = np.array([-1 if isinstance(verdict, str) else verdict for verdict in verdicts], np.int32)[group.groups]
    taken = streets >= 0
    named = np.unique(group.names[taken & (group.names >= 0)])
    numbers = np.array([into.name(group.texts[text]) for text in named.tolist()] + [-1], np.int32)
    names = numbers[np.where(group.names >= 0, np.searchsorted(named, group.names), -1)[taken]]
    into.add(group.ids[taken], streets[taken], names, group.lengths[taken], group.refs[np.repeat(taken, group.lengths)])


def _nodes_of(
    nodes: StreetNodes, keys: _Keys, skipped: frozenset[int], blob: Blob
) -> tuple[int, int, list[tuple[Array, Array, Array]]]:
    """The offset of a blob, its length and, of its groups, places of wanted nodes, units, and whether each node is closed."""
    block, read, strings = _Block(blob), list[tuple[Array, Array, Array]](), None
    for group in block.groups:
        if blob.offset in skipped and len(block.elements(group, _WAYS)):
            raise blob.wrong("has ways before the last nodes, but the file says that it is sorted by type (osmium sort)")
        for kind in (_DENSE, _NODES):
            if not len(parts := block.elements(group, kind)):
                continue
            strings = strings or block.strings(keys)
            each = [parts] if kind == _NODES else parts.tolist()
            read += [_read_nodes(block, kind, part, nodes, strings) for part in each]
    return blob.offset, block.length, read


def _read_nodes(
    block: _Block, kind: int, part: Any, nodes: StreetNodes, strings: tuple[Callable[[int], bytes], Array]
) -> tuple[Array, Array, Array]:
    ranges = block.dense(part) if kind == _DENSE else part
    most, tagged = (ranges[0, 1] - ranges[0, 0], ranges[3, 1] - ranges[3, 0]) if kind == _DENSE else (len(part), block.length)
    places, units = np.empty(most, np.int64), np.empty((most, 2), np.int32)
    tags, tag_ends = np.empty((tagged, 2), np.int32), np.empty(most, np.int64)
    read = read_dense if kind == _DENSE else read_nodes
    kept = read(block.data, ranges, block.form, strings[1], nodes.ids, places, units, tags, tag_ends)
    block.require(kept, "node")
    closed, ends = np.zeros(kept, np.bool_), np.concatenate([[0], tag_ends[:kept]])
    for node in np.flatnonzero(np.diff(ends)).tolist():
        pairs = tags[ends[node] : ends[node + 1]].tolist()
        closed[node] = nodes.closes([(strings[0](key), strings[0](value)) for key, value in pairs])
    return places[:kept].copy(), units[:kept].copy(), closed
