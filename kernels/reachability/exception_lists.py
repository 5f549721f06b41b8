"""Exception lists: the pairs of nodes that the intervals alone would answer wrongly (Yıldırım, Chaoji, Zaki 2010, section 3.3).

With them no query is searched. Their number grows with the square of the nodes, so they serve small graphs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import ReachabilityIndex
from kernels.arrays import frozen
from kernels.graph import Array
from kernels.reachability import LARGEST_LISTED
from kernels.reachability.cuts import contains, pack


def exceptions(index: ReachabilityIndex) -> Array:
    """Answer `kernels.reachability.exceptions` on NumPy arrays; made once an index and kept with it."""
    pairs: Array | None = vars(index).get("_exceptions")
    if pairs is None:
        num_nodes = index.condensation.num_nodes
        if num_nodes > LARGEST_LISTED:
            raise ValueError(f"exceptions: {num_nodes} components, where {LARGEST_LISTED} are the most")
        children, records = index.condensation.children, pack(index.labels)
        upwards = np.argsort(-index.labels.level, kind="stable")
        words = np.zeros((num_nodes, -(-num_nodes // 64)), np.uint64)
        _close(frozen(children.offsets), frozen(children.indices), upwards, words)
        listed = np.empty((num_nodes, num_nodes), np.bool_)
        _mark(records.entries, records.backward, words, listed)
        pairs = np.argwhere(listed)
        vars(index)["_exceptions"] = pairs
    return pairs


def is_exception(index: ReachabilityIndex, u: Array, v: Array) -> Array:
    """Whether each pair of nodes is in the list."""
    pairs, num_nodes = exceptions(index), index.condensation.num_nodes
    keys, wanted = pairs[:, 0] * num_nodes + pairs[:, 1], u * np.int64(num_nodes) + v
    places = np.searchsorted(keys, wanted)
    return np.append(keys, -1)[places] == wanted


@njit(cache=True, nogil=True)
def _close(offsets, indices, upwards, words):  # type: ignore[no-untyped-def]
    """The transitive closure, a bit for each pair; children come before their parents."""
    for node in upwards:
        words[node, node >> 6] |= np.uint64(1) << np.uint64(node & 63)
        for arc in range(offsets[node], offsets[node + 1]):
            for word in range(words.shape[1]):
                words[node, word] |= words[indices[arc], word]


@njit(cache=True, nogil=True)
def _mark(entries, backward, words, listed):  # type: ignore[no-untyped-def]
    """Mark the pairs of which v's interval is inside u's, and u does not reach v."""
    for u in range(len(words)):
        for v in range(len(words)):
            reached = (words[u, v >> 6] >> np.uint64(v & 63)) & np.uint64(1)
            listed[u, v] = reached == 0 and contains(entries, backward, u, v)
