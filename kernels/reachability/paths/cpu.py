"""Witness paths on NumPy arrays: each core searches for some of the queries."""

from collections.abc import Iterator

import numpy as np

from kernels.answers import Witnesses
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import cores, over_items
from kernels.cpu.spare import Spare
from kernels.graph import Array, Graph
from kernels.reachability.paths.constants import QUERIES


def search(graph: Graph, src: Array, dst: Array, most_rows: int) -> Iterator[Witnesses]:
    """Answer `kernels.reachability.paths.shortest_paths` on NumPy arrays; `most_rows` is at least the number of vertices."""
    count, rows = graph.num_vertices, graph.rows_by_id.dtype
    arcs = [frozen(array) for csr in (graph.out, graph.into) for array in (csr.offsets, csr.indices)]
    spare = Spare(lambda: [*np.full((2, count), -1, rows), *np.empty((2, count), rows)])

    def find(part: slice) -> Witnesses:
        scratch = spare.take()
        queries = src[part], dst[part]
        nodes, begins = np.empty(max(most_rows // cores(), count), rows), np.zeros(len(queries[0]) + 1, np.int64)
        done = _find(*arcs, *scratch, *queries, begins, nodes)
        spare.release(scratch)
        return Witnesses(begins[: done + 1], np.diff(begins[: done + 1]), nodes[: begins[done]])

    first, size = 0, QUERIES
    while first < len(src):
        begins = range(first, min(first + cores() * size, len(src)), size)
        parts = [slice(begin, min(begin + size, begins.stop)) for begin in begins]
        for part, paths in zip(parts, over_items(parts, find, parallel=len(parts) > 1), strict=True):
            yield paths
            first = part.start + len(paths.lengths)
            if first < part.stop:  # the others did not fit
                size = max(len(paths.lengths), 1)
                break


# Arrays are separate arguments: a tuple of them costs an update of shared reference counts at every call.


@njit(cache=True, nogil=True)
def _find(
    offsets: Array, indices: Array, into_offsets: Array, into_indices: Array,
    level: Array, back_level: Array, queue: Array, back_queue: Array,
    src: Array, dst: Array, begins: Array, nodes: Array,
) -> int:  # fmt: skip
    """Write the paths of the first queries, as many as fit into `nodes`, at least one; return their number."""
    for query in range(len(src)):
        begin, u, v = begins[query], src[query], dst[query]
        queue[0], back_queue[0], level[u], back_level[v] = u, v, 0, 0
        first, tail, back_first, back_tail, met = 0, 1, 0, 1, u == v
        while not met and first < tail and back_first < back_tail:
            if tail - first <= back_tail - back_first:
                first, tail, met = _expand(offsets, indices, level, back_level, queue, first, tail)
            else:
                back_first, back_tail, met = _expand(
                    into_offsets, into_indices, back_level, level, back_queue, back_first, back_tail
                )
        length = level[queue[first]] + back_level[back_queue[back_first]] + 1 if met else 0
        fits = length <= len(nodes) - begin
        if met and fits:
            tail = _close(offsets, indices, level, back_level, queue, first, tail, length - 1)
            _walk(into_offsets, into_indices, level, v, nodes[begin : begin + length])
        begins[query + 1] = begin + length
        for place in range(tail):
            level[queue[place]] = -1
        for place in range(back_tail):
            back_level[back_queue[place]] = -1
        if not fits:
            return query
    return len(src)


@njit(cache=True, nogil=True)
def _expand(
    offsets: Array, indices: Array, level: Array, other: Array, queue: Array, first: int, tail: int
) -> tuple[int, int, bool]:
    """Queue the level after `queue[first:tail]`; return where it begins and ends, and whether the other side has some of it."""
    end, met = tail, False
    for place in range(first, tail):
        row = queue[place]
        for arc in range(offsets[row], offsets[row + 1]):
            head = indices[arc]
            if level[head] < 0:
                level[head] = level[row] + 1
                queue[end] = head
                end += 1
                met |= other[head] >= 0
    return tail, end, met


@njit(cache=True, nogil=True)
def _close(
    offsets: Array, indices: Array, level: Array, back_level: Array, queue: Array, first: int, tail: int, distance: int
) -> int:
    """Give the rows on shortest paths that only the other side has found their levels; return the length of the queue."""
    while first < tail:
        end = tail
        for place in range(first, tail):
            row = queue[place]
            if level[row] + back_level[row] == distance and back_level[row] > 0:
                for arc in range(offsets[row], offsets[row + 1]):
                    head = indices[arc]
                    if level[head] < 0 and back_level[head] == back_level[row] - 1:
                        level[head] = level[row] + 1
                        queue[end] = head
                        end += 1
        first, tail = tail, end
    return tail


@njit(cache=True, nogil=True)
def _walk(into_offsets: Array, into_indices: Array, level: Array, row: int, path: Array) -> None:
    """Write the path that ends at `row`: in-arcs ascend by external id, so the first one from the level before is followed."""
    for place in range(len(path) - 1, 0, -1):
        path[place] = row
        for arc in range(into_offsets[row], into_offsets[row + 1]):
            if level[into_indices[arc]] == place - 1:
                row = into_indices[arc]
                break
    path[0] = row
