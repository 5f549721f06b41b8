"""Read and write Thrift's compact protocol, to change a Parquet footer; shares no code with the project's reader.

A struct is a list of [field, type, value]; a list is [type, values].
"""

import struct
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BYTES, LIST, SET, _MAP, STRUCT = range(1, 13)


def varint(number: int) -> bytes:
    digits = []
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


def zigzag(number: int) -> bytes:
    return varint((number << 1 ^ number >> 63) & 2**64 - 1)


class Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def zigzag(self) -> int:
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.take(1)[0]
        if kind in (I16, I32, I64):
            return self.zigzag()
        if kind == DOUBLE:
            return self.take(8)
        if kind == BYTES:
            return self.take(self.varint())
        if kind in (LIST, SET):
            head = self.take(1)[0]
            count = head >> 4 if head >> 4 < 15 else self.varint()
            inner = head & 15
            return [inner, [self.take(1)[0] == 1 if inner in (TRUE, FALSE) else self.value(inner) for _ in range(count)]]
        assert kind == STRUCT
        return self.struct()

    def struct(self) -> list[list[Any]]:
        fields, number = [], 0
        while head := self.take(1)[0]:
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            fields.append([number, head & 15, self.value(head & 15)])
        return fields


def encoded(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([value])
    if kind in (I16, I32, I64):
        return zigzag(value)
    if kind == DOUBLE:
        return bytes(value)
    if kind == BYTES:
        return varint(len(value)) + value
    if kind in (LIST, SET):
        inner, values = value
        head = bytes([len(values) << 4 | inner]) if len(values) < 15 else bytes([0xF0 | inner]) + varint(len(values))
        return head + b"".join(bytes([2 - v]) if inner in (TRUE, FALSE) else encoded(inner, v) for v in values)
    out, last = b"", 0
    for number, field, content in value:
        step = number - last
        code = field if field not in (TRUE, FALSE) else TRUE if content else FALSE
        out += (bytes([step << 4 | code]) if 0 < step < 16 else bytes([code]) + zigzag(number)) + encoded(code, content)
        last = number
    return out + b"\0"


def footer_of(file: bytes) -> list[list[Any]]:
    (length,) = struct.unpack("<I", file[-8:-4])
    return Reader(file, len(file) - 8 - length).struct()


def with_footer(file: bytes, footer: list[list[Any]]) -> bytes:
    (length,) = struct.unpack("<I", file[-8:-4])
    content = encoded(STRUCT, footer)
    return file[: -8 - length] + content + struct.pack("<I", len(content)) + b"PAR1"


def field(value: list[list[Any]], number: int) -> list[Any]:
    """The field, which is changed by assigning to its item 2."""
    return next(entry for entry in value if entry[0] == number)
