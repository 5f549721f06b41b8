"""The passes of the certificate: each returns the first node, or place, that breaks its rule, or -1."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.reachability.keys import key


@njit(cache=True, nogil=True)
def first_off_level(offsets, indices, level):  # type: ignore[no-untyped-def]
    """The level of a node is one more than the largest in its row; 0 where the row is empty."""
    for node in range(len(level)):
        largest = -1
        for arc in range(offsets[node], offsets[node + 1]):
            largest = max(largest, level[indices[arc]])
        if level[node] != largest + 1:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_off_low(offsets, indices, last, low):  # type: ignore[no-untyped-def]
    """The low of a node is the smallest of its own number and the lows in its row."""
    for node in range(len(low)):
        smallest = last[node]
        for arc in range(offsets[node], offsets[node + 1]):
            smallest = min(smallest, low[indices[arc]])
        if low[node] != smallest:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_off_post(offsets, indices, last, post):  # type: ignore[no-untyped-def]
    """The post of a node is the largest of its own number and the posts in its row."""
    for node in range(len(post)):
        largest = last[node]
        for arc in range(offsets[node], offsets[node + 1]):
            largest = max(largest, post[indices[arc]])
        if post[node] != largest:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_off_bits(offsets, indices, own, bits):  # type: ignore[no-untyped-def]
    """The word of a node is its own bit and the words in its row."""
    for node in range(len(bits)):
        word = own[node]
        for arc in range(offsets[node], offsets[node + 1]):
            word |= bits[indices[arc]]
        if bits[node] != word:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_wrong_support(into_offsets, out_offsets, level, supports):  # type: ignore[no-untyped-def]
    """Every node stands in the sorted share of its band, or is not better than the last there; and no place has a stranger."""
    num_nodes = len(level)
    num_levels = (level.max() if num_nodes else -1) + np.int64(1)
    bands = min(len(supports), num_levels)
    share = len(supports) // max(bands, 1)
    standing = np.zeros(len(supports), np.bool_)
    for node in range(num_nodes):
        begin = level[node] * bands // num_levels * share
        place = begin
        while place < begin + share and supports[place] >= 0 and supports[place] < num_nodes and supports[place] != node:
            if _better(into_offsets, out_offsets, node, supports[place]):
                return place
            place += 1
        if place < begin + share:
            if supports[place] != node:
                return place
            standing[place] = True
    for place in range(len(supports)):
        if standing[place] != (supports[place] != -1):
            return place
    return -1


@njit(cache=True, nogil=True)
def _better(into_offsets, out_offsets, a, b):  # type: ignore[no-untyped-def]
    """Whether node a comes before node b among the supports of a band."""
    score_a = (into_offsets[a + 1] - into_offsets[a] + 1) * (out_offsets[a + 1] - out_offsets[a] + 1)
    score_b = (into_offsets[b + 1] - into_offsets[b] + 1) * (out_offsets[b + 1] - out_offsets[b] + 1)
    return score_a > score_b or (score_a == score_b and a < b)


@njit(cache=True, nogil=True)
def drawn_parents(offsets, indices, level, random, salt):  # type: ignore[no-untyped-def]
    """The parent that each node draws from the level before; -1 for a root."""
    parents = np.full(len(level), -1, indices.dtype)
    for node in range(len(level)):
        for arc in range(offsets[node], offsets[node + 1]):
            tail, best = indices[arc], parents[node]
            if level[tail] + 1 == level[node] and (best < 0 or (random and key(salt, tail, node) < key(salt, best, node))):
                parents[node] = tail
    return parents


@njit(cache=True, nogil=True)
def turned(offsets, indices, roots, random, salt):  # type: ignore[no-untyped-def]
    """Rows and roots in the order of the visits of "tree": each rotated, and the rest of it reversed, by the tail's key."""
    num_nodes = len(offsets) - 1
    visits, starts = indices.copy(), roots.copy()
    if random:
        for node in range(num_nodes):
            _turn(
                indices[offsets[node] : offsets[node + 1]], key(salt, node, num_nodes), visits[offsets[node] : offsets[node + 1]]
            )
        _turn(roots, key(salt, num_nodes, num_nodes), starts)
    return visits, starts


@njit(cache=True, nogil=True)
def _turn(row, drawn, visits):  # type: ignore[no-untyped-def]
    length = len(row)
    for place in range(length):
        begin = np.int64((drawn >> np.uint64(1)) % np.uint64(length))
        visits[place] = row[(begin - place) % length] if drawn & np.uint64(1) else row[(begin + place) % length]


@njit(cache=True, nogil=True)
def sorted_by_key(offsets, indices, roots, random, salt):  # type: ignore[no-untyped-def]
    """Rows and roots in the order of the visits of "dfs"."""
    num_nodes = len(offsets) - 1
    visits, starts = indices.copy(), roots.copy()
    if random:
        for node in range(num_nodes):
            _sort(salt, node, visits[offsets[node] : offsets[node + 1]])
        _sort(salt, num_nodes, starts)
    return visits, starts


@njit(cache=True, nogil=True)
def _sort(salt, tail, row):  # type: ignore[no-untyped-def]
    """Sort an ascending row by keys; equal keys stay in their order."""
    keys = np.empty(len(row), np.uint64)
    for place in range(len(row)):
        keys[place] = key(salt, tail, row[place])
    row[:] = row[np.argsort(keys, kind="mergesort")]


@njit(cache=True, nogil=True)
def first_wrong_block(offsets, visits, roots, parents, first, last):  # type: ignore[no-untyped-def]
    """The blocks of a row's children follow one another, and then the node's own number; C where those of the roots do not.

    `parents` tells the children of "tree"; without it (None, "dfs") they are those whose block begins where it is due.
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
