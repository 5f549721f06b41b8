"""Checks of searched answers on NumPy arrays; they share no code with the searches, and read the labels as they were proved."""

import numpy as np

from kernels.answers import ReachabilityIndex, Witnesses
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import cores, over_items
from kernels.graph import ID, Array, Csr


def first_wrong_path(arcs: Csr, src: Array, dst: Array, paths: Witnesses, ids: Array | None = None) -> int:
    """The first query with a path that does not lead from its row of `src` to that of `dst` along arcs; -1 if there is none.

    The heads of a row's arcs ascend by `ids`, or by their numbers if None.
    """
    arrays = arcs.offsets, arcs.indices, np.empty(0, ID) if ids is None else ids, paths.begins, paths.lengths, paths.nodes
    return int(_first_wrong_path(*map(frozen, arrays), src, dst))


@njit(cache=True, nogil=True)
def _first_wrong_path(
    offsets: Array, indices: Array, ids: Array, begins: Array, lengths: Array, nodes: Array, src: Array, dst: Array
) -> int:
    for query in range(len(src)):
        path = nodes[begins[query] : min(begins[query] + lengths[query], begins[query + 1])]
        if lengths[query] == 0:
            continue
        if len(path) != lengths[query] or path[0] != src[query] or path[-1] != dst[query]:
            return query
        for place in range(1, len(path)):
            head, low, end = path[place], offsets[path[place - 1]], offsets[path[place - 1] + 1]
            high = end
            while low < high:
                middle = (low + high) // 2
                node = indices[middle]
                if (ids[node] < ids[head]) if len(ids) else node < head:
                    low = middle + 1
                else:
                    high = middle
            if low == end or indices[low] != head:
                return query
    return -1


def first_reached(index: ReachabilityIndex, src: Array, dst: Array) -> int:
    """The first query whose node of `src` reaches that of `dst`; -1 if there is none."""
    labels, children = index.labels, index.condensation.children
    backward = np.array([labels.backward(dimension) for dimension in range(labels.dimensions)])
    of_labels = labels.level, labels.height, labels.low, labels.post, labels.reaches, labels.reached
    arrays = [frozen(array) for array in (children.offsets, children.indices, *of_labels)]

    def check(part: slice) -> int:
        first = int(_first_reached(*arrays, backward, src[part], dst[part]))
        return first if first < 0 else part.start + first

    size = -(-len(src) // cores()) or 1
    queries = over_items([slice(begin, begin + size) for begin in range(0, len(src), size)], check, parallel=len(src) > 1)
    return next((query for query in queries if query >= 0), -1)


@njit(cache=True, nogil=True)
def _first_reached(
    offsets: Array, indices: Array, level: Array, height: Array, low: Array, post: Array, reaches: Array, reached: Array,
    backward: Array, src: Array, dst: Array,
) -> int:  # fmt: skip
    seen, stack = np.full(len(level), -1, np.int64), np.empty(len(level), indices.dtype)
    for query in range(len(src)):
        stack[0], size, end = src[query], 1, dst[query]
        while size:
            size -= 1
            node = stack[size]
            for head in indices[offsets[node] : offsets[node + 1]]:
                if head == end:
                    return query
                excluded = level[head] >= level[end] or height[head] <= height[end]
                excluded |= (reaches[end] & ~reaches[head]) | (reached[head] & ~reached[end]) != 0
                for dimension in range(len(backward)):
                    outer, inner = (end, head) if backward[dimension] else (head, end)
                    excluded |= low[dimension, outer] > low[dimension, inner] or post[dimension, outer] < post[dimension, inner]
                if not excluded and seen[head] != query:
                    seen[head] = query
                    stack[size] = head
                    size += 1
    return -1
