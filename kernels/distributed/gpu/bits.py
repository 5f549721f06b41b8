"""One bit per row between owners and the ranks that have the row as a ghost: a halo exchange of a thirty-second of the words."""

from collections.abc import Callable
from itertools import accumulate, pairwise
from math import ceil
from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.distributed.gpu.constants import BITS_BATCH, BITS_SUM_WORDS
from kernels.distributed.halo import Halo
from kernels.gpu import loader as cuda
from kernels.gpu.transfer import empty_pinned
from kernels.graph import OFFSET, Array

_WORD = 32
_ALIGNED = 4  # words: messages begin at multiples of 16 bytes, at which they are sent fastest
_SOURCE, _THREADS = "distributed/gpu/bits.cu", 512


class _Layout(NamedTuple):
    """Where the messages to or from all ranks are in one buffer, in rank order; this rank's is empty."""

    words: list[int]  # bounds
    on_device: tuple[Array, ...]  # `words` and `bounds` of bits.cu


class _BitMessages:
    """The buffer of messages to or from all ranks, uint32, and each rank's part of it."""

    def __init__(self, layout: _Layout):
        self.buffer, self.layout = cupy.empty(layout.words[-1], np.uint32), layout.on_device
        self.parts = [self.buffer[begin:end] for begin, end in pairwise(layout.words)]


class HaloBits:
    """One bit for each row of a halo. Bitmaps are uint32 [`words`], by local rows.

    Attributes:
        words: Of a bitmap; one more than the own rows and the ghosts need.
    """

    def __init__(self, halo: Halo):
        shard = halo.shard
        self._halo, self._num_own, self._row = halo, np.int64(len(shard.ids)), shard.ghosts.dtype
        self.words = words_of(len(shard.ids) + shard.num_ghosts) + 1
        mirrored, ghosts = halo.derived.get(_layouts, lambda: _layouts(halo))
        self._mirrored, self._ghosts = _BitMessages(mirrored), _BitMessages(ghosts)
        self._sums = empty_pinned(BITS_SUM_WORDS // 2, np.uint64)

    def empty(self) -> Any:
        """A bitmap with no bit set."""
        return cupy.zeros(self.words, np.uint32)

    def refresh(self, bits: Array, sums: Any = None) -> list[int]:
        """Set the ghosts' bits from their owners; a collective.

        Args:
            bits (uint32 [words]): No bit of a ghost is set; those that are set at their owners become set.
            sums (uint64 [2], optional): Two numbers of this rank, which are replaced by their sums over all ranks.

        Returns:
            The sums.
        """
        mirrored, ghosts = self._mirrored, self._ghosts
        sums = cupy.zeros(BITS_SUM_WORDS // 2, np.uint64) if sums is None else sums
        self._launch("pack_mirrored", mirrored, _WORD / BITS_BATCH, self._halo.all_mirrored, bits, sums, mirrored.buffer)

        def put() -> None:
            self._launch("put_ghosts", ghosts, 1, self._num_own, ghosts.buffer, bits, sums)
            sums.get(out=self._sums, blocking=False)

        self._halo.communicator.exchange_then(mirrored.parts, ghosts.parts, put)
        totals: list[int] = self._sums.tolist()
        return totals

    def mark_owners(self, bits: Array, then: Callable[[], Any] = lambda: None) -> Any:
        """Set the bits of own rows that are set for ghosts on other ranks; a collective. `then` as in `exchange_then`."""
        mirrored, ghosts = self._mirrored, self._ghosts
        self._launch("pack_ghosts", ghosts, 1, self._num_own, bits, ghosts.buffer)

        def mark() -> Any:
            self._launch("mark_mirrored", mirrored, _WORD, self._halo.all_mirrored, mirrored.buffer, bits)
            return then()

        return self._halo.communicator.exchange_then(ghosts.parts, mirrored.parts, mark)

    def _launch(self, name: str, messages: _BitMessages, threads_per_word: float, *arguments: Any) -> None:
        words = len(messages.buffer)
        if words:
            layout = *messages.layout, np.int64(words)
            cuda.launch(_SOURCE, name, _THREADS, ceil(threads_per_word * words), *layout, *arguments, ROW=self._row)


def words_of(bits: int) -> int:
    """Words of a bitmap."""
    return -(-bits // _WORD)


def _layouts(halo: Halo) -> tuple[_Layout, _Layout]:
    """Layouts of the messages about own rows that others have as ghosts, and about the ghosts.

    It also loads the kernels, which `exchange_then` must not do later.
    """
    device = cupy.cuda.Device().id
    for name in ("pack_mirrored", "put_ghosts", "pack_ghosts", "mark_mirrored"):
        cuda.cooperative(_SOURCE, name, _THREADS, device, 0, ROW=halo.shard.ghosts.dtype)
    rank = halo.shard.rank
    return _layout([len(rows) for rows in halo.mirrored], rank), _layout(np.diff(halo.shard.ghost_bounds).tolist(), rank)


def _layout(counts: list[int], rank: int) -> _Layout:
    """The layout of messages with this number of bits to or from each rank."""
    lengths = [-(-words_of(count) // _ALIGNED) * _ALIGNED + BITS_SUM_WORDS for count in counts]
    lengths[rank] = 0
    words = [0, *accumulate(lengths)]
    return _Layout(words, tuple(cupy.asarray(np.array([words, [0, *accumulate(counts)]], OFFSET))))
