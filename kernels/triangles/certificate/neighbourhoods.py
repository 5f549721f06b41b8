"""Lists of distinct neighbours, made by sorting in blocks of rows; the arrays are NumPy's or CuPy's."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import over_items
from kernels.distributed.lists import gathered, owners
from kernels.graph import OFFSET, Array, Csr

_ITEMS = {False: 1 << 22, True: 1 << 27}  # rows and arcs that are sorted at a time, on a CPU and on a GPU


class Neighbourhoods(NamedTuple):
    """Neighbours of n rows, E in all: of each row all, or the earlier or the later ones."""

    offsets: Array  # int64 [n + 1]
    rows: Array  # index width [E]: ascending by external id, or by their places in another order
    arcs: Array  # uint8 [E]: 2 if arcs lead both ways and this matters, otherwise 1


class KnownLists(NamedTuple):
    """Lists of the later neighbours of n rows; those that are not known are empty."""

    begins: Array  # int64 [n]: those of row r are `rows[begins[r]:ends[r]]`
    ends: Array  # int64 [n]
    rows: Array  # index width [E]
    arcs: Array  # uint8 [E]: as of `Neighbourhoods`


class Numbering(NamedTuple):
    """n rows in the order of their external ids."""

    by_id: Array  # index width [n]: rows
    places: Array  # index width [n]: the place of each row among them


def neighbourhoods(sides: Sequence[Csr], numbering: Numbering, directed: bool) -> Neighbourhoods:
    """All neighbours.

    Args:
        sides: The out-arcs of the rows, and the in-arcs, unless these are the same.
        directed: Whether it matters if arcs lead both ways.
    """

    def of_block(block: slice) -> list[Array]:
        width, keys = np.int64(len(numbering.places)), []
        for number, side in enumerate(sides):
            offsets = side.offsets[block.start : block.stop + 1]
            heads, tails = side.indices[int(offsets[0]) : int(offsets[-1])], owners(offsets)
            apart = heads != tails + block.start
            keys.append(2 * (tails[apart] * width + numbering.places[heads[apart]]) + number)
        ordered = np.concatenate(keys)
        ordered.sort()
        pairs = ordered >> 1
        begins = np.ones_like(pairs, np.bool_, shape=(len(pairs) + 1,))
        begins[1:-1] = pairs[1:] != pairs[:-1]
        bounds = np.flatnonzero(begins)
        first, last = bounds[:-1], bounds[1:] - 1
        both_ways = (ordered[first] & 1 == 0) & (ordered[last] & 1 == 1) if len(sides) > 1 else first >= 0
        arcs = 1 + both_ways.astype(np.uint8) if directed else np.ones_like(first, np.uint8)
        counts = np.bincount(pairs[first] // width, minlength=block.stop - block.start)
        return [counts, numbering.by_id[pairs[first] % width], arcs]

    ends = sides[0].offsets if len(sides) == 1 else sides[0].offsets + sides[1].offsets
    return _joined(ends, of_block)


def order_of(neighbours: Array, numbering: Numbering) -> Numbering:
    """The rows in the order of their numbers of neighbours, int64 [n], those of equally many by external id."""
    by_neighbours = numbering.by_id[np.argsort(neighbours[numbering.by_id], kind="stable")]
    return Numbering(by_neighbours, inverse_of(by_neighbours))


def inverse_of(order: Array) -> Array:
    """The place of each row in an order of all rows."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=order.dtype, like=order)
    return places


def divide(around: Neighbourhoods, order: Numbering) -> tuple[Neighbourhoods, Neighbourhoods]:
    """The earlier and the later neighbours, all rows by their places in an order; those of a row ascend."""

    def of_block(is_later: bool, block: slice) -> list[Array]:
        entries, tails = gathered(around.offsets[:-1], around.offsets[1:], order.by_id[block])
        heads = order.places[around.rows[entries]]
        chosen = (heads > tails + block.start) == is_later
        tails, width = tails[chosen], np.int64(len(order.places))
        ordered = 2 * (tails * width + heads[chosen]) + (around.arcs[entries][chosen] - 1)
        ordered.sort()
        counts = np.bincount(tails, minlength=block.stop - block.start)
        return [counts, ((ordered >> 1) % width).astype(heads.dtype), (1 + (ordered & 1)).astype(np.uint8)]

    lengths = np.diff(around.offsets)[order.by_id]
    ends = np.concatenate([np.zeros_like(lengths, shape=(1,)), np.cumsum(lengths)])
    earlier, later = (_joined(ends, partial(of_block, is_later)) for is_later in (False, True))
    return earlier, later


def _joined(ends: Array, of_block: Callable[[slice], list[Array]]) -> Neighbourhoods:
    """The lists of blocks of rows, of which `ends` are offsets: counts, rows and arcs."""
    num_rows, on_gpu = len(ends) - 1, is_cupy_array(ends)
    items = ends + np.arange(num_rows + 1, dtype=OFFSET, like=ends)
    marks = np.arange(0, int(items[-1]) + 1, _ITEMS[on_gpu], dtype=OFFSET, like=ends)
    cuts = [*np.unique(np.searchsorted(items, marks)).tolist(), num_rows]
    blocks = [slice(*pair) for pair in pairwise(cuts)]
    parts = over_items(blocks, of_block, parallel=len(blocks) > 1 and not on_gpu)
    counts, rows, arcs = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Neighbourhoods(np.concatenate([np.zeros_like(counts[:1], shape=(1,)), np.cumsum(counts, dtype=OFFSET)]), rows, arcs)
