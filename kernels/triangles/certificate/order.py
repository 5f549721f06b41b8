"""An order of the rows, and lists of distinct neighbours in it; the arrays are NumPy's or CuPy's."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernels.graph import OFFSET, Array, Csr


class Order(NamedTuple):
    """n rows in an order."""

    rows: Array  # index width [n]
    places: Array  # index width [n]: the place of each row among them


class SideLists(NamedTuple):
    """Neighbours of the rows at n places, as places: of each row the earlier or the later ones, or none if they are not known."""

    begins: Array  # int64 [n]: those of place p are `places[begins[p]:ends[p]]`
    ends: Array  # int64 [n]
    places: Array  # index width; of later ones, those that are no hubs ascend within a list, and hubs follow
    arcs: Array  # uint8: 2 if arcs lead both ways, otherwise 1; empty if all count alike


def ordered(arcs: Array, by_id: Array) -> Order:
    """The rows by their numbers of arcs, int64 [n], those of equally many by external id.

    Args:
        arcs: Of each row.
        by_id (index width [n]): The rows by external id.
    """
    width = np.int64(max(len(by_id), 1))
    keys = arcs[by_id] * width + np.arange(len(by_id), dtype=OFFSET, like=arcs)
    keys.sort()
    rows: Array = by_id[keys % width]
    places = np.empty_like(rows)
    places[rows] = np.arange(len(rows), dtype=rows.dtype, like=rows)
    return Order(rows, places)


def numbers_of_arcs(sides: Sequence[Csr]) -> Array:
    """The arcs of each row on all sides: int64 [n]."""
    numbers: Array = sum((np.diff(side.offsets) for side in sides[1:]), np.diff(sides[0].offsets))
    return numbers
