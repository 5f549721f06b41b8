"""Exception lists: the pairs of nodes that intervals without a search would answer wrongly.

With such a list no query needs a search. Its length grows with the square of the nodes, so it serves small graphs.
Source: Yıldırım, Chaoji, Zaki 2010, section 3.3.
"""

import numpy as np

from kernels.answers import ReachabilityIndex
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.reachability.definitions import LARGEST_LISTED
from kernels.reachability.queries.records import contains, records_of


def list_exceptions(index: ReachabilityIndex) -> Array:
    """Answer `kernels.reachability.exceptions` on NumPy arrays; the list is made once and kept with the index."""
    return index.derived.get(list_exceptions, lambda: _find(index))


def is_exception(index: ReachabilityIndex, u: Array, v: Array) -> Array:
    """Whether each pair of nodes is in the list."""
    pairs, num_nodes = list_exceptions(index), index.condensation.num_nodes
    keys, wanted = pairs[:, 0] * num_nodes + pairs[:, 1], u * np.int64(num_nodes) + v
    places = np.searchsorted(keys, wanted)
    found: Array = np.append(keys, -1)[places] == wanted
    return found


def _find(index: ReachabilityIndex) -> Array:
    num_nodes = index.condensation.num_nodes
    if num_nodes > LARGEST_LISTED:
        raise ValueError(f"exceptions: {num_nodes} components, where {LARGEST_LISTED} are the most")
    children, records = index.condensation.children, records_of(index)
    upwards = np.argsort(-index.labels.level, kind="stable")
    words = np.zeros((num_nodes, -(-num_nodes // 64)), np.uint64)
    _close(frozen(children.offsets), frozen(children.indices), upwards, words)
    listed = np.empty((num_nodes, num_nodes), np.bool_)
    _mark(records.entries, records.backward, words, listed)
    return np.argwhere(listed)


@njit(cache=True, nogil=True)
def _close(offsets: Array, indices: Array, upwards: Array, words: Array) -> None:
    """Compute the transitive closure, one bit for each pair; in `upwards` children come before their parents."""
    for node in upwards:
        words[node, node >> 6] |= np.uint64(1) << np.uint64(node & 63)
        for arc in range(offsets[node], offsets[node + 1]):
            for word in range(words.shape[1]):
                words[node, word] |= words[indices[arc], word]


@njit(cache=True, nogil=True)
def _mark(entries: Array, backward: Array, words: Array, listed: Array) -> None:
    """Mark the pairs where v's interval is inside u's although u does not reach v."""
    for u in range(len(words)):
        for v in range(len(words)):
            reached = (words[u, v >> 6] >> np.uint64(v & 63)) & np.uint64(1)
            listed[u, v] = reached == 0 and contains(entries, backward, u, v)
