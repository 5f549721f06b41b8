"""Which rows of two blocks have the same keys; tables of the same vertices share the answer."""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from kernels.graph import Array
from pipeline.comparison.values import ascend

_DENSE = 16  # numbers for each row, up to which a table of all numbers is faster than a search for each row


class Unordered(ValueError):
    """Keys are not in the order that they must have."""


@dataclass(frozen=True)
class Matching:
    """The rows of an old and of a new block with the same keys.

    Attributes:
        source (int64 [rows of the new block]): The row of the old block with the same key; 0 if there is none. None if both
            blocks have the same keys.
        added (int64 [n]): The rows of the new block whose keys the old block lacks, ascending.
        removed (int64 [n]): The rows of the old block whose keys the new block lacks, ascending.
    """

    source: Array | None
    added: Array
    removed: Array


def match(old: Array, new: Array) -> Matching:
    """The rows with the same keys.

    Args:
        old, new (int64 [n], [m]): The numbers of the keys. Raises Unordered unless they are equal or ascend, each once.
    """
    none = np.empty(0, np.int64)
    if np.array_equal(old, new):
        return Matching(None, none, none)
    if not (ascend(old) and ascend(new)):
        raise Unordered("the keys do not ascend, each once")
    if not (len(old) and len(new)):
        return Matching(np.zeros(len(new), np.int64), np.arange(len(new)), np.arange(len(old)))
    low, high = int(min(old[0], new[0])), int(max(old[-1], new[-1]))
    if high - low < _DENSE * (len(old) + len(new)):
        rows = np.full(high - low + 1, -1, np.int32)
        rows[old - low] = np.arange(len(old), dtype=np.int32)
        source = rows[new - low].astype(np.int64)
        added = np.flatnonzero(source < 0)
        source[added] = 0
    else:
        source = np.searchsorted(old, new)
        source[source == len(old)] = 0
        added = np.flatnonzero(old[source] != new)
        source[added] = 0
    if len(new) - len(added) == len(old):
        return Matching(source, added, none)
    lacking = np.ones(len(old), np.bool_)
    lacking[np.delete(source, added)] = False
    return Matching(source, added, np.flatnonzero(lacking))


@dataclass
class _Known:
    """The keys of two blocks, and their matching."""

    lock: Lock = field(default_factory=Lock)
    keys: tuple[Array, Array] | None = None
    matching: Matching | None = None


class Matchings:
    """The matchings of the blocks that were compared last. Most tables of a run have one row for each vertex."""

    def __init__(self, most: int) -> None:
        """`most`: how many are held."""
        self._most, self._lock, self._known = most, Lock(), OrderedDict[tuple[int, ...], _Known]()

    def of(self, old: Array, new: Array) -> Matching:
        """As `match`; a thread that needs what another one is computing waits for it."""
        mark = tuple(int(number) for keys in (old, new) for number in (len(keys), *keys[:1], *keys[-1:]))
        with self._lock:
            known = self._known.setdefault(mark, _Known())
            self._known.move_to_end(mark)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        with known.lock:
            if known.matching is None:
                known.keys, known.matching = (old, new), match(old, new)
                return known.matching
        assert known.keys
        same = all(np.array_equal(one, other) for one, other in zip(known.keys, (old, new), strict=True))
        return known.matching if same else match(old, new)
