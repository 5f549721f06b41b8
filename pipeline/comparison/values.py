"""Values of columns where Arrow has them, compared bit by bit, and the keys of rows as numbers.

This uses NumPy and Arrow only: a run on a GPU compares tables, and would load Numba for nothing else.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array


def whole(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array, without a copy if it is one already."""
    if column.num_chunks == 1:
        return column.chunk(0)
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def has_bits(kind: pa.DataType) -> bool:
    """Whether values of this type are numbers, which are equal if and only if their `words` are equal."""
    return bool(
        pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_temporal(kind) or pa.types.is_floating(kind)
    )


def words(column: pa.Array) -> Array:
    """The bits of each value of a type that `has_bits`, as unsigned integers [n]; any number where the value is null."""
    numbers = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
    width = numbers.type.bit_width // 8
    return np.frombuffer(numbers.buffers()[1] or b"", f"u{width}")[numbers.offset :][: len(numbers)]


def valid(column: pa.Array) -> Array | None:
    """Which values are not null, bool [n]; None if no value is null."""
    if not column.null_count:
        return None
    bits = np.frombuffer(column.buffers()[0], np.uint8)[column.offset >> 3 :]
    first = column.offset & 7
    return np.unpackbits(bits, count=first + len(column), bitorder="little")[first:].view(np.bool_)


def differing(old: pa.Array, new: pa.Array, left: Array | None = None, right: Array | None = None) -> Array:
    """Whether values of two columns of one type differ, bool [n].

    A null equals a null only, and floats are compared by their bits, also those in lists and structs.

    Args:
        left, right (int64 [n]): The rows of both columns that are compared; None for all rows.
    """
    if not has_bits(old.type):
        return _others_differ(*(of if rows is None else of.take(rows) for of, rows in ((old, left), (new, right))))
    unequal: Array = _at(words(old), left) != _at(words(new), right)
    flags = [valid(side) for side in (old, new)]
    if flags[0] is not None or flags[1] is not None:
        one, other = (True if of is None else _at(of, rows) for of, rows in zip(flags, (left, right), strict=True))
        unequal &= np.logical_and(one, other)
        unequal |= np.not_equal(one, other)
    return unequal


def _at(values: Array, rows: Array | None) -> Array:
    return values if rows is None else values.take(rows)


def _others_differ(old: pa.Array, new: pa.Array) -> Array:
    """Whether values of two columns of one type, which has no bits, differ, bool [n]."""
    kind = old.type
    if pa.types.is_dictionary(kind):
        return differing(old.dictionary_decode(), new.dictionary_decode())
    differs: Array = np.not_equal(*(column.is_null().to_numpy(zero_copy_only=False) for column in (old, new)))
    if pa.types.is_struct(kind):
        for pair in zip(old.flatten(), new.flatten(), strict=True):
            differs |= differing(*pair)
        return differs
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return differs | _lists_differ(old, new)
    try:
        differs |= pc.fill_null(pc.not_equal(old, new), False).to_numpy(zero_copy_only=False)
    except pa.ArrowNotImplementedError:
        differs |= np.array([not old[row : row + 1].equals(new[row : row + 1]) for row in range(len(old))], np.bool_)
    return differs


def _lists_differ(old: pa.Array, new: pa.Array) -> Array:
    """Whether lists differ in their lengths or in a value, bool [n]; a null is as long as an empty list."""
    lengths = [pc.fill_null(pc.list_value_length(column), 0).to_numpy() for column in (old, new)]
    differs: Array = lengths[0] != lengths[1]
    rows = np.flatnonzero(~differs)
    unequal = np.flatnonzero(differing(*(pc.list_flatten(column.take(rows)) for column in (old, new))))
    differs[rows[np.searchsorted(np.cumsum(lengths[0][rows]), unequal, "right")]] = True
    return differs


def same(old: pa.Array, new: pa.Array, left: Array | None = None, right: Array | None = None) -> bool:
    """Whether rows of two columns of one type, as of `differing`, have the same values and are equally many."""
    counts = [len(of) if rows is None else len(rows) for of, rows in ((old, left), (new, right))]
    return counts[0] == counts[1] and not differing(old, new, left, right).any()


def key_numbers(*sides: Sequence[pa.Array]) -> list[Array]:
    """For each of several sets of rows, a number of each row, int64 [n], in the order of the keys: equal ones for equal keys.

    Args:
        sides: For each set of rows the columns of the keys, of which the first one counts most.
    """
    columns = [_ordered_alike(of_one) for of_one in zip(*sides, strict=True)]
    while len(columns) > 1 and len({of[end] for of in columns[0] if len(of) for end in (0, -1)}) < 2:
        columns = columns[1:]  # all rows have the same key, for they are sorted
    if len(columns) == 1:
        return columns[0]
    least = [min((int(side.min()) for side in of_key if len(side)), default=0) for of_key in columns]
    most = [max((int(side.max()) for side in of_key if len(side)), default=0) for of_key in columns]
    spans = [high - low + 1 for low, high in zip(least, most, strict=True)]
    if np.prod(spans, dtype=object) >= 2**63:  # places among the values of all sets instead
        lengths = np.cumsum([len(side) for side in columns[0]])[:-1]
        columns = [np.split(np.unique(np.concatenate(of_key), return_inverse=True)[1], lengths) for of_key in columns]
        least, spans = [0] * len(columns), [1 + max(int(side.max()) for side in of_key if len(side)) for of_key in columns]
    numbers = [side - least[0] for side in columns[0]]
    for of_key, low, span in zip(columns[1:], least[1:], spans[1:], strict=True):
        numbers = [number * span + (side - low) for number, side in zip(numbers, of_key, strict=True)]
    return numbers


def ascend(numbers: Array) -> bool:
    """Whether numbers ascend, each once."""
    return bool((numbers[1:] > numbers[:-1]).all())


def _ordered_alike(columns: Sequence[pa.Array]) -> list[Array]:
    """The values of one key in several sets of rows as int64 in the same order; texts by their ranks among all of them."""
    if not any(pa.types.is_string(column.type) for column in columns):
        return [_ordered(column) for column in columns]
    ranks = pc.rank(pa.chunked_array(columns), tiebreaker="dense").to_numpy().astype(np.int64)
    return np.split(ranks, np.cumsum([len(column) for column in columns])[:-1])


def _ordered(column: pa.Array) -> Array:
    """Numbers as int64 in the same order."""
    values = column.to_numpy()
    if values.dtype.kind != "f":
        integers: Array = values.astype(np.int64, copy=False)
        return integers
    bits: Array = (values.astype(np.float64) + 0.0).view(np.int64)  # -0.0 becomes 0.0
    bits ^= bits >> 63 & np.int64(2**63 - 1)
    return bits
