"""The passes of the certificate: each returns the first node, or support, that breaks its rule, or -1."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.graph import Array
from kernels.reachability.keys import key


@njit(cache=True, nogil=True)
def first_wrong_level(offsets: Array, indices: Array, level: Array) -> int:
    """The level of a node is one more than the largest in its row; 0 if the row is empty."""
    for node in range(len(level)):
        largest = -1
        for arc in range(offsets[node], offsets[node + 1]):
            largest = max(largest, level[indices[arc]])
        if level[node] != largest + 1:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_wrong_low(offsets: Array, indices: Array, last: Array, low: Array) -> int:
    """The low of a node is the smallest of its own number and the lows in its row."""
    for node in range(len(low)):
        smallest = last[node]
        for arc in range(offsets[node], offsets[node + 1]):
            smallest = min(smallest, low[indices[arc]])
        if low[node] != smallest:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_wrong_post(offsets: Array, indices: Array, last: Array, post: Array) -> int:
    """The post of a node is the largest of its own number and the posts in its row."""
    for node in range(len(post)):
        largest = last[node]
        for arc in range(offsets[node], offsets[node + 1]):
            largest = max(largest, post[indices[arc]])
        if post[node] != largest:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_wrong_bits(offsets: Array, indices: Array, own: Array, bits: Array) -> int:
    """The word of a node is the union of its own bit and the words in its row."""
    for node in range(len(bits)):
        word = own[node]
        for arc in range(offsets[node], offsets[node + 1]):
            word |= bits[indices[arc]]
        if bits[node] != word:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_wrong_support(into_offsets: Array, out_offsets: Array, level: Array, supports: Array) -> int:
    """Every node is in the sorted share of its band or not better than the last support there; supports are such nodes."""
    num_nodes = len(level)
    num_levels = (level.max() if num_nodes else -1) + np.int64(1)
    bands = min(len(supports), num_levels)
    share = len(supports) // max(bands, 1)
    present = np.zeros(len(supports), np.bool_)
    for node in range(num_nodes):
        begin = level[node] * bands // num_levels * share
        place: int = begin
        while place < begin + share and supports[place] >= 0 and supports[place] < num_nodes and supports[place] != node:
            if _better(into_offsets, out_offsets, node, supports[place]):
                return place
            place += 1
        if place < begin + share:
            if supports[place] != node:
                return place
            present[place] = True
    for place in range(len(supports)):
        if present[place] != (supports[place] != -1):
            return place
    return -1


@njit(cache=True, nogil=True)
def _better(into_offsets: Array, out_offsets: Array, a: int, b: int) -> bool:
    """Whether node a comes before node b among the supports of a band."""
    score_a = (into_offsets[a + 1] - into_offsets[a] + 1) * (out_offsets[a + 1] - out_offsets[a] + 1)
    score_b = (into_offsets[b + 1] - into_offsets[b] + 1) * (out_offsets[b + 1] - out_offsets[b] + 1)
    return bool(score_a > score_b or (score_a == score_b and a < b))


@njit(cache=True, nogil=True)
def drawn_parents(offsets: Array, indices: Array, level: Array, random: bool, salt: np.uint64) -> Array:
    """The parent that each node draws from the level before; -1 for a root."""
    parents = np.full(len(level), -1, indices.dtype)
    for node in range(len(level)):
        for arc in range(offsets[node], offsets[node + 1]):
            tail, best = indices[arc], parents[node]
            if level[tail] + 1 == level[node] and (best < 0 or (random and key(salt, tail, node) < key(salt, best, node))):
                parents[node] = tail
    return parents


@njit(cache=True, nogil=True)
def turned(offsets: Array, indices: Array, roots: Array, random: bool, salt: np.uint64) -> tuple[Array, Array]:
    """Rows and roots in the order of visits of "tree": each rotated and perhaps reversed by the tail's key."""
    num_nodes = len(offsets) - 1
    visits, starts = indices.copy(), roots.copy()
    if random:
        for node in range(num_nodes):
            row = slice(offsets[node], offsets[node + 1])
            _turn(indices[row], key(salt, node, num_nodes), visits[row])
        _turn(roots, key(salt, num_nodes, num_nodes), starts)
    return visits, starts


@njit(cache=True, nogil=True)
def _turn(row: Array, drawn: np.uint64, visits: Array) -> None:
    length = len(row)
    for place in range(length):
        begin = np.int64((drawn >> np.uint64(1)) % np.uint64(length))
        visits[place] = row[(begin - place) % length] if drawn & np.uint64(1) else row[(begin + place) % length]


@njit(cache=True, nogil=True)
def sorted_by_key(offsets: Array, indices: Array, roots: Array, random: bool, salt: np.uint64) -> tuple[Array, Array]:
    """Rows and roots in the order of visits of "dfs"."""
    num_nodes = len(offsets) - 1
    visits, starts = indices.copy(), roots.copy()
    if random:
        for node in range(num_nodes):
            _sort(salt, node, visits[offsets[node] : offsets[node + 1]])
        _sort(salt, num_nodes, starts)
    return visits, starts


@njit(cache=True, nogil=True)
def _sort(salt: np.uint64, tail: int, row: Array) -> None:
    """Sort an ascending row by keys, stably."""
    keys = np.empty(len(row), np.uint64)
    for place in range(len(row)):
        keys[place] = key(salt, tail, row[place])
    row[:] = row[np.argsort(keys, kind="mergesort")]


@njit(cache=True, nogil=True)
def first_wrong_block(offsets: Array, visits: Array, roots: Array, parents: Array | None, first: Array, last: Array) -> int:
    """The blocks of a node's children are consecutive, and its own number comes next. Returns C if this fails for the roots.

    `parents` gives the children of "tree". For "dfs" it is None: a child is a head whose block begins at the next number.
    """
    num_nodes = len(first)
    free = np.int64(1)
    for root in roots:
        if first[root] != free or last[root] < free:
            return num_nodes
        free = np.int64(last[root]) + 1
    if free != num_nodes + 1:
        return num_nodes
    for node in range(num_nodes):
        free = np.int64(first[node])
        for arc in range(offsets[node], offsets[node + 1]):
            head = visits[arc]
            if first[head] == free if parents is None else parents[head] == node:
                if first[head] != free or last[head] < free:
                    return node
                free = np.int64(last[head]) + 1
            elif parents is None and last[head] >= free:
                return node
        if last[node] != free:
            return node
    return -1
