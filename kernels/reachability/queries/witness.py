"""Paths that prove the answer yes, on the CPU: the evidence that `kernels.reachability.certificate.answers` checks.

A search ends at a node that lies on a path, and leaves the nodes that it visited marked. From there the path follows marked nodes
back to its begin and on to its end: each was found from a marked neighbour, and every marked neighbour is as good, because the
graph has no cycle. Where labels ended the search, the path follows them: down a subtree of dimension 0, or along nodes that reach
a support, and from there along nodes that it reaches. paths.cuh does the same on the GPU.
"""

import numpy as np

from kernels.answers import ReachabilityIndex, Witnesses
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.reachability.queries.cpu import Scratch, over_searches
from kernels.reachability.queries.records import FIRST, LAST, REACHED, REACHES, records_of
from kernels.reachability.queries.search import meet, reset

_MARKED, _SUBTREE, _REACHES, _REACHED = range(4)  # which nodes a walk takes


def trace(index: ReachabilityIndex, src: Array, dst: Array, begins: Array) -> Witnesses:
    """Search for a path for every pair of nodes that no label decides; query q may use `nodes[begins[q]:begins[q + 1]]`."""
    paths = Witnesses(begins, np.zeros(len(src), np.int64), np.empty(int(begins[-1]), index.labels.low.dtype))
    records, supports = records_of(index), frozen(index.labels.supports)

    def search(sides: list[Array], scratch: Scratch, part: slice) -> None:
        queries = src[part], dst[part], begins[part.start :]
        _trace(*records, *sides, *scratch, supports, *queries, paths.nodes, paths.lengths[part])

    over_searches(index.condensation, len(src), search)
    return paths


@njit(cache=True, nogil=True)
def _trace(
    bits: Array, entries: Array, backward: Array, offsets: Array, indices: Array, into_offsets: Array, into_indices: Array,
    visited: Array, queue: Array, back_visited: Array, back_queue: Array, supports: Array,
    src: Array, dst: Array, begins: Array, nodes: Array, lengths: Array,
) -> None:  # fmt: skip
    """Trace every query."""
    for query in range(len(src)):
        u, v, path, length = src[query], dst[query], nodes[begins[query] : begins[query + 1]], 0
        met, forward, tail, back_tail = meet(
            bits, entries, backward, offsets, indices, into_offsets, into_indices,
            visited, queue, back_visited, back_queue, u, v,
        )  # fmt: skip
        if met >= 0:
            path[0] = u
            if forward or visited[met]:
                length = _back(bits, entries, into_offsets, into_indices, visited, _MARKED, 0, path, 1, u, met)
            else:
                length = _descend(bits, entries, offsets, indices, into_offsets, into_indices, visited, supports, path, 1, u, met)
            if not forward or back_visited[met]:
                length = _walk(bits, entries, offsets, indices, back_visited, _MARKED, 0, path, length, met, v)
            else:
                length = _descend(
                    bits, entries, offsets, indices, into_offsets, into_indices, visited, supports, path, length, met, v
                )
        reset(visited, queue, tail)
        reset(back_visited, back_queue, back_tail)
        lengths[query] = max(length, 0)


@njit(cache=True, nogil=True)
def _descend(
    bits: Array, entries: Array, offsets: Array, indices: Array, into_offsets: Array, into_indices: Array, marks: Array,
    supports: Array, path: Array, length: int, u: int, v: int,
) -> int:  # fmt: skip
    """Append a path from u, excluded, to v, which the labels show to be reached."""
    if u == v or entries[u, FIRST] <= entries[v, LAST] <= entries[u, LAST]:
        length = _walk(bits, entries, offsets, indices, marks, _SUBTREE, entries[v, LAST], path, length, u, v)
    else:
        common, bit = bits[u, REACHES] & bits[v, REACHED], 0
        while not (common >> np.uint64(bit)) & np.uint64(1):
            bit += 1
        length = _walk(bits, entries, offsets, indices, marks, _REACHES, bit, path, length, u, supports[bit])
        length = _back(bits, entries, into_offsets, into_indices, marks, _REACHED, bit, path, length, supports[bit], v)
    return length


@njit(cache=True, nogil=True)
def _walk(
    bits: Array, entries: Array, offsets: Array, indices: Array, marks: Array, way: int, key: int,
    path: Array, length: int, node: int, end: int,
) -> int:  # fmt: skip
    """Append nodes that a way allows, after `node` up to `end`; return the new length, -1 if there is no such path."""
    while node != end and length >= 0:
        before = -1
        for arc in range(offsets[node], offsets[node + 1]):
            head = indices[arc]
            if way == _MARKED:
                taken = marks[head]
            elif way == _SUBTREE:
                taken = entries[head, FIRST] <= key <= entries[head, LAST]
            else:
                taken = (bits[head, REACHES if way == _REACHES else REACHED] >> np.uint64(key)) & np.uint64(1) != 0
            if taken or head == end:
                before = head
                break
        if before < 0 or length == len(path):
            return -1
        path[length] = node = before
        length += 1
    return length


@njit(cache=True, nogil=True)
def _back(
    bits: Array, entries: Array, offsets: Array, indices: Array, marks: Array, way: int, key: int,
    path: Array, length: int, begin: int, node: int,
) -> int:  # fmt: skip
    """Append a path from `begin`, excluded, to `node`, found backwards."""
    if node == begin or length < 0:
        return length
    path[length] = node
    end: int = _walk(bits, entries, offsets, indices, marks, way, key, path, length + 1, node, begin) - 1
    path[length : max(end, length)] = path[length : max(end, length)][::-1].copy()
    return max(end, -1)
