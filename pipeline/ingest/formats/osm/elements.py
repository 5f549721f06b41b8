"""Ways and nodes of a block of PBF data: loops over its bytes, which write what is wanted into arrays.

A loop returns how many elements it has kept, or -1 - n if element n is damaged.
"""

from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from pipeline.ingest.formats.osm.wire import field, signed, varint

ENTRY, NAME, TAG = 1, 2, 3  # what a key is for: a way without an entry is no street; the name; what else a profile looks at
NANO = 100  # nanodegrees of a stored unit, the seventh decimal
_NOWHERE = 2**31 - 1
_PLACED = 1 << 8 | 1 << 9  # fields of latitude and longitude


@njit(cache=True, nogil=True)
def _outline(data: Array, at: int, end: int, packed: bool, parts: Array) -> int:
    """Find the parts of a way (`packed`) or of a node: id, keys, values, and nodes or latitude and longitude.

    Args:
        parts (int64 [5, 2]): Gets where each begins and ends; those that are missing are empty.

    Returns:
        Bits of the numbers of their fields; -1 if it is damaged, or has one twice, which is legal, but no program writes it.
    """
    seen, has_id = 0, 1 << 1
    parts[:] = at
    while at < end:
        number, kind, begin, stop = field(data, at, end)
        if stop < 0:
            return -1
        at = stop
        if number in (1, 2, 3, 8) or (number == 9 and not packed):
            has_bytes = number in (2, 3) or (packed and number == 8)
            if kind != (2 if has_bytes else 0) or seen & (1 << number):
                return -1
            seen |= 1 << number
            part = number - 1 if number < 8 else number - 5
            parts[part, 0], parts[part, 1] = begin, stop
    return seen if seen & has_id else -1


@njit(cache=True, nogil=True)
def _read_tags(data: Array, parts: Array, kinds: Array, tags: Array, begin: int) -> tuple[int, int, bool]:
    """Write the tags of an element from number `begin` on, by ascending strings of keys.

    Returns:
        Their end, or -1 if they are damaged; the string of the name, or -1; and whether a key is an entry.
    """
    end, name, enters = begin, -1, False
    keys, keys_end, values, values_end = parts[1, 0], parts[1, 1], parts[2, 0], parts[2, 1]
    while keys < keys_end and values < values_end:
        key, keys = varint(data, keys, keys_end)
        value, values = varint(data, values, values_end)
        if keys < 0 or values < 0 or not (0 <= key < len(kinds) and 0 <= value < len(kinds)):
            return -1, -1, False
        if kinds[key] == NAME:
            name = value
        elif kinds[key]:
            enters |= kinds[key] == ENTRY
            place = end
            while place > begin and tags[place - 1, 0] > key:
                tags[place, 0], tags[place, 1] = tags[place - 1, 0], tags[place - 1, 1]
                place -= 1
            tags[place, 0], tags[place, 1] = key, value
            end += 1
    return (-1 if keys < keys_end or values < values_end else end), name, enters


@njit(cache=True, nogil=True)
def read_ways(
    data: Array, ways: Array, kinds: Array, ids: Array, names: Array, tags: Array, tag_ends: Array, refs: Array, ref_ends: Array
) -> int:
    """Read the ways of a group that have an entry among their keys.

    Args:
        data (uint8 [N]): The block.
        ways (int32 [n, 2]): Where each way begins and ends.
        kinds (int8 [S]): What each string of the block is for as a key: ENTRY, NAME, TAG or, if it is left out, 0.
        ids (int64 [n]): Gets the ids of the ways that are kept.
        names (int32 [n]): Gets the string of each one's name, or -1.
        tags (int32 [T, 2]), tag_ends (int64 [n]): Get the strings of keys and values, by ascending strings of keys.
        refs (int64 [R]), ref_ends (int64 [n]): Get the ids of the nodes.
    """
    kept, tag_end, ref_end, parts = 0, 0, 0, np.empty((5, 2), np.int64)
    for way in range(len(ways)):
        end = np.int64(ways[way, 1])
        if _outline(data, np.int64(ways[way, 0]), end, True, parts) < 0:
            return -1 - way
        tags_end, name, enters = _read_tags(data, parts, kinds, tags, tag_end)
        if tags_end < 0:
            return -1 - way
        if not enters:
            continue
        node, at = np.int64(0), parts[3, 0]
        while at < parts[3, 1]:
            step, at = varint(data, at, parts[3, 1])
            if at < 0:
                return -1 - way
            node += signed(step)
            refs[ref_end] = node
            ref_end += 1
        tag_end = tags_end
        ids[kept], names[kept] = varint(data, parts[0, 0], end)[0], name
        tag_ends[kept], ref_ends[kept] = tag_end, ref_end
        kept += 1
    return kept


@njit(cache=True, nogil=True)
def equal_tags(tags: Array, ends: Array, slots: Array, groups: Array) -> int:
    """Number the lists of tags, so that ways with equal lists have equal numbers; returns how many different ones there are.

    Args:
        tags (int32 [T, 2]), ends (int64 [n]): As from `read_ways`.
        slots (int64 [2^k], more than n): -1; afterwards unspecified.
        groups (int32 [n, 2]): Gets the number of each way's list and, for each number, the first way with this list.
    """
    count, most = 0, len(slots) - 1
    for way in range(len(ends)):
        begin, end = (ends[way - 1] if way else 0), ends[way]
        mixed = np.uint64(end - begin)
        for tag in range(begin, end):
            for word in (tags[tag, 0], tags[tag, 1]):
                mixed = (mixed ^ np.uint64(word)) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
        slot = np.int64(mixed & np.uint64(most))
        while slots[slot] >= 0:
            number = slots[slot]
            other = np.int64(groups[number, 1])
            start = ends[other - 1] if other else 0
            same = ends[other] - start == end - begin
            place = 0
            while same and place < end - begin:
                same = tags[start + place, 0] == tags[begin + place, 0] and tags[start + place, 1] == tags[begin + place, 1]
                place += 1
            if same:
                break
            slot = (slot + 1) & most
        if slots[slot] < 0:
            slots[slot] = count
            groups[count, 1] = way
            count += 1
        groups[way, 0] = slots[slot]
    return count


@njit(cache=True, nogil=True)
def place_of(wanted: Array, value: int, near: int) -> Any:
    """The place of the first number of `wanted`, ascending, that is at least `value`; quickly if it is not far behind `near`."""
    low, high = np.int64(0), np.int64(len(wanted))
    if near < high and wanted[near] <= value:
        low, step = np.int64(near), np.int64(1)
        while low + step < high and wanted[low + step] <= value:
            low += step
            step *= 2
        high = min(high, low + step)
    elif near < high:
        high = np.int64(near)
    while low < high:
        middle = (low + high) // 2
        if wanted[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _unit(value: int, granularity: int, offset: int, most: int) -> Any:
    """A coordinate in units of NANO nanodegrees, rounded to the nearest; `_NOWHERE` for one that is no degree."""
    if abs(float(value) * float(granularity) + float(offset)) > most * 1e9 + 1e3:
        return np.int64(_NOWHERE)
    unit = (value * granularity + offset + NANO // 2) // NANO
    return unit if abs(unit) <= most * 10_000_000 else np.int64(_NOWHERE)


@njit(cache=True, nogil=True)
def read_dense(
    data: Array,
    ranges: Array,
    form: Array,
    kinds: Array,
    wanted: Array,
    places: Array,
    units: Array,
    tags: Array,
    tag_ends: Array,
) -> int:
    """Read the dense nodes of a group that are wanted.

    Args:
        data (uint8 [N]): The block.
        ranges (int64 [4, 2]): Where ids, latitudes, longitudes, and keys with values begin and end.
        form (int64 [3]): The block's granularity, and its offsets of latitude and longitude.
        kinds (int8 [S]): As for `read_ways`; ENTRY is as TAG.
        wanted (int64 [M]): The ids that are wanted, ascending.
        places (int64 [n]): Gets the places of the nodes in `wanted`.
        units (int32 [n, 2]): Gets longitude and latitude in the seventh decimal of a degree.
        tags (int32 [T, 2]), tag_ends (int64 [n]): Get the strings of their keys and values.
    """
    at, lat_at, lon_at, tag_at = ranges[0, 0], ranges[1, 0], ranges[2, 0], ranges[3, 0]
    has_tags = ranges[3, 1] > ranges[3, 0]
    node, lat, lon = np.int64(0), np.int64(0), np.int64(0)
    number, kept, tag_end, near = 0, 0, 0, np.int64(0)
    while at < ranges[0, 1]:
        step, at = varint(data, at, ranges[0, 1])
        lat_step, lat_at = varint(data, lat_at, ranges[1, 1]) if lat_at >= 0 else (np.int64(0), -1)
        lon_step, lon_at = varint(data, lon_at, ranges[2, 1]) if lon_at >= 0 else (np.int64(0), -1)
        if at < 0 or lat_at < 0 or lon_at < 0:
            return -1 - number
        node, lat, lon = node + signed(step), lat + signed(lat_step), lon + signed(lon_step)
        near = place_of(wanted, node, near)
        keep = near < len(wanted) and wanted[near] == node
        if has_tags:
            while True:
                key, tag_at = varint(data, tag_at, ranges[3, 1])
                if tag_at < 0 or not 0 <= key < len(kinds):
                    return -1 - number
                if key == 0:
                    break
                value, tag_at = varint(data, tag_at, ranges[3, 1])
                if tag_at < 0 or not 0 <= value < len(kinds):
                    return -1 - number
                if keep and kinds[key] != 0:
                    tags[tag_end, 0], tags[tag_end, 1] = key, value
                    tag_end += 1
        if keep:
            x, y = _unit(lon, form[0], form[2], 180), _unit(lat, form[0], form[1], 90)
            if _NOWHERE in (x, y):
                return -1 - number
            places[kept], units[kept, 0], units[kept, 1], tag_ends[kept] = near, x, y, tag_end
            kept += 1
        number += 1
    if lat_at != ranges[1, 1] or lon_at != ranges[2, 1] or (has_tags and tag_at != ranges[3, 1]):
        return -1 - number
    return kept


@njit(cache=True, nogil=True)
def read_nodes(
    data: Array, nodes: Array, form: Array, kinds: Array, wanted: Array, places: Array, units: Array, tags: Array, tag_ends: Array
) -> int:
    """Read the nodes of a group that are not dense; `nodes` is where each begins and ends, the others are as for `read_dense`."""
    kept, tag_end, near, parts = 0, 0, np.int64(0), np.empty((5, 2), np.int64)
    for index in range(len(nodes)):
        end = np.int64(nodes[index, 1])
        if _outline(data, np.int64(nodes[index, 0]), end, False, parts) & _PLACED != _PLACED:
            return -1 - index
        node = signed(varint(data, parts[0, 0], end)[0])
        lat, lon = signed(varint(data, parts[3, 0], end)[0]), signed(varint(data, parts[4, 0], end)[0])
        near = place_of(wanted, node, near)
        if near == len(wanted) or wanted[near] != node:
            continue
        tag_end = _read_tags(data, parts, kinds, tags, tag_end)[0]
        x, y = _unit(lon, form[0], form[2], 180), _unit(lat, form[0], form[1], 90)
        if tag_end < 0 or _NOWHERE in (x, y):
            return -1 - index
        places[kept], units[kept, 0], units[kept, 1], tag_ends[kept] = near, x, y, tag_end
        kept += 1
    return kept
