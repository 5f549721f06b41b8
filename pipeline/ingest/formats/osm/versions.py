"""The ids and versions of elements in a block of PBF data, for files of changes: the newest version of an element counts.

Elements without a version, as in extracts that were written without metadata, have version 0.
"""

from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from pipeline.ingest.formats.osm.wire import field, signed, varint

_ID, _INFO = 1, 4  # fields of ways, relations and nodes that are not dense; a version is field 1 of their metadata


@njit(cache=True, nogil=True)
def _version(data: Array, at: int, end: int) -> Any:
    """The version in an element's metadata; 0 if there is none, and -1 if it is damaged."""
    version = np.int64(0)
    while at < end:
        number, kind, begin, stop = field(data, at, end)
        if stop < 0 or (number == 1 and kind != 0):
            return np.int64(-1)
        if number == 1:
            version = varint(data, begin, stop)[0]
        at = stop
    return max(version, np.int64(0))


@njit(cache=True, nogil=True)
def read_versions(data: Array, elements: Array, zigzag: bool, ids: Array, versions: Array) -> int:
    """Read the ids and versions of ways, relations, or nodes that are not dense.

    Args:
        data (uint8 [N]): The block.
        elements (int32 [n, 2]): Where each begins and ends.
        zigzag: Whether ids are zigzag codes, as those of nodes.
        ids, versions (int64 [n]): Get the results.

    Returns:
        n, or -1 - number of a damaged element.
    """
    for index in range(len(elements)):
        at, end, known = np.int64(elements[index, 0]), np.int64(elements[index, 1]), False
        versions[index] = 0
        while at < end:
            number, kind, begin, stop = field(data, at, end)
            if stop < 0:
                return -1 - index
            if number == _ID and kind == 0:
                code = varint(data, begin, stop)[0]
                ids[index], known = (signed(code) if zigzag else code), True
            elif number == _INFO and kind == 2:
                versions[index] = _version(data, begin, stop)
                if versions[index] < 0:
                    return -1 - index
            at = stop
        if not known:
            return -1 - index
    return len(elements)


@njit(cache=True, nogil=True)
def read_dense_versions(data: Array, ranges: Array, ids: Array, versions: Array) -> int:
    """Read the ids and versions of dense nodes.

    Args:
        data (uint8 [N]): The block.
        ranges (int64 [2, 2]): Where ids and versions begin and end; the versions may be empty.
        ids, versions (int64 [n]): Get the results.

    Returns:
        How many there are, or -1 - number of a damaged node.
    """
    at, place, node, count = ranges[0, 0], ranges[1, 0], np.int64(0), 0
    has_versions = ranges[1, 1] > ranges[1, 0]
    while at < ranges[0, 1]:
        step, at = varint(data, at, ranges[0, 1])
        if at < 0:
            return -1 - count
        node += signed(step)
        version = np.int64(0)
        if has_versions:
            version, place = varint(data, place, ranges[1, 1])
            if place < 0:
                return -1 - count
        ids[count], versions[count] = node, max(version, np.int64(0))
        count += 1
    return count
