"""Checks of every collective against NumPy, on arrays that each rank can compute for all ranks."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.distributed.communicator import Communicator
from kernels.graph import Array

TYPES = [np.dtype(name) for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")]
LENGTHS = [0, 1, 2, 16, 1000, 65_536]


def values(rank: int, length: int, dtype: np.dtype, seed: int) -> Array:
    """A rank's contribution: random bytes; for floats, numbers of very different magnitudes."""
    random = np.random.default_rng([rank, length, dtype.num, seed])
    if dtype.kind == "f":
        return (random.standard_normal(length) * 10.0 ** random.integers(-12, 12, length)).astype(dtype)
    return (
        random.integers(0, 2, length).astype(dtype)
        if dtype.kind == "b"
        else random.integers(0, 256, length * 8, np.uint8).view(dtype)[:length]
    )


def check_collectives(ranks: Communicator, bring: Callable[[Array], Array]) -> int:
    """Check all collectives on arrays that `bring` makes from NumPy's; return the number of comparisons."""
    me, every_rank = ranks.rank, range(ranks.size)
    tried = 0

    def same(found: Array, expected: Array) -> None:
        nonlocal tried
        tried += 1
        assert type(found) is type(bring(expected))
        host = found.get() if hasattr(found, "get") else found
        assert (host.dtype, host.shape) == (expected.dtype, expected.shape)
        assert host.tobytes() == expected.tobytes()
        found[...] = 0  # the receiver owns it

    for dtype in TYPES:
        for length in LENGTHS:
            brought = bring(values(me, length, dtype, 0))
            contributions = [values(rank, length, dtype, 0) for rank in every_rank]
            for collective, function in ((ranks.total, np.add), (ranks.least, np.minimum), (ranks.most, np.maximum)):
                same(collective(brought), reduce(function, contributions))
            for alike in (False, True):
                for found, expected in zip(ranks.gather(brought, alike), contributions, strict=True):
                    same(found, expected)
            uneven = [values(rank, (length * (rank + 1)) // 2, dtype, 1) for rank in every_rank]
            for found, expected in zip(ranks.gather(bring(uneven[me])), uneven, strict=True):
                same(found, expected)
            same(brought, contributions[me])

    def part(sender: int, receiver: int, turn: int) -> Array:
        """A part of another type for each pair, often empty, of the same length for all if `turn` is 0."""
        dtype = TYPES[(3 * sender + receiver + turn) % len(TYPES)]
        return values(sender, 16 if turn == 0 else (7 * sender + 5 * receiver + turn) % 4 * turn * 10, dtype, receiver)

    for turn in range(20):
        sent = [bring(part(me, to, turn)) for to in every_rank]
        for sender, found in enumerate(ranks.exchange(sent)):
            same(found, part(sender, me, turn))
        for to, mine in enumerate(sent):
            same(mine, part(me, to, turn))

    def known(sender: int, receiver: int, dtype: np.dtype) -> Array:
        """A part whose length both ranks know, such that the next part is not aligned."""
        return values(sender, (7 * sender + 5 * receiver) % 4 * 1003 + sender, dtype, receiver)

    for dtype in TYPES:
        expected = [known(sender, me, dtype) for sender in every_rank]
        cuts = np.cumsum([len(part) for part in expected])
        for step in (1, 2):
            buffer = bring(np.empty(step * cuts[-1], dtype))[::step]
            views = np.split(buffer, cuts[:-1].tolist())
            found = ranks.exchange([bring(known(me, to, dtype)) for to in every_rank], views)
            assert all(part is view for part, view in zip(found, views, strict=True))
            same(buffer, np.concatenate(expected))
    odd = bring(np.arange(1_000_003, dtype=np.int64) + me)[1::2][me:]  # neither contiguous nor aligned
    for sender, found in enumerate(ranks.exchange([odd] * ranks.size)):
        same(found, (np.arange(1_000_003) + sender)[1::2][sender:])
    if is_cupy_array(odd):
        received, doubled, again, more = ([bring(np.zeros(1000)) for _ in every_rank] for _ in range(4))
        sent = [bring(np.full(1000, 8.0 * me + to)) for to in every_rank]
        np.add(received[0], received[0], out=doubled[0])  # compiles the kernel

        def answer() -> list[Array]:
            for to in every_rank:
                np.add(received[to], received[to], out=doubled[to])
            pairs = zip(again, more, strict=True)
            return ranks.exchange_then(doubled, again, lambda: [np.add(part, part, out=to) for part, to in pairs])

        for sender, found in enumerate(ranks.exchange_then(sent, received, answer)):
            same(found, np.full(1000, 4 * (8.0 * me + sender)))
    return tried
