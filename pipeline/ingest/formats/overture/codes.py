"""Numbers for nested values, so that what many rows have in common is looked at once."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array


def codes_of(values: pa.Array) -> Array:
    """A number for each value, int64 [n]: values have the same number if and only if they are equal; a null has -1.

    They have plain types (`columns.plain`).
    """
    if pa.types.is_struct(values.type):
        codes = np.zeros(len(values), np.int64)
        for field in range(values.type.num_fields):
            codes = both(codes, codes_of(pc.struct_field(values, [field])))
    elif pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        codes = _of_lists(values)
    else:
        codes = values.dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
    codes[values.is_null().to_numpy(zero_copy_only=False)] = -1
    return codes


def both(one: Array, other: Array) -> Array:
    """A number for each pair of numbers of at least -1, int64 [n] each: the same for equal pairs."""
    pairs = (one + 1) * (other.max(initial=0) + 2) + other + 1
    codes: Array = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return codes


def _of_lists(lists: pa.Array) -> Array:
    codes: Array
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
    inner, begins, codes = codes_of(lists.flatten()), np.cumsum(lengths) - lengths, lengths.copy()
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        codes[rows] = codes.max() + 1 + both(codes[rows], inner[begins[rows] + place])
    return codes
