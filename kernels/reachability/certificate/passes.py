"""The passes of the certificate: each returns the first node, or support, that breaks its rule, or -1.

Arrays have an entry for each local node, `numbers` the global nodes: of one rank these are the same. Offsets are those of the own
nodes, at least.
"""

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.reachability.keys import key


@njit(cache=True, nogil=True)
def first_wrong_level(offsets: Array, indices: Array, level: Array) -> int:
    """The level of a node is one more than the largest in its row; 0 if the row is empty."""
    for node in range(len(offsets) - 1):
        largest = -1
        for arc in range(offsets[node], offsets[node + 1]):
            largest = max(largest, level[indices[arc]])
        if level[node] != largest + 1:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_wrong_low(offsets: Array, indices: Array, last: Array, low: Array) -> int:
    """The low of a node is the smallest of its own number and the lows in its row."""
    for node in range(len(offsets) - 1):
        smallest = last[node]
        for arc in range(offsets[node], offsets[node + 1]):
            smallest = min(smallest, low[indices[arc]])
        if low[node] != smallest:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_wrong_post(offsets: Array, indices: Array, last: Array, post: Array) -> int:
    """The post of a node is the largest of its own number and the posts in its row."""
    for node in range(len(offsets) - 1):
        largest = last[node]
        for arc in range(offsets[node], offsets[node + 1]):
            largest = max(largest, post[indices[arc]])
        if post[node] != largest:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_wrong_bits(offsets: Array, indices: Array, own: Array, bits: Array) -> int:
    """The word of a node is the union of its own bit and the words in its row."""
    for node in range(len(offsets) - 1):
        word = own[node]
        for arc in range(offsets[node], offsets[node + 1]):
            word |= bits[indices[arc]]
        if bits[node] != word:
            return node
    return -1


@njit(cache=True, nogil=True)
def first_wrong_support(
    level: Array, scores: Array, start: int, num_nodes: int, num_levels: int, supports: Array, support_scores: Array
) -> tuple[int, Array]:
    """First support that should be an own node, or -1, and the supports that are own nodes, bool [64].

    `support_scores` are the scores of the supports; those of entries that are not nodes are ignored.
    """
    present = np.zeros(len(supports), np.bool_)
    bands = min(len(supports), num_levels)
    share = len(supports) // max(bands, 1)
    for own in range(len(level)):
        node = start + own
        place = level[own] * bands // num_levels * share
        end = place + share
        while place < end and 0 <= supports[place] < num_nodes and supports[place] != node:
            better = scores[own] > support_scores[place]
            if better or (scores[own] == support_scores[place] and node < supports[place]):
                return place, present
            place += 1
        if place < end:
            if supports[place] != node:
                return place, present
            present[place] = True
    return -1, present


@njit(cache=True, nogil=True)
def drawn_parents(
    offsets: Array, indices: Array, level: Array, numbers: Array, num_own: int, random: bool, salt: np.uint64
) -> Array:
    """The parent that each own node draws from the level before; -1 for a root."""
    parents = np.full(num_own, -1, numbers.dtype)
    for node in range(num_own):
        drawn = np.uint64(0)
        for arc in range(offsets[node], offsets[node + 1]):
            tail = indices[arc]
            if level[tail] + 1 != level[node]:
                continue
            key_of_tail = key(salt, numbers[tail], numbers[node])
            if parents[node] < 0 or (random and key_of_tail < drawn):
                parents[node] = numbers[tail]
                drawn = key_of_tail
    return parents


@njit(cache=True, nogil=True)
def first_wrong_block(
    offsets: Array, indices: Array, numbers: Array, num_nodes: int, parents: Array, first: Array, last: Array,
    num_own: int, random: bool, salt: np.uint64,
) -> int:  # fmt: skip
    """First own node whose children's blocks and own number are not consecutive, or -1."""
    for node in range(num_own):
        length = offsets[node + 1] - offsets[node]
        drawn = key(salt, numbers[node], num_nodes) if random else np.uint64(0)
        begin = np.int64((drawn >> np.uint64(1)) % np.uint64(max(length, 1)))
        free = np.int64(first[node])
        for visit in range(length):
            step = begin - visit if drawn & np.uint64(1) else begin + visit
            head = indices[offsets[node] + step % length]
            if parents[head] == numbers[node]:
                if first[head] != free or last[head] < free:
                    return node
                free = np.int64(last[head]) + 1
        if last[node] != free:
            return node
    return -1


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
def first_wrong_visit(offsets: Array, visits: Array, first: Array, last: Array) -> int:
    """First node of "dfs" whose blocks are not consecutive; a head whose block begins at the next number is a child."""
    for node in range(len(first)):
        free = np.int64(first[node])
        for arc in range(offsets[node], offsets[node + 1]):
            head = visits[arc]
            if first[head] == free:
                if last[head] < free:
                    return node
                free = np.int64(last[head]) + 1
            elif last[head] >= free:
                return node
        if last[node] != free:
            return node
    return -1
