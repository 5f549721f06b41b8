"""Fingerprints of rows: sums modulo 2^64 of a random function of each row's values, whatever the order of the rows.

Two different multisets of rows have the same fingerprint with a probability of about 2^-64, because the keys are drawn for each
comparison (multiset hashing by sums: Clarke et al., 2003, without an adversary who knows the keys).
"""

import secrets

import numpy as np
import pyarrow as pa

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.graph import Array

_NULL = np.uint64(0x9E3779B97F4A7C15)


class Fingerprints:
    """Fingerprints with one set of keys, of rows with the same columns."""

    def __init__(self, columns: int) -> None:
        self._keys = [np.uint64(secrets.randbits(64) | 1) for _ in range(columns)]

    def of(self, rows: pa.Table) -> int:
        """The fingerprint of rows; their columns come in the order of all calls."""
        found = np.zeros(len(rows), np.uint64)
        for key, column in zip(self._keys, rows.columns, strict=True):
            _mix(found, frozen(bits(column.combine_chunks(), key)), key)
        return int(found.sum(dtype=np.uint64))


def has_bits(kind: pa.DataType) -> bool:
    """Whether values of this type are equal if and only if their `bits` are, nulls aside."""
    return bool(
        pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_temporal(kind)
        or (pa.types.is_floating(kind) and kind.bit_width > 16)
    )  # fmt: skip


def bits(column: pa.Array | pa.ChunkedArray, key: np.uint64 = _NULL) -> Array:
    """64 bits for each value, uint64 [n]: equal for equal values, and for all nulls; of texts and lists a function with a key."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        found = np.zeros(len(column), np.uint64)
        _mix_lists(found, column.offsets.to_numpy().astype(np.int64), bits(column.values, key), key)
    elif not has_bits(kind):
        text = column.cast(pa.large_string() if not pa.types.is_binary(kind) else pa.large_binary())
        _, ends, content = text.buffers()
        offsets = np.frombuffer(ends, np.int64, len(text) + 1, 8 * text.offset) if len(text) else np.zeros(1, np.int64)
        values = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]] if content else np.empty(0, np.uint8)
        found = np.zeros(len(text), np.uint64)
        _mix_lists(found, offsets - offsets[0], values.astype(np.uint64), key)
    elif pa.types.is_floating(kind):
        found = column.fill_null(0).to_numpy().view(f"u{kind.bit_width // 8}").astype(np.uint64, copy=False)
    else:
        numbers = column if pa.types.is_integer(kind) else column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        found = numbers.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False).view(np.uint64)
    return np.where(column.is_null().to_numpy(zero_copy_only=False), _NULL, found) if column.null_count else found


@njit(cache=True, nogil=True)
def _mix(found: Array, values: Array, key: int) -> None:
    """Mix a value into the function of each row."""
    for row in range(len(found)):
        mixed = (found[row] ^ values[row]) * key
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
