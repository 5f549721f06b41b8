"""The passes of the certificate over shards that compare global nodes; the other passes are those of a single rank.

Arrays have an entry for each local node; `numbers` has the global nodes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.graph import Array
from kernels.reachability.keys import key


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
