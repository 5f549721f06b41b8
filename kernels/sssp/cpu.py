"""Shortest paths with multi-level buckets (Denardo, Fox: Shortest-Route Methods 1, Operations Research 27, 1979).

Distances are divided into slots of equal width. Level 0 has a bucket for each of the 64 slots around the current one, level 1 for
each of the 64 groups of 64 slots, and so on: a hierarchy of timing wheels that accepts any weights. The nearest bucket of level 0
is scanned until it stays empty; if level 0 is empty, the nearest bucket above is spread over the levels below. A few arcs are
shorter than a slot, so a row may be scanned again (as in Meyer, Sanders: Delta-Stepping, 2003). Addition is monotone, so every
order finds the smallest sum, and distances are the same to the bit.

Where frontiers are large, as in social networks, all cores scan them first (`kernels.sssp.parallel_cpu`), and the buckets begin
with the rows that are left.

A bucket is a linked list of entries (row, length), where entry 0 stands for none. An entry is stale if its length is no longer
its row's distance. Entries of a scanned bucket are reused.
"""

from typing import Any, NamedTuple

import numpy as np

from kernels.answers import Paths
from kernels.arrays import frozen, unsigned
from kernels.cpu.compiled import njit
from kernels.graph import UNREACHED, Array, Csr, Graph, distance_dtype
from kernels.paths.predecessors_cpu import predecessors
from kernels.sssp.parallel_cpu import shorten_in_parallel

_BITS = 6
_PLACES = 1 << _BITS
_LEVELS = 11  # 11 times 6 bits hold every slot
_LAST_SLOT = 2.0**62
_SHORT_ARCS = 1 / 16  # the part of the arcs that may be shorter than a slot
_SAMPLE = 4096


class _Entries(NamedTuple):
    rows: Array
    lengths: Array
    after: Array

    def grown(self, least: int) -> "_Entries":
        """The same entries with space for as many again, and for at least `least` more."""
        more = max(len(self.rows), least)
        return _Entries(*(np.append(array, np.empty(more, array.dtype)) for array in self))


def search(graph: Graph, source: int) -> Paths:
    """Answer `kernels.sssp.sssp` on NumPy arrays."""
    assert graph.out.weights is not None
    assert graph.into.weights is not None
    kind = distance_dtype(graph.out.weights)
    far = far_of(kind)
    lengths = np.full(graph.num_vertices, far)
    lengths[source] = 0
    width, rows = slot_width(graph.out.weights), np.array([source], graph.rows_by_id.dtype)
    shorten(graph.out, width, shorten_in_parallel(graph.out, width, rows, lengths, far), lengths)
    unreached = lengths == far
    distance = lengths.view(kind)
    distance[unreached] = UNREACHED
    return Paths(source, distance, predecessors(graph, source, distance, (graph.out.weights, graph.into.weights)))


def far_of(kind: np.dtype[Any]) -> Any:
    """A scalar larger than any distance of this type, and of the type in which `shorten` adds them.

    Integers are added unsigned: a sum of two int64 does not wrap, and one that exceeds int64 is at least 2^63, so its row stays
    unreached.
    """
    return np.uint64(2**63) if kind == np.int64 else kind.type(np.inf)


def shorten(out: Csr, width: float, rows: Array, distance: Array) -> None:
    """Lower `distance` to the smallest sums from `rows`, each from its own distance; the supply of entries grows on demand.

    Args:
        out: The arcs of the first rows; from the others, ghosts of a shard, none is followed.
        width: Of a slot, from `slot_width`.
        rows (index width [S]): Each once.
        distance: uint64 or float64 [V].
    """
    assert out.weights is not None
    arcs = unsigned(out.offsets), unsigned(out.indices), frozen(out.weights)
    kinds = arcs[1].dtype, distance.dtype, np.dtype(np.uint64)
    entries = _Entries(*(np.empty(len(distance) + 2, kind) for kind in kinds))  # pages that are not used cost nothing
    buckets = np.zeros(_PLACES * _LEVELS, np.uint64)
    state = np.array([0, 1, 0], np.uint64)
    _start(rows, distance, 1 / width, *entries, buckets, state)
    while not _shorten(*arcs, distance, 1 / width, *entries, buckets, state):
        entries = entries.grown(int(np.diff(out.offsets).max()))


def slot_width(weights: Array) -> float:
    """Length below which only a few of the positive weights are, estimated from a sample."""
    sample = weights[:: max(1, len(weights) // _SAMPLE)].astype(np.float64)
    positive = sample[(sample > 0) & np.isfinite(sample)]
    return max(float(np.quantile(positive, _SHORT_ARCS)), float(np.finfo(np.float64).tiny)) if len(positive) else 1.0


# Indices of `state`: the slot that is scanned, the first entry never used, the head of the list of entries to reuse.
_NOW, _UNUSED, _FREE = 0, 1, 2


@njit(cache=True, nogil=True)
def _start(
    sources: Array, distance: Array, slots: float, rows: Array, lengths: Array, after: Array, buckets: Array, state: Array
) -> None:
    """Enter the sources with their distances."""
    for row in sources:
        entry = state[_UNUSED]
        state[_UNUSED] += np.uint64(1)
        rows[entry], lengths[entry] = row, distance[row]
        _put(buckets, after, entry, _bucket(distance[row], slots, np.int64(0)))


@njit(cache=True, nogil=True)
def _shorten(
    offsets: Array, indices: Array, weights: Array, distance: Array, slots: float, rows: Array, lengths: Array, after: Array,
    buckets: Array, state: Array,
) -> bool:  # fmt: skip
    """Empty the buckets, nearest first; return False if entries run out, and the caller has to provide more."""
    bucket = 0
    while bucket < len(buckets):
        if buckets[bucket] == 0:
            bucket += 1
            continue
        entry, buckets[bucket] = buckets[bucket], np.uint64(0)
        level, place = bucket >> _BITS, bucket & (_PLACES - 1)
        now = ((np.int64(state[_NOW]) >> (_BITS * (level + 1)) << _BITS) | place) << (_BITS * level)
        state[_NOW] = now
        if level > 0:
            bucket = 0
        while entry:
            row, length, following = rows[entry], lengths[entry], after[entry]
            valid = length == distance[row]
            if valid and level > 0:
                _put(buckets, after, entry, _bucket(length, slots, now))
            else:
                if valid:
                    if state[_UNUSED] + (offsets[row + 1] - offsets[row]) > len(rows):
                        _put_back(buckets, after, entry, bucket)
                        return False
                    _scan(offsets, indices, weights, distance, slots, rows, lengths, after, buckets, state, now, row, length)
                after[entry], state[_FREE] = state[_FREE], entry
            entry = following
    return True


@njit(cache=True, nogil=True)
def _scan(
    offsets: Array, indices: Array, weights: Array, distance: Array, slots: float, rows: Array, lengths: Array, after: Array,
    buckets: Array, state: Array, now: int, row: int, length: Any,
) -> None:  # fmt: skip
    """Relax the arcs of `row`."""
    for arc in range(offsets[row], offsets[row + 1]):
        far = indices[arc]
        total = length + distance.dtype.type(weights[arc])
        if total < distance[far]:
            distance[far] = total
            if far >= len(offsets) - 1:
                continue
            if state[_FREE]:
                entry = state[_FREE]
                state[_FREE] = after[entry]
            else:
                entry = state[_UNUSED]
                state[_UNUSED] += np.uint64(1)
            rows[entry], lengths[entry] = far, total
            _put(buckets, after, entry, _bucket(total, slots, now))


@njit(cache=True, nogil=True)
def _bucket(length: Any, slots: float, now: int) -> Any:
    """Bucket of `length`: its level is the highest digit in which its slot differs from `now`; that digit selects it there."""
    slot = np.int64(min(np.float64(length) * slots, _LAST_SLOT))
    apart, level = slot ^ now, 0
    while apart >= _PLACES:
        apart >>= _BITS
        slot >>= _BITS
        level += _PLACES
    return level + (slot & (_PLACES - 1))


@njit(cache=True, nogil=True)
def _put(buckets: Array, after: Array, entry: int, bucket: int) -> None:
    after[entry], buckets[bucket] = buckets[bucket], entry


@njit(cache=True, nogil=True)
def _put_back(buckets: Array, after: Array, entry: int, bucket: int) -> None:
    """Put `entry` and all entries that follow it in front of `bucket`."""
    last = entry
    while after[last]:
        last = after[last]
    after[last], buckets[bucket] = buckets[bucket], entry
