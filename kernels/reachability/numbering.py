"""From a spanning forest to interval labels: subtree sizes upwards, post-order numbers downwards, extremes upwards.

Three sweeps over the nodes level by level, without recursion; arcs lead from lower to higher levels, so whatever a sweep reads is
final. The sizes give a subtree's block of numbers, and the blocks of siblings follow one another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kernels.graph import Array
from kernels.reachability.keys import key


class Rows(NamedTuple):
    """One direction of the DAG: the heads of node u's out-arcs are `indices[offsets[u]:offsets[u + 1]]`."""

    offsets: Array
    indices: Array


class Numbers(NamedTuple):
    """Of a forest, index width [C]: the block of post-order numbers of each subtree, whose last is its root's own."""

    first: Array
    last: Array


def number(rows: Rows, roots: Array, parent: Array, order: Array, salt: np.uint64 | None) -> Numbers:
    """Number the nodes of a forest in post-order, from 1.

    Parameters
    ----------
    rows : Rows
        In the order in which siblings are visited, up to the turn that `salt` makes.
    roots : index width
    parent : index width [C]
        NO_ROW for a root.
    order : index width [C]
        Every node after its parents.
    salt : uint64 or None
        Turns each row by the keys of a dimension; None leaves it as it is.
    """
    last = np.ones_like(parent)  # sizes, until the blocks are known
    first = np.empty_like(parent)
    _sizes(parent, order, last)
    turned = salt is not None
    _blocks(*rows, roots, parent, order, np.uint64(salt or 0), turned, first, last)
    return Numbers(first, last)


def extremes(rows: Rows, order: Array, last: Array) -> tuple[Array, Array]:
    """Smallest and largest post-order number of each node and of all it reaches along `rows`."""
    low, post = last.copy(), last.copy()
    widen(*rows, order, low, post)
    return low, post


@njit(cache=True, nogil=True)
def _sizes(parent, order, size):  # type: ignore[no-untyped-def]
    for place in range(len(order) - 1, -1, -1):
        node = order[place]
        if parent[node] >= 0:
            size[parent[node]] += size[node]


@njit(cache=True, nogil=True)
def _blocks(offsets, indices, roots, parent, order, salt, turned, first, last):  # type: ignore[no-untyped-def]
    """Hand every subtree its block; `last` comes in as sizes."""
    num_nodes = len(order)
    _deal(roots, 0, len(roots), -1, 1, _turn(salt, num_nodes, num_nodes, turned), parent, first, last)
    for node in order:
        begin, end = offsets[node], offsets[node + 1]
        if begin < end:
            _deal(indices, begin, end, node, first[node], _turn(salt, node, num_nodes, turned), parent, first, last)


@njit(cache=True, nogil=True, inline="always")
def _turn(salt, node, num_nodes, turned):  # type: ignore[no-untyped-def]
    """Key of a row's turn; 0, which turns nothing, where rows stay as they are."""
    return key(salt, node, num_nodes) if turned else np.uint64(0)


@njit(cache=True, nogil=True, inline="always")
def _deal(indices, begin, end, node, free, turn, parent, first, last):  # type: ignore[no-untyped-def]
    """Give the children of `node` among `indices[begin:end]` the numbers from `free` on, in the turned order of the row."""
    length = np.int64(end - begin)
    place = np.int64((turn >> np.uint64(1)) % np.uint64(length)) if length else 0
    step = -1 if turn & np.uint64(1) else 1
    for _ in range(length):
        child = indices[begin + place]
        if parent[child] == node:
            first[child] = free
            free += last[child]
            last[child] = free - 1
        place += step
        if place == length:
            place = 0
        elif place < 0:
            place = length - 1


@njit(cache=True, nogil=True)
def widen(offsets, indices, order, low, post):  # type: ignore[no-untyped-def]
    """Give each node the extremes of its row; every row's nodes stand after it in `order`."""
    for place in range(len(order) - 1, -1, -1):
        node = order[place]
        smallest, largest = low[node], post[node]
        for arc in range(offsets[node], offsets[node + 1]):
            smallest = min(smallest, low[indices[arc]])
            largest = max(largest, post[indices[arc]])
        low[node], post[node] = smallest, largest
