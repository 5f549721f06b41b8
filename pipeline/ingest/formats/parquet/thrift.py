"""Read structs in Thrift's compact protocol, in which Parquet's footers and page headers are written.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from collections.abc import Sequence
from typing import Any

_MOST_NESTED = 16  # Parquet's definitions have no recursion
_TRUE, _FALSE, _BYTE, _DOUBLE, _BYTES, _LIST, _STRUCT = 1, 2, 3, 7, 8, 9, 12  # types of fields
_BITS = {4: 16, 5: 32, 6: 64}  # of the types of integers; Arrow reads the low bits of one that is larger
_SIZES = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}
# What a malformed struct, or one without an expected field, may raise.
MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def read_struct(data: Sequence[int], at: int = 0, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Return the fields of the struct at a place by number, int, bool, bytes, list or dict, and where it ends.

    Raises one of MALFORMED.
    """
    if depth > _MOST_NESTED:
        raise ValueError
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = read_integer(data, at, _BITS[4])
        if number in fields:
            raise ValueError
        kind = head & 15
        if kind in (_TRUE, _FALSE):
            fields[number] = kind == _TRUE
        else:
            fields[number], at = _value(data, at, kind, depth)
    return fields, at + 1


def _value(data: Sequence[int], at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in _BITS:
        return read_integer(data, at, _BITS[kind])
    if kind == _STRUCT:
        return read_struct(data, at, depth + 1)
    if kind == _LIST:
        return _list(data, at, depth)
    size, at = _varint(data, at) if kind == _BYTES else (_SIZES[kind], at)
    if at + size > len(data):
        raise ValueError
    return data[at : at + size], at + size


def _list(data: Sequence[int], at: int, depth: int) -> tuple[list[Any], int]:
    if depth > _MOST_NESTED:
        raise ValueError
    head, at = data[at], at + 1
    count, at = (head >> 4, at) if head >> 4 < 15 else _varint(data, at)
    values = []
    for _ in range(count):
        value, at = _value(data, at, head & 15, depth + 1)
        values.append(value)
    return values, at


def _varint(data: Sequence[int], at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError


def read_integer(data: Sequence[int], at: int, bits: int) -> tuple[int, int]:
    """Return a signed integer of this many bits, and where it ends. Raises one of MALFORMED."""
    value = data[at]
    at += 1
    if value > 127:
        value, at = _varint(data, at - 1)
        if value >> bits:
            raise ValueError
    return value >> 1 ^ -(value & 1), at
