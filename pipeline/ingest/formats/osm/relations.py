"""Turn restrictions in a block of PBF data; of all other relations only the tag `type` is read."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from pipeline.ingest.formats.osm.wire import field, fields, unpacked, varint
from pipeline.ingest.roads.relations import RESTRICTION, TYPE, Member
from pipeline.numerals import LARGEST

_KEYS, _VALUES = 2, 3  # fields of a relation
_ROLES, _MEMBERS, _TYPES = 8, 9, 10
KINDS = {TYPE: 1, RESTRICTION: 2}  # what strings are for in a block


class Stated(NamedTuple):
    """A relation as it stands in the file."""

    id: int
    tags: dict[str, str]
    members: list[Member]


@njit(cache=True, nogil=True)
def _mark_restrictions(data: Array, ranges: Array, kinds: Array, marked: Array) -> None:
    """Mark the relations with `type=restriction`; of one that is damaged only those that are marked are read again."""
    for relation in range(len(ranges)):
        at, end = np.int64(ranges[relation, 0]), np.int64(ranges[relation, 1])
        key_at, key_end, value_at, value_end = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        while 0 <= at < end:
            number, kind, begin, stop = field(data, at, end)
            if kind == 2 and number == _KEYS:
                key_at, key_end = begin, stop
            elif kind == 2 and number == _VALUES:
                value_at, value_end = begin, stop
            at = stop
        while 0 <= key_at < key_end and 0 <= value_at < value_end:
            key, key_at = varint(data, key_at, key_end)
            value, value_at = varint(data, value_at, value_end)
            if 0 <= key < len(kinds) and 0 <= value < len(kinds) and kinds[key] == 1 and kinds[value] == 2:
                marked[relation] = True


def restrictions_of(
    view: memoryview, data: Array, ranges: Array, text: Callable[[int], bytes], kinds: Array
) -> tuple[list[Stated], int]:
    """The relations of a group that are restrictions; and the number of one that is damaged, or -1.

    Args:
        view, data: The block, as bytes and uint8 [N].
        ranges (int32 [n, 2]): Where each relation begins and ends.
        text: A string of the block, by its number.
        kinds (int8 [S]): What each string is for, of KINDS.
    """
    marked = np.zeros(len(ranges), np.bool_)
    _mark_restrictions(data, ranges, kinds, marked)
    read = list[Stated]()
    for number in np.flatnonzero(marked).tolist():
        relation = _read(view[slice(*ranges[number].tolist())], text, len(kinds))
        if relation is None:
            return read, number
        read.append(relation)
    return read, -1


def _read(data: memoryview, text: Callable[[int], bytes], strings: int) -> Stated | None:
    """A relation; None if it is damaged."""
    parts = fields(data) or {}
    numbers = (_KEYS, _VALUES, _ROLES, _MEMBERS, _TYPES)
    identity, packed = parts.get(1, [b""])[-1], [parts.get(number, [memoryview(b"")]) for number in numbers]
    if not isinstance(identity, int) or identity > LARGEST or any(len(part) != 1 or isinstance(part[0], int) for part in packed):
        return None
    lists = [unpacked(part[0]) for part in packed if not isinstance(part[0], int)]
    if any(one is None for one in lists):
        return None
    keys, values, roles, members, types = (one or [] for one in lists)
    if len(keys) != len(values) or not len(roles) == len(members) == len(types):
        return None
    if any(number >= strings for number in (*keys, *values, *roles)):
        return None
    words = [text(number).decode(errors="replace") for number in (*keys, *values)]
    tags, made, node = dict(zip(words[: len(keys)], words[len(keys) :], strict=True)), [], 0
    for role, step, kind in zip(roles, members, types, strict=True):
        node += (step >> 1) ^ -(step & 1)
        if not 0 <= node <= LARGEST:
            return None
        made.append(Member(kind, node, text(role).decode(errors="replace")))
    return Stated(identity, tags, made)
