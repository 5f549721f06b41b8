"""From a spanning forest to interval labels: subtree sizes upwards, post-order numbers downwards, extremes upwards.

Three sweeps over the nodes level by level, without recursion. Arcs lead from lower to higher levels, so every value that a sweep
reads is final. A subtree's size gives it a block of numbers, and the blocks of siblings are consecutive.
"""

from typing import NamedTuple

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.reachability.keys import key


class DagArcs(NamedTuple):
    """One direction of the DAG: the heads of node u's out-arcs are `indices[offsets[u]:offsets[u + 1]]`."""

    offsets: Array
    indices: Array


class SubtreeNumbers(NamedTuple):
    """The block of post-order numbers of each subtree, index width [C]; `last` is the number of the subtree's root."""

    first: Array
    last: Array


def number(rows: DagArcs, roots: Array, parent: Array, order: Array, salt: np.uint64 | None) -> SubtreeNumbers:
    """Number the nodes of a forest in post-order, from 1.

    Args:
        rows: In the order in which siblings are visited, before `salt` rotates or reverses it.
        roots: index width.
        parent (index width [C]): NO_ROW for a root.
        order (index width [C]): Every node after its parents.
        salt (uint64 or None): Rotates or reverses each row by the keys of a dimension; None keeps the rows.
    """
    last = np.ones_like(parent)  # sizes, until the blocks are known
    first = np.empty_like(parent)
    _add_sizes(parent, order, last)
    turned = salt is not None
    _assign_blocks(*rows, roots, parent, order, np.uint64(salt or 0), turned, first, last)
    return SubtreeNumbers(first, last)


def extremes(rows: DagArcs, order: Array, last: Array) -> tuple[Array, Array]:
    """Smallest and largest post-order number of each node and of all nodes that it reaches along `rows`."""
    low, post = last.copy(), last.copy()
    widen(*rows, order, low, post)
    return low, post


@njit(cache=True, nogil=True)
def _add_sizes(parent: Array, order: Array, size: Array) -> None:
    for position in range(len(order) - 1, -1, -1):
        node = order[position]
        if parent[node] >= 0:
            size[parent[node]] += size[node]


@njit(cache=True, nogil=True)
def _assign_blocks(
    offsets: Array, indices: Array, roots: Array, parent: Array, order: Array, salt: np.uint64, turned: bool, first: Array,
    last: Array,
) -> None:  # fmt: skip
    """Assign every subtree its block; `last` contains the sizes before."""
    num_nodes = len(order)
    _number_children(roots, 0, len(roots), -1, 1, _turn_of(salt, num_nodes, num_nodes, turned), parent, first, last)
    for node in order:
        begin, end = offsets[node], offsets[node + 1]
        if begin < end:
            turn = _turn_of(salt, node, num_nodes, turned)
            _number_children(indices, begin, end, node, first[node], turn, parent, first, last)


@njit(cache=True, nogil=True, inline="always")
def _turn_of(salt: np.uint64, node: int, num_nodes: int, turned: bool) -> np.uint64:
    """The key that rotates or reverses a row; 0, which keeps the row, if rows are not turned."""
    return key(salt, node, num_nodes) if turned else np.uint64(0)


@njit(cache=True, nogil=True, inline="always")
def _number_children(
    indices: Array, begin: int, end: int, node: int, free: int, turn: np.uint64, parent: Array, first: Array, last: Array
) -> None:
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
def widen(offsets: Array, indices: Array, order: Array, low: Array, post: Array) -> None:
    """Extend each node's interval by those of its row; every node of a row comes after its tail in `order`."""
    for position in range(len(order) - 1, -1, -1):
        node = order[position]
        smallest, largest = low[node], post[node]
        for arc in range(offsets[node], offsets[node + 1]):
            smallest = min(smallest, low[indices[arc]])
            largest = max(largest, post[indices[arc]])
        low[node], post[node] = smallest, largest
