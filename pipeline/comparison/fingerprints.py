"""Fingerprints of rows: sums modulo 2^64 of a random function of each row's values, whatever the order of the rows.

Two different multisets of rows have the same fingerprint with a probability of about 2^-64, because the keys are drawn for each
comparison (multiset hashing by sums: Clarke et al., 2003, without an adversary who knows the keys).
"""

import secrets
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.graph import Array

_NULL = np.uint64(0x9E3779B97F4A7C15)
_NO_BITMAP = frozen(np.empty(0, np.uint8))


class Fingerprints:
    """Fingerprints with one set of keys, of rows with the same columns."""

    def __init__(self, columns: int) -> None:
        self._keys = [np.uint64(secrets.randbits(64) | 1) for _ in range(columns)]

    def of(self, rows: pa.Table) -> int:
        """The fingerprint of rows; their columns come in the order of all calls."""
        found = np.zeros(len(rows), np.uint64)
        for key, column in zip(self._keys, rows.columns, strict=True):
            _mix(found, *bits(whole(column), key), key)
        return int(found.sum(dtype=np.uint64))


class Bits(NamedTuple):
    """The values of a column as numbers: equal numbers for equal values."""

    words: Array  # uint64 [n]; any number where the value is null
    valid: Array  # uint8: Arrow's bitmap of the values that are not null; empty if none is
    first: int  # the bit of the first value


def whole(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array, without a copy if it is one already."""
    if column.num_chunks == 1:
        return column.chunk(0)
    found = column.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def has_bits(kind: pa.DataType) -> bool:
    """Whether values of this type are equal if and only if their `bits` are equal."""
    return bool(
        pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_temporal(kind)
        or (pa.types.is_floating(kind) and kind.bit_width > 16)
    )  # fmt: skip


def bits(column: pa.Array, key: np.uint64 = _NULL) -> Bits:
    """The values as numbers; texts and lists are mapped by a keyed function."""
    bitmap = column.buffers()[0] if column.null_count else None
    valid = frozen(np.frombuffer(bitmap, np.uint8)) if bitmap else _NO_BITMAP
    return Bits(frozen(_words(column, key)), valid, column.offset)


def _words(column: pa.Array, key: np.uint64) -> Array:
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        words = np.zeros(len(column), np.uint64)
        _mix_lists(words, column.offsets.to_numpy().astype(np.int64), bits(column.values, key).words, key)
        return words
    if has_bits(kind):
        numbers = column.cast(pa.uint8()) if pa.types.is_boolean(kind) else column
        width = numbers.type.bit_width // 8
        stored = np.frombuffer(numbers.buffers()[1] or b"", f"u{width}")
        return stored[numbers.offset : numbers.offset + len(numbers)].astype(np.uint64, copy=False)
    text = column.cast(pa.large_string() if not pa.types.is_binary(kind) else pa.large_binary())
    _, ends, content = text.buffers()
    offsets = np.frombuffer(ends, np.int64, len(text) + 1, 8 * text.offset) if len(text) else np.zeros(1, np.int64)
    values = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]] if content else np.empty(0, np.uint8)
    words = np.zeros(len(text), np.uint64)
    _mix_lists(words, offsets - offsets[0], frozen(values.astype(np.uint64)), key)
    return words


@njit(cache=True, nogil=True)
def _mix(found: Array, words: Array, valid: Array, first: int, key: int) -> None:
    """Mix a value into the function of each row."""
    for row in range(len(found)):
        word = words[row]
        if len(valid) and not valid[(first + row) >> 3] >> ((first + row) & 7) & 1:
            word = _NULL
        mixed = (found[row] ^ word) * key
        mixed = (mixed ^ (mixed >> np.uint64(32))) * key
        found[row] = mixed ^ (mixed >> np.uint64(29))


@njit(cache=True, nogil=True)
def _mix_lists(found: Array, offsets: Array, values: Array, key: int) -> None:
    """The same for the values of each list, and for their number."""
    for row in range(len(found)):
        mixed = np.uint64(offsets[row + 1] - offsets[row] + 1)
        for place in range(offsets[row], offsets[row + 1]):
            mixed = (mixed ^ values[place]) * key
            mixed ^= mixed >> np.uint64(32)
        found[row] = mixed
