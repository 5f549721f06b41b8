"""One bit a row between those who own rows and those who have them as ghosts: a halo exchange of a thirty-second of the words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from math import ceil
from typing import Any, NamedTuple

import cupy
import cupyx
import numpy as np

from kernels.distributed.halo import Halo
from kernels.gpu import loader as cuda
from kernels.graph import OFFSET, Array

_WORD = 32
_SUM_WORDS = 4  # at the end of a message, as in bits.cu, ...
_BATCH = 8  # ... where a warp packs so many words at a time
_ALIGNED = 4  # words: messages begin where they are sent fastest
_SOURCE, _THREADS = "distributed/gpu/bits.cu", 512


class _Layout(NamedTuple):
    """Where messages to or from all ranks stand, one after the other; this one's is empty."""

    words: list[int]  # bounds
    on_device: tuple[Array, ...]  # `words` and `bounds` of bits.cu


class _Messages:
    """Room for messages: uint32, and the parts of each rank."""

    def __init__(self, layout: _Layout):
        self.room, self.layout = cupy.empty(layout.words[-1], np.uint32), layout.on_device
        self.of_each = [self.room[begin:end] for begin, end in pairwise(layout.words)]


class HaloBits:
    """The bits of a halo. Bitmaps are uint32 [`words`], by local numbers.

    Attributes
    ----------
    words : int
        Of a bitmap; one more than the own rows and the ghosts need.
    """

    def __init__(self, halo: Halo):
        shard = halo.shard
        self._halo, self._num_own, self._row = halo, np.int64(len(shard.ids)), shard.ghosts.dtype
        self.words = words_of(len(shard.ids) + shard.num_ghosts) + 1
        asked, ghosts = halo.derived.get(_layouts, lambda: _layouts(halo))
        self._of_asked, self._of_ghosts = _Messages(asked), _Messages(ghosts)
        self._known = cupyx.empty_pinned(_SUM_WORDS // 2, np.uint64)

    def empty(self) -> Array:
        """A bitmap without a bit."""
        return cupy.zeros(self.words, np.uint32)

    def refresh(self, bits: Array, sums: Array | None = None) -> list[int]:
        """Bring what the other ranks know; a collective.

        Parameters
        ----------
        bits : uint32 [words]
            Those of the ghosts, of which none is set, are set where their owners have set them.
        sums : uint64 [2], optional
            Two numbers of this rank, which become those of all ranks together.

        Returns
        -------
        list of int
            These.
        """
        asked, ghosts = self._of_asked, self._of_ghosts
        sums = cupy.zeros(_SUM_WORDS // 2, np.uint64) if sums is None else sums
        self._launch("pack_asked", asked, _WORD / _BATCH, self._halo.all_asked, bits, sums, asked.room)

        def put() -> None:
            self._launch("put_ghosts", ghosts, 1, self._num_own, ghosts.room, bits, sums)
            sums.get(out=self._known, blocking=False)

        self._halo.communicator.exchange_then(asked.of_each, ghosts.of_each, put)
        return self._known.tolist()  # type: ignore[no-any-return]

    def tell(self, bits: Array, then: Callable[[], Any] = lambda: None) -> Any:
        """Set the bits of the own rows that others have set for their ghosts; a collective. `then` as `exchange_then` has it."""
        asked, ghosts = self._of_asked, self._of_ghosts
        self._launch("pack_ghosts", ghosts, 1, self._num_own, bits, ghosts.room)

        def mark() -> Any:
            self._launch("mark_asked", asked, _WORD, self._halo.all_asked, asked.room, bits)
            return then()

        return self._halo.communicator.exchange_then(ghosts.of_each, asked.of_each, mark)

    def _launch(self, name: str, messages: _Messages, threads_a_word: float, *arguments: Any) -> None:
        words = len(messages.room)
        if words:
            layout = *messages.layout, np.int64(words)
            cuda.launch(_SOURCE, name, _THREADS, ceil(threads_a_word * words), *layout, *arguments, ROW=self._row)


def words_of(bits: int) -> int:
    """Words of a bitmap."""
    return -(-bits // _WORD)


def _layouts(halo: Halo) -> tuple[_Layout, _Layout]:
    """Of the bits that others asked for, and of the ghosts'. It loads the kernels, too."""
    for name in ("pack_asked", "put_ghosts", "pack_ghosts", "mark_asked"):
        cuda.cooperative(_SOURCE, name, _THREADS, cupy.cuda.Device().id, ROW=halo.shard.ghosts.dtype)
    rank = halo.shard.rank
    return _layout([len(rows) for rows in halo.asked], rank), _layout(np.diff(halo.shard.ghost_bounds).tolist(), rank)


def _layout(counts: list[int], rank: int) -> _Layout:
    """Of so many bits to or from each rank."""
    lengths = [-(-words_of(count) // _ALIGNED) * _ALIGNED + _SUM_WORDS for count in counts]
    lengths[rank] = 0
    words = [0, *accumulate(lengths)]
    return _Layout(words, tuple(cupy.asarray(np.array([words, [0, *accumulate(counts)]], OFFSET))))
