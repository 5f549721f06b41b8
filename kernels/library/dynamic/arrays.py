"""Sums, owners and sorted keys of arrays of NumPy or CuPy; both give the same bytes."""

from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import OFFSET, Array

HALF = np.int64(32)  # bits of a head in the key of an arc


def offsets_of(counts: Array) -> Array:
    """Where each of the concatenated lists of `counts` entries begins, and the end of the last: int64 [n + 1]."""
    offsets = np.zeros(len(counts) + 1, OFFSET, like=counts)
    offsets[1:] = np.cumsum(counts, dtype=OFFSET)
    return offsets


def owners_of(offsets: Array) -> Array:
    """The list that each entry of concatenated lists belongs to: int64 [offsets[-1]]."""
    entries = np.arange(int(offsets[-1]), dtype=OFFSET, like=offsets)
    return np.searchsorted(offsets, entries, side="right") - 1


def keys_of(src: Array, dst: Array) -> Array:
    """Keys of arcs, which ascend by (src, dst): int64."""
    return (src.astype(np.int64) << HALF) | dst.astype(np.int64)


def sorted_keys(keys: Array) -> tuple[Array, Array]:
    """Keys, none negative, in ascending order, and the stable permutation (an unsigned or signed integer type)."""
    if not is_cupy_array(keys):
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    from kernels.gpu.radix_sort import sort

    bits = int(keys.max()).bit_length() if len(keys) else 0
    order = np.arange(len(keys), dtype=np.uint32, like=keys)
    ascending, places = sort(keys.view(np.uint64).copy(), order, 0, bits)
    return ascending.view(np.int64), order if places is None else places


def run_starts(keys: Array) -> Array:
    """Whether each of sorted keys differs from the previous one: bool [n]."""
    starts = np.empty(len(keys), np.bool_, like=keys)
    starts[:1] = True
    starts[1:] = keys[1:] != keys[:-1]
    return starts


def kept_places(mask: Array) -> Any:
    """An index of the entries where a mask is true: a slice, which copies nothing, if it is true everywhere."""
    places = np.flatnonzero(mask)  # once, and not for every array that is indexed: a GPU waits for the number
    return slice(None) if len(places) == len(mask) else places


def ordinals(starts: Array) -> Array:
    """The number of each entry within its run, from 0: int64; `starts` as `run_starts` returns."""
    places = np.flatnonzero(starts)
    return np.arange(len(starts), dtype=np.int64, like=starts) - places[np.cumsum(starts, dtype=np.int64) - 1]


def ones(number: int, dtype: Any, like: Array) -> Array:
    """`number` ones in the memory of `like`; `np.ones` makes none in CuPy's."""
    made = np.empty(number, dtype, like=like)
    made.fill(1)
    return made


def last_places(keys: Array, wanted: Array) -> Array:
    """The place of each of sorted `wanted` keys among sorted `keys`, or -1: int64.

    The k-th of equal wanted keys takes the k-th last of the keys that are equal to it.
    """
    first, behind = (np.searchsorted(keys, wanted, side=side) for side in ("left", "right"))
    places = behind - 1 - ordinals(run_starts(wanted))
    return np.where(places >= first, places, np.int64(-1))


def filled_holes(starts: Array, places: Array, degrees: Array) -> tuple[Array, Array, Array]:
    """How the last entries of lists take the places of deleted ones.

    Args:
        starts (int64 [R + 1]): First deleted entry of each of R lists.
        places (int64 [K]): Deleted places of each list, in any order: the first hole gets the first entry.
        degrees (int64 [R]): Entries of each list before.

    Returns:
        owner, target, source: int64 [M]: the list of each entry that moves, its new place and its old one.
    """
    owner, kept = owners_of(starts), degrees - np.diff(starts)
    behind = places >= kept[owner]  # among the last entries of a list, which it loses
    stays = ones(len(owner), np.bool_, owner)
    stays[starts[owner[behind]] + places[behind] - kept[owner[behind]]] = False
    moved = np.flatnonzero(stays)
    return owner[~behind], places[~behind], kept[owner[moved]] + moved - starts[owner[moved]]
