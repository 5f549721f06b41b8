"""PBF files of OpenStreetMap: their blocks are decompressed and read on all cores, in the order of the file.

https://wiki.openstreetmap.org/wiki/PBF_Format
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline import progress
from pipeline.config.graph import Limits
from pipeline.ingest.formats.osm.blobs import Blob, Inflated, blob_at, blobs, offsets_if_sorted
from pipeline.ingest.formats.osm.changed import NODE, RELATION, WAY, ChangedElements
from pipeline.ingest.formats.osm.elements import equal_tags, read_dense, read_nodes, read_ways
from pipeline.ingest.formats.osm.extract import StreetNodes, StreetWays
from pipeline.ingest.formats.osm.pbf_block import PbfBlock, PbfKeys, PbfStrings
from pipeline.ingest.formats.osm.relations import KINDS, Stated, restrictions_of
from pipeline.ingest.formats.osm.strings import distinct_names
from pipeline.ingest.formats.osm.versions import read_dense_versions, read_versions
from pipeline.runtime.threads import map_in_order

_NODES, _DENSE, _WAYS, _RELATIONS = 1, 2, 3, 4  # fields of a group


class _WaysOfGroup(NamedTuple):
    """Ways with an entry: as the arguments of `StreetWays.add`, and of `equal_tags` with the texts of each list of tags."""

    ids: Array
    groups: Array
    lists: list[tuple[tuple[bytes, bytes], ...]]
    texts: pa.Array
    names: Array
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
        """Add all ways, and the turn restrictions. Raises BadInput."""
        self.skipped = frozenset() if into.changed else frozenset(self._only_nodes())  # of changed nodes it needs the versions
        self.offsets |= self.skipped
        read = partial(_ways_of, PbfKeys.of(into.kinds), into.turns is not None, into.changed)
        for offset, length, has_nodes, groups, relations, versions in self._each(read, lambda offset: offset not in self.skipped):
            self._inflated.add(length)
            for noted in versions:
                into.note(*noted)
            for relation in relations:
                if into.turns:
                    into.turns.add(*relation)
            if has_nodes:
                self.offsets.add(offset)
            for group in groups:
                _add(group, into)
            progress.reached(offset // 2, self._size, "bytes")

    def nodes(self, into: StreetNodes) -> None:
        """Add all nodes that are wanted. Raises BadInput."""
        for offset, length, groups in self._each(
            partial(_nodes_of, into, PbfKeys.of(into.kinds), self.skipped), self.offsets.__contains__
        ):
            if offset in self.skipped:
                self._inflated.add(length)
            for places, units, marks in groups:
                into.add(places, units, marks)
            progress.reached((self._size + offset) // 2, self._size, "bytes")

    def _only_nodes(self) -> list[int]:
        """Blobs before the first one with ways, of a file that says that it is sorted by type, found by bisection.

        When their nodes are read, it is checked that they have no ways.
        """
        offsets = offsets_if_sorted(self.path, self.file)
        low, high = 0, len(offsets)
        while low < high:
            middle = (low + high) // 2
            block = PbfBlock(blob_at(self.path, self.file, offsets[middle]))
            if any(len(block.elements(group, kind)) for group in block.groups for kind in (_WAYS, _RELATIONS)):
                high = middle
            else:
                low = middle + 1
        return offsets[:low]

    def _each(self, read: Callable[[Blob], Any], wanted: Callable[[int], bool]) -> Iterator[Any]:
        return map_in_order(read, blobs(self.path, self.file, wanted), cores())


_Versions = list[tuple[int, Array, Array]]  # as the arguments of `ChangedElements.note`


def _ways_of(
    keys: PbfKeys, turns: bool, changed: ChangedElements | None, blob: Blob
) -> tuple[int, int, bool, list[_WaysOfGroup], list[Stated], _Versions]:
    """Of a blob: its offset, its length, whether it has nodes, and the ways of its groups.

    Also, if they are wanted, its restrictions, and the versions of elements that were changed.
    """
    block, has_nodes, groups, relations, versions = PbfBlock(blob), False, list[_WaysOfGroup](), list[Stated](), _Versions()
    strings = None
    for group in block.groups:
        has_nodes |= any(len(block.elements(group, kind)) for kind in (_NODES, _DENSE))
        ways = block.elements(group, _WAYS)
        if changed:
            _note_nodes(block, group, changed, versions)
            ways = _unchanged(block, WAY, ways, changed, versions)
        if len(ways):
            strings = strings or block.strings(keys)
            groups.append(_read_ways(block, ways, group[1] - group[0], strings))
        ranges = block.elements(group, _RELATIONS) if turns or changed else ways[:0]
        if changed:
            ranges = _unchanged(block, RELATION, ranges, changed, versions)
        if turns and len(ranges):
            relations += _read_restrictions(block, ranges)
    return blob.offset, block.length, has_nodes, groups, relations, versions


def _unchanged(block: PbfBlock, kind: int, elements: Array, changed: ChangedElements, versions: _Versions) -> Array:
    """The elements of a group that changes do not replace; appends the versions of those that they may replace."""
    ids, own = np.empty(len(elements), np.int64), np.empty(len(elements), np.int64)
    block.require(read_versions(block.data, elements, kind == NODE, ids, own), "the metadata of element")
    replaced, places, of_places = changed.compare(kind, ids, own)
    versions.append((kind, places, of_places))
    return elements[~replaced]


def _note_nodes(block: PbfBlock, group: tuple[int, int], changed: ChangedElements, versions: _Versions) -> None:
    """Append the versions of the nodes of a group that changes may replace."""
    _unchanged(block, NODE, block.elements(group, _NODES), changed, versions)
    for part in block.elements(group, _DENSE).tolist():
        ranges = block.dense_versions(part)
        most = ranges[0, 1] - ranges[0, 0]
        ids, own = np.empty(most, np.int64), np.empty(most, np.int64)
        count = block.require(read_dense_versions(block.data, ranges, ids, own), "the version of node")
        versions.append((NODE, *changed.compare(NODE, ids[:count], own[:count])[1:]))


def _read_restrictions(block: PbfBlock, ranges: Array) -> list[Stated]:
    strings = block.strings(PbfKeys.of(KINDS))
    read, damaged = restrictions_of(block.view, block.data, ranges, strings.text, strings.kinds)
    if damaged >= 0:
        raise block.blob.wrong(f"relation {damaged} of a group is damaged")
    return read


def _read_ways(block: PbfBlock, ways: Array, size: int, strings: PbfStrings) -> _WaysOfGroup:
    ids, names, tags = np.empty(len(ways), np.int64), np.empty(len(ways), np.int32), np.empty((size, 2), np.int32)
    tag_ends, refs, ref_ends = np.empty(len(ways), np.int64), np.empty(size, np.int64), np.empty(len(ways), np.int64)
    kept = block.require(read_ways(block.data, ways, strings.kinds, ids, names, tags, tag_ends, refs, ref_ends), "way")
    groups, slots = np.empty((kept, 2), np.int32), np.full(2 ** (kept + 1).bit_length(), -1, np.int64)
    count = equal_tags(tags, tag_ends[:kept], slots, groups)
    lists = []
    for way in groups[:count, 1].tolist():
        begin, end = (int(tag_ends[way - 1]) if way else 0), int(tag_ends[way])
        lists.append(tuple((strings.text(key), strings.text(value)) for key, value in tags[begin:end].tolist()))
    texts = _texts_of(block, strings, names[:kept])
    lengths = np.diff(ref_ends[:kept], prepend=0).astype(np.int32)
    ended = int(ref_ends[kept - 1]) if kept else 0
    return _WaysOfGroup(ids[:kept].copy(), groups[:, 0], lists, texts, names[:kept].copy(), lengths, refs[:ended].copy())


def _texts_of(block: PbfBlock, strings: PbfStrings, names: Array) -> pa.Array:
    """The different names of ways, large_binary; `names` gets their numbers in the place of those of strings."""
    ends, texts = np.zeros(len(names) + 1, np.int64), np.empty(block.length, np.uint8)
    count = distinct_names(block.data, strings.ranges, names, strings.numbers, ends, texts)
    buffers = [None, pa.py_buffer(ends[: count + 1].copy()), pa.py_buffer(texts[: ends[count]].copy())]
    return pa.Array.from_buffers(pa.large_binary(), count, buffers)


def _add(group: _WaysOfGroup, into: StreetWays) -> None:
    """Add the ways of a group that are streets, and count the others."""
    verdicts = [into.verdict(tags) for tags in group.lists]
    for verdict, count in zip(verdicts, np.bincount(group.groups, minlength=len(verdicts)).tolist(), strict=True):
        if isinstance(verdict, str):
            into.left[verdict] += count
    streets = np.array([-1 if isinstance(verdict, str) else verdict for verdict in verdicts], np.int32)[group.groups]
    taken = streets >= 0
    if taken.all():
        into.add(group.ids, streets, group.texts, group.names, group.lengths, group.refs)
        return
    names, used = group.names[taken], np.zeros(len(group.texts) + 1, np.bool_)
    used[names] = True
    used[-1] = False  # the number of a way without a name
    numbers = np.append(np.cumsum(used[:-1]) - 1, -1)[names]
    refs = group.refs[np.repeat(taken, group.lengths)]
    into.add(group.ids[taken], streets[taken], group.texts.filter(pa.array(used[:-1])), numbers, group.lengths[taken], refs)


def _nodes_of(
    nodes: StreetNodes, keys: PbfKeys, skipped: frozenset[int], blob: Blob
) -> tuple[int, int, list[tuple[Array, Array, Array]]]:
    """The offset of a blob, its length and, of its groups, places of wanted nodes, units, and the marks of each node."""
    block, read, strings = PbfBlock(blob), list[tuple[Array, Array, Array]](), None
    for group in block.groups:
        if blob.offset in skipped and any(len(block.elements(group, kind)) for kind in (_WAYS, _RELATIONS)):
            raise blob.wrong(
                "has ways or relations before the last nodes, but the file says that it is sorted by type (osmium sort)"
            )
        for kind in (_DENSE, _NODES):
            if not len(parts := block.elements(group, kind)):
                continue
            strings = strings or block.strings(keys)
            each = [parts] if kind == _NODES else parts.tolist()
            read += [_read_nodes(block, kind, part, nodes, strings) for part in each]
    return blob.offset, block.length, read


def _read_nodes(block: PbfBlock, kind: int, part: Any, nodes: StreetNodes, strings: PbfStrings) -> tuple[Array, Array, Array]:
    ranges = block.dense(part) if kind == _DENSE else part
    most, tagged = (ranges[0, 1] - ranges[0, 0], ranges[3, 1] - ranges[3, 0]) if kind == _DENSE else (len(part), block.length)
    places, units = np.empty(most, np.int64), np.empty((most, 2), np.int32)
    tags, tag_ends = np.empty((tagged, 2), np.int32), np.empty(most, np.int64)
    read = read_dense if kind == _DENSE else read_nodes
    kept = read(block.data, ranges, block.form, strings.kinds, nodes.ids, places, units, tags, tag_ends)
    block.require(kept, "node")
    marks, ends = np.zeros(kept, np.uint8), np.concatenate([[0], tag_ends[:kept]])
    for node in np.flatnonzero(np.diff(ends)).tolist():
        pairs = tags[ends[node] : ends[node + 1]].tolist()
        marks[node] = nodes.mark_of([(strings.text(key), strings.text(value)) for key, value in pairs])
    return places[:kept].copy(), units[:kept].copy(), marks
