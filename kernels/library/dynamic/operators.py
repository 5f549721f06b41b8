"""The operators of the document on graphs that change: compute, advance, filter and segmented intersection.

A frontier is an array of rows (int32). `graph.advance(rows)` is the advance: the lists of the rows, one after the other.

Martinho: Marrow-Graph (2021), chapter 4, after Gunrock.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kernels.graph import Array
from kernels.library.dynamic.arrays import keys_of, owners_of, sorted_keys
from kernels.library.dynamic.contract import DynamicGraph
from kernels.library.dynamic.scan import exclusive_scan

ABSENT = -1  # in an intersection: the neighbour is not in the other list


class Intersection(NamedTuple):
    """The neighbours of each left row, marked by whether the right row of the same place has them."""

    segments: Array  # int64 [T]: place of the pair that each entry belongs to
    heads: Array  # int32 [T]: the neighbour, or ABSENT

    def compacted(self) -> tuple[Array, Array]:
        """Segments and heads of the common neighbours."""
        return filtered(self.segments, self.heads != ABSENT), filtered(self.heads, self.heads != ABSENT)


def compute(frontier: Array, function: Callable[[Array], Array]) -> Array:
    """The function's value for every entry; raises ValueError if it returns another number of values."""
    values = function(frontier)
    if values.shape != frontier.shape:
        raise ValueError(f"compute: {len(values)} values for {len(frontier)} entries")
    return values


def filtered(values: Array, kept: Array) -> Array:
    """The values where `kept` (bool) is true, in order: a scan of 0 and 1 gives their places.

    Raises:
        ValueError: There is not one bool for each value.
    """
    if kept.dtype != np.bool_ or kept.shape != values.shape:
        raise ValueError(f"filtered: {kept.dtype} {kept.shape} for values {values.shape}; one bool for each is needed")
    flags = kept.astype(np.int64)
    places = exclusive_scan(flags)
    taken = np.empty(int(places[-1] + flags[-1]) if len(values) else 0, values.dtype, like=values)
    chosen = np.flatnonzero(kept)
    taken[places[chosen]] = values[chosen]
    return taken


def intersect(graph: DynamicGraph, left: Array, right: Array) -> Intersection:
    """Compare the lists of `left[i]` and `right[i]` for all i.

    The right lists are sorted within their segments and searched, not scanned as in the document.

    Raises:
        ValueError: The frontiers differ in length.
    """
    if len(left) != len(right):
        raise ValueError(f"intersect: {len(left)} rows and {len(right)} rows")
    ours, theirs = graph.advance(left), graph.advance(right)
    segments = owners_of(ours.offsets)
    keys, _ = sorted_keys(keys_of(owners_of(theirs.offsets), theirs.heads))
    wanted = keys_of(segments, ours.heads)
    places = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    is_common = keys[places] == wanted if len(keys) else np.zeros(len(wanted), np.bool_, like=wanted)
    return Intersection(segments, np.where(is_common, ours.heads, np.int32(ABSENT)).astype(np.int32))
