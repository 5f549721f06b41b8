"""Parallel edges become one by a rule: sorted by their ends here, and proved by hashing (`certificate.py`), without sorting.

Rows of the same ends are parallel; in an undirected graph also those of the reversed ends. Of each group one edge remains, whose
weight is that of its heaviest, first or last row, the sum of its rows, or their number. Sums of floats are those of a loop over
the rows in their order, and have 64 bits.
"""

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import OFFSET, Array
from kernels.layout.rules import Edges
from kernels.records import dataclass

HEAVIEST, SUM, COUNT, FIRST, LAST = range(5)
CODES = {"heaviest": HEAVIEST, "sum": SUM, "count": COUNT, "first": FIRST, "last": LAST}  # by the rule's name
_LARGEST = np.iinfo(np.int64).max
_NOTHING = -1


class SumTooLarge(Exception):
    """The weights of parallel rows add up to more than 64 bits hold."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row  # the place of the row that is too much, among those that were merged


@dataclass(frozen=True)
class Rows:
    """Rows of an edge list in their order, or those of some groups."""

    src: Array  # int64 [N]
    dst: Array  # int64 [N]
    weights: Array | None  # int64 or float64 [N]; not negative, finite
    order: Array | None = None  # int64 [N]: by which the first and the last row of a group are found; equal ones by their place


def low_and_high(src: Array, dst: Array, both: bool) -> tuple[Array, Array]:
    """The ends by which rows are parallel: as they are, or, with `both`, the smaller one first; int64 [N] each."""
    return (np.minimum(src, dst), np.maximum(src, dst)) if both else (src, dst)


def merged(rows: Rows, rule: str, both: bool) -> Edges:
    """One edge for each group of parallel rows, ascending by their ends.

    Args:
        rule: One of `CODES`; `heaviest`, `first` and `last` need weights, and `sum` without weights is `count`.
        both: Whether rows of reversed ends are parallel. The edge then has the smaller end first.

    Returns:
        src, dst int64 [E]; weights [E]: int64 of `count`, otherwise of the type of the rows' weights.

    Raises:
        SumTooLarge: A sum of integers exceeds int64, or one of floats is not finite.
    """
    low, high = low_and_high(rows.src, rows.dst, both)
    keys = (high, low) if rows.order is None else (rows.order, high, low)
    order = np.lexsort(keys)  # stable: equal rows keep their order
    low, high = low[order], high[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    begins = np.flatnonzero(new).astype(OFFSET)
    ends = np.append(begins[1:], len(order)).astype(OFFSET)
    code = COUNT if rows.weights is None else CODES[rule]
    if code == COUNT:
        weights = ends - begins
    elif code in (FIRST, LAST):
        assert rows.weights is not None
        weights = rows.weights[order[begins if code == FIRST else ends - 1]]
    else:
        assert rows.weights is not None
        weights = np.empty(len(begins), rows.weights.dtype)
        most = _LARGEST if rows.weights.dtype.kind == "i" else np.finfo(np.float64).max
        broken = _reduce(rows.weights[order], begins, ends, code, most, weights)
        if broken != _NOTHING:
            raise SumTooLarge(int(order[broken]))
    return Edges(low[begins], high[begins], weights)


@njit(cache=True, nogil=True)
def _reduce(weights: Array, begins: Array, ends: Array, code: int, most: float, reduced: Array) -> int:
    """The sum or the largest weight of each group; returns the place of a weight with which a sum is over `most`, or -1."""
    for group in range(len(begins)):
        value = weights[begins[group]]
        for place in range(begins[group] + 1, ends[group]):
            if code == HEAVIEST:
                value = max(value, weights[place])
            elif weights[place] > most - value:
                return place
            else:
                value += weights[place]
        reduced[group] = value
    return _NOTHING
