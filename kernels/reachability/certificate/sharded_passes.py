"""The passes of the certificate of a reachability index that speak of nodes by their numbers among all ranks' nodes.

Arrays are by local numbers; `numbers` are the nodes' own. The others are those of the one-worker certificate.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.reachability.keys import key


@njit(cache=True, nogil=True)
def first_wrong_support(level, scores, start, num_nodes, num_levels, supports, of_supports):  # type: ignore[no-untyped-def]
    """The first place with a support that an own node is better than, or should be, -1 for none; and where own nodes stand.

    `of_supports` are the scores of the supports, and of no meaning where they are no nodes.
    """
    standing = np.zeros(len(supports), np.bool_)
    bands = min(len(supports), num_levels)
    share = len(supports) // max(bands, 1)
    for own in range(len(level)):
        node = start + own
        place = level[own] * bands // num_levels * share
        end = place + share
        while place < end and 0 <= supports[place] < num_nodes and supports[place] != node:
            better = scores[own] > of_supports[place]
            if better or (scores[own] == of_supports[place] and node < supports[place]):
                return place, standing
            place += 1
        if place < end:
            if supports[place] != node:
                return place, standing
            standing[place] = True
    return -1, standing


@njit(cache=True, nogil=True)
def drawn_parents(offsets, indices, level, numbers, num_own, random, salt):  # type: ignore[no-untyped-def]
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
def first_wrong_block(offsets, indices, numbers, num_nodes, parents, first, last, num_own, random, salt):  # type: ignore[no-untyped-def]
    """First own node whose children's blocks do not follow one another, and then its own number, or -1."""
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
