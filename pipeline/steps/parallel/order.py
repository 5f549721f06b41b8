"""What says which of parallel rows comes first: a column of numbers, dates, times or texts."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array


def ranks_of(column: pa.ChunkedArray) -> Array:
    """The place of each value among the different ones, ascending, int64 [N]; a null, of a declared vertex, is the last."""
    ranks: Array = pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
    return ranks


class OrderWords:
    """Values as two words that compare as the values do; made without sorting rows, for the proof of what the ranks decided."""

    def __init__(self, texts: Iterable[pa.ChunkedArray]) -> None:
        """`texts` are all values, if they are texts."""
        different = {text for block in texts for text in pc.unique(block).to_pylist()}
        ascending = sorted((text for text in different if text is not None), key=str.encode)
        self._texts = {text: place for place, text in enumerate(ascending)}

    def of(self, column: pa.ChunkedArray) -> tuple[Array, Array]:
        """The words of values: int64 [N] and, where the first words are equal, uint64 [N]; those of a null are the largest."""
        values = column.combine_chunks()
        high, low = self._words(values)
        if values.null_count:
            absent = values.is_null().to_numpy(zero_copy_only=False)
            high[absent], low[absent] = np.iinfo(np.int64).max, np.iinfo(np.uint64).max
        return high, low

    def _words(self, values: pa.Array) -> tuple[Array, Array]:
        zeros, kind = np.zeros(len(values), np.uint64), values.type
        if pa.types.is_large_string(kind):
            known = values.dictionary_encode(null_encoding="encode")
            codes = np.array([self._texts.get(text, 0) for text in known.dictionary.to_pylist()] or [0], np.int64)
            return codes[known.indices.to_numpy()], zeros
        if pa.types.is_decimal(kind):
            words = np.frombuffer(values.buffers()[1], np.uint64)[2 * values.offset : 2 * (values.offset + len(values))]
            return words[1::2].copy().view(np.int64), words[::2].copy()
        if pa.types.is_floating(kind):
            bits = values.cast(pa.float64()).fill_null(0).to_numpy().view(np.int64)
            return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits), zeros
        if pa.types.is_uint64(kind):
            return np.zeros(len(values), np.int64), values.fill_null(0).to_numpy().copy()
        whole = values if pa.types.is_integer(kind) else values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        return whole.fill_null(0).to_numpy().astype(np.int64), zeros
