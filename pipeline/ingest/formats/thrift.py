"""Read structs in Thrift's compact protocol, in which Parquet's footers and page headers are written.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

import mmap
from typing import Any

_MOST_NESTED = 16  # Parquet's definitions have no recursion
_TRUE, _FALSE, _BYTE, _NUMBERS, _DOUBLE, _BYTES, _LIST, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, 9, 12  # types of fields
# What a malformed struct, or one without an expected field, may raise.
MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class Compact:
    """A reader of the struct at a place of a file; `at` is where it has arrived."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        if at < 0:
            raise ValueError
        self.at = at
        self._data = data

    def read_struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the values of its fields by number: int, bool, bytes, list or dict. Raises one of MALFORMED."""
        if depth > _MOST_NESTED:
            raise ValueError
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            if number in fields:
                raise ValueError
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _NUMBERS:
            return self._integer()
        if kind == _BYTES:
            return self._take(self._varint())
        if kind == _STRUCT:
            return self.read_struct(depth + 1)
        if kind == _LIST:
            return self._list(depth)
        return self._take({_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}[kind])

    def _list(self, depth: int) -> list[Any]:
        if depth > _MOST_NESTED:
            raise ValueError
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()
        return [self._value(head & 15, depth + 1) for _ in range(count)]

    def _take(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self._data):
            raise ValueError
        return self._data[self.at - size : self.at]

    def _byte(self) -> int:
        value: int = self._data[self.at]
        self.at += 1
        return value

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
