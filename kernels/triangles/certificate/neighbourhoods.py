"""SideLists of distinct neighbours in an order of the rows; the arrays are NumPy's or CuPy's."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.distributed.lists import gathered
from kernels.graph import OFFSET, Array, Csr
from kernels.triangles.certificate.order import Order, SideLists, numbers_of_arcs

_ARCS = 1 << 27  # that a GPU sorts at a time


def divided(sides: Sequence[Csr], order: Order, first_hub: int, directed: bool) -> tuple[SideLists, SideLists]:
    """The lists of earlier and of later neighbours.

    Args:
        sides: The out-arcs of the rows, and the in-arcs, unless these are the same.
        first_hub: The place of the first hub.
        directed: Whether it matters if arcs lead both ways.
    """
    weighted = directed and len(sides) > 1
    if is_cupy_array(order.rows):
        return _by_sorting(sides, order, weighted)
    from kernels.triangles.certificate.listing import list_neighbours

    return list_neighbours(sides, order, first_hub, weighted)


def _by_sorting(sides: Sequence[Csr], order: Order, weighted: bool) -> tuple[SideLists, SideLists]:
    """On a GPU: pairs of a row and a neighbour are sorted, in blocks of rows."""
    ends = np.cumsum(numbers_of_arcs(sides)[order.rows])
    marks = np.arange(_ARCS, int(ends[-1]) if len(ends) else 0, _ARCS, dtype=OFFSET, like=ends)
    cuts = [0, *np.searchsorted(ends, marks).tolist(), len(order.rows)]
    parts = [_of_block(sides, order, weighted, slice(*pair)) for pair in pairwise(cuts)]
    earlier, later = ([np.concatenate(columns) for columns in zip(*lists, strict=True)] for lists in zip(*parts, strict=True))
    return _consecutive(*earlier), _consecutive(*later)


def _of_block(sides: Sequence[Csr], order: Order, weighted: bool, block: slice) -> tuple[list[Array], list[Array]]:
    """Of the earlier and of the later neighbours of a block of places: their numbers, places and arcs."""
    width, keys = np.int64(max(len(order.rows), 1)), []
    for number, side in enumerate(sides):
        entries, tails = gathered(side.offsets[:-1], side.offsets[1:], order.rows[block])
        heads = order.places[side.indices[entries]]
        apart = heads != tails + block.start
        keys.append(2 * (tails[apart] * width + heads[apart]) + number)
    arcs = np.concatenate(keys)
    arcs.sort()
    pairs = arcs >> 1
    begins = np.ones_like(pairs, np.bool_, shape=(len(pairs) + 1,))
    begins[1:-1] = pairs[1:] != pairs[:-1]
    bounds = np.flatnonzero(begins)
    first, last = bounds[:-1], bounds[1:] - 1
    tails, heads = pairs[first] // width, (pairs[first] % width).astype(order.places.dtype)
    ways = (1 + ((arcs[last] & 1) > (arcs[first] & 1))).astype(np.uint8)
    is_later = heads > tails + block.start

    def chosen(some: Array) -> list[Array]:
        return [np.bincount(tails[some], minlength=block.stop - block.start), heads[some], ways[some][: None if weighted else 0]]

    return chosen(~is_later), chosen(is_later)


def _consecutive(counts: Array, places: Array, arcs: Array) -> SideLists:
    ends = np.cumsum(counts, dtype=OFFSET)
    return SideLists(ends - counts, ends, places, arcs)
