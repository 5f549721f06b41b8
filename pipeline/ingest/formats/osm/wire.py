"""Numbers and fields of protocol buffers, read within the bounds of their message: no bytes can make a loop leave it.

A function returns -1 as the next place where the bytes are not what they should be.
https://protobuf.dev/programming-guides/encoding/
"""

from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array

VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5  # types of fields
_SIZES = {FIXED_64: 8, FIXED_32: 4}


@njit(cache=True, nogil=True)
def varint(data: Array, at: int, end: int) -> tuple[Any, Any]:
    """The unsigned number at `at`, as int64, and the place behind it."""
    value, shift = np.uint64(0), np.uint64(0)
    while at < end and shift < np.uint64(70):
        byte = np.uint64(data[at])
        at += 1
        value |= (byte & np.uint64(127)) << shift
        if byte < np.uint64(128):
            return np.int64(value), at
        shift += np.uint64(7)
    return np.int64(0), -1


@njit(cache=True, nogil=True)
def signed(value: int) -> Any:
    """The number that a zigzag code stands for."""
    code = np.uint64(value)
    return np.int64(code >> np.uint64(1)) ^ -np.int64(code & np.uint64(1))


@njit(cache=True, nogil=True)
def field(data: Array, at: int, end: int) -> tuple[Any, Any, Any, Any]:
    """The field at `at`: its number, its type, where its bytes begin and end, which is where the next field begins.

    The bytes of a varint are its own; their end is -1 for a field that is not whole, and for types that are obsolete.
    """
    tag, begin = varint(data, at, end)
    kind, number = tag & 7, tag >> 3
    if begin < 0 or number <= 0:
        return 0, 0, 0, -1
    if kind == 0:
        return number, kind, begin, varint(data, begin, end)[1]
    length = np.int64(-1)
    if kind == 2:
        length, begin = varint(data, begin, end)
        if begin < 0:
            return 0, 0, 0, -1
    elif kind == 1:
        length = np.int64(8)
    elif kind == 5:
        length = np.int64(4)
    stop = begin + length if 0 <= length <= end - begin else np.int64(-1)
    return number, kind, begin, stop


@njit(cache=True, nogil=True)
def members(data: Array, begin: int, end: int, wanted: int, ranges: Array) -> int:
    """Find the fields of type BYTES with the number `wanted` in a message.

    Args:
        ranges (int32 [most, 2]): Gets their beginnings and ends; there are at most half as many as bytes.

    Returns:
        How many there are; -1 if the message is damaged.
    """
    at, count = begin, 0
    while at < end:
        number, kind, first, stop = field(data, at, end)
        if stop < 0 or (number == wanted and kind != 2):
            return -1
        if number == wanted:
            ranges[count, 0], ranges[count, 1] = first, stop
            count += 1
        at = stop
    return count


def fields(data: memoryview) -> dict[int, list[int | memoryview]] | None:
    """The fields of a short message by their numbers: varints as unsigned numbers, others as bytes; None if it is damaged."""
    at, named = 0, dict[int, list[int | memoryview]]()
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if at < 0 or number == 0:
            return None
        value: int | memoryview
        if kind == VARINT:
            value, at = _varint(data, at)
            if at < 0:
                return None
        else:
            length = _SIZES.get(kind, -1)
            if kind == BYTES:
                length, at = _varint(data, at)
            if at < 0 or not 0 <= length <= len(data) - at:
                return None
            value = data[at : at + length]
            at += length
        named.setdefault(number, []).append(value)
    return named


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(data[at : at + 10]):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value & (2**64 - 1), at + place + 1
    return 0, -1


def unpacked(data: memoryview) -> list[int] | None:
    """The varints of a packed field as unsigned numbers; None if they are damaged."""
    at, numbers = 0, list[int]()
    while at < len(data):
        value, at = _varint(data, at)
        if at < 0:
            return None
        numbers.append(value)
    return numbers
