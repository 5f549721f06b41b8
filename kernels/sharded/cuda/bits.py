"""One bit a row between those who own rows and those who have them as ghosts: a halo exchange of a thirty-second of the words."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import cupy
import numpy as np

from kernels import cuda
from kernels.graph import NO_ROW, OFFSET, Array
from kernels.sharded.halo import Halo

_WORD = 32
_ALIGNED = 4  # words: messages begin where they are sent fastest
_THREADS = 512


class HaloBits:
    """The bits of a halo. Bitmaps are uint32 [`words`], by local numbers.

    Attributes
    ----------
    words : int
        Of a bitmap; one more than the own rows and the ghosts need.
    """

    def __init__(self, halo: Halo):
        shard = halo.shard
        self._communicator, self._num_own, self._row = halo.communicator, len(shard.ids), shard.ghosts.dtype
        self.words = words_of(self._num_own + shard.num_ghosts) + 1
        self._asked_words = _starts([len(rows) for rows in halo.asked])
        self._ghost_words = _starts(np.diff(shard.ghost_bounds).tolist())
        self._asked = cupy.full(_WORD * self._asked_words[-1], NO_ROW, self._row)
        for rows, word in zip(halo.asked, self._asked_words, strict=False):
            self._asked[_WORD * word : _WORD * word + len(rows)] = rows
        self._ghosts = cupy.asarray(np.array(self._ghost_words, OFFSET)), cupy.asarray(shard.ghost_bounds)

    def empty(self) -> Array:
        """A bitmap without a bit."""
        return cupy.zeros(self.words, np.uint32)

    def refresh(self, bits: Array) -> None:
        """Set the bits of the ghosts, of which none is set, that their owners have set. A collective."""
        message = self._message(self._asked_words)
        self._launch("pack_asked", _WORD * len(message), self._asked, np.int64(len(message)), bits, message)
        received = self._exchange(message, self._asked_words)
        self._launch("put_ghosts", len(received), *self._ghosts, np.int64(self._num_own), np.int64(len(received)), received, bits)

    def tell(self, bits: Array) -> None:
        """Set the bits of the own rows that others have set for their ghosts. A collective."""
        message = self._message(self._ghost_words)
        self._launch("pack_ghosts", len(message), *self._ghosts, np.int64(self._num_own), np.int64(len(message)), bits, message)
        received = self._exchange(message, self._ghost_words)
        self._launch("mark_asked", _WORD * len(received), self._asked, np.int64(len(received)), received, bits)

    def _message(self, starts: list[int]) -> Array:
        return cupy.empty(starts[-1], np.uint32)

    def _exchange(self, message: Array, starts: list[int]) -> Array:
        return cupy.concatenate(self._communicator.exchange([message[begin:end] for begin, end in pairwise(starts)]))

    def _launch(self, name: str, size: int, *arguments: Any) -> None:
        if size:
            cuda.launch("sharded/cuda/bits.cu", name, _THREADS, size, *arguments, ROW=self._row)


def words_of(bits: int) -> int:
    """Words of a bitmap."""
    return -(-bits // _WORD)


def _starts(counts: list[int]) -> list[int]:
    """The first word of each peer's message, and the end of the last."""
    words = [-(-words_of(count) // _ALIGNED) * _ALIGNED for count in counts]
    return [0, *accumulate(words)]
