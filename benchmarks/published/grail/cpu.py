"""Queries on the CPU as the thesis answers them, from an index: searches that only the intervals prune, and exception lists.

Caiazza: Data-parallel implementation of the GRAIL index on many-core architectures. Politecnico di Torino, 2019 (algorithms 2 and
3). Yıldırım, Chaoji, Zaki: GRAIL. PVLDB 3(1), 2010, section 3.3: the pairs of nodes that intervals without a search would answer
wrongly. With a list of these no query needs a search; its length grows with the square of the nodes, so it serves small graphs.
"""

import numpy as np

from kernels.answers import ReachabilityIndex, Reached
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.reachability import FILTER, SAME, SEARCH
from kernels.reachability.queries.cpu import Scratch, checked_rows, over_searches
from kernels.reachability.queries.records import contains, records_of
from kernels.reachability.queries.search import reset

SEARCHES = ("dfs", "pruned-dfs", "pruned-bfs", "exceptions")
LARGEST_LISTED = 2_000  # nodes of a graph with an exception list
_DFS, _PRUNED_DFS, _PRUNED_BFS, _EXCEPTIONS = range(len(SEARCHES))


def reach(index: ReachabilityIndex, src: Array, dst: Array, search: str) -> Reached:
    """Answer as `kernels.reachability.reach`.

    Args:
        src, dst (integers [Q]): Rows of the graph.
        search: One of SEARCHES: a depth-first search without cuts, a search that only the intervals prune, or the intervals and
            the list of `exceptions`.
    """
    way, records, node = SEARCHES.index(search), records_of(index), index.condensation.node
    u, v = (node[rows] for rows in checked_rows(index, src, dst))
    reachable, decided = np.empty(len(u), np.bool_), np.empty(len(u), np.uint8)

    def call(sides: list[Array], scratch: Scratch, part: slice) -> None:
        entries, queries = (records.entries, records.backward), (u[part], v[part])
        _cut(*entries, *queries, way, reachable[part], decided[part])
        if way != _EXCEPTIONS:
            path, arcs = np.empty_like(scratch.queue), np.empty(len(scratch.queue), np.int64)
            given = sides[0], sides[1], scratch.visited, scratch.queue, path, arcs
            _search(*entries, *given, *queries, way, decided[part], reachable[part])

    over_searches(index.condensation, len(u), call)
    if way == _EXCEPTIONS:
        left = decided == SEARCH
        reachable[left] = ~_is_exception(index, u[left], v[left])
    return Reached(reachable, decided)


def exceptions(index: ReachabilityIndex) -> Array:
    """List the pairs (u, v) of nodes where v's interval is inside u's in every dimension although u does not reach v.

    int64 [E, 2], ascending; made once and kept with the index. Raises ValueError if there are more than LARGEST_LISTED nodes.
    """
    return index.derived.get(exceptions, lambda: _find(index))


def _is_exception(index: ReachabilityIndex, u: Array, v: Array) -> Array:
    """Whether each pair of nodes is in the list."""
    pairs, num_nodes = exceptions(index), index.condensation.num_nodes
    keys, wanted = pairs[:, 0] * num_nodes + pairs[:, 1], u * np.int64(num_nodes) + v
    places = np.searchsorted(keys, wanted)
    return np.append(keys, -1)[places] == wanted


def _find(index: ReachabilityIndex) -> Array:
    num_nodes = index.condensation.num_nodes
    if num_nodes > LARGEST_LISTED:
        raise ValueError(f"exceptions: {num_nodes} components, more than the limit of {LARGEST_LISTED}")
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


@njit(cache=True, nogil=True)
def _cut(entries: Array, backward: Array, src: Array, dst: Array, way: int, reachable: Array, decided: Array) -> None:
    """Decide by the intervals, unless the way ignores them; SEARCH marks the queries that they do not decide."""
    for query in range(len(src)):
        u, v = src[query], dst[query]
        searches = way == _DFS or contains(entries, backward, u, v)
        decided[query] = SAME if u == v else SEARCH if searches else FILTER
        reachable[query] = u == v


@njit(cache=True, nogil=True)
def _search(
    entries: Array, backward: Array, offsets: Array, indices: Array, visited: Array, queue: Array, path: Array, arcs: Array,
    src: Array, dst: Array, way: int, decided: Array, found: Array,
) -> None:  # fmt: skip
    for query in range(len(src)):
        if decided[query] == SEARCH:
            given = entries, backward, offsets, indices, visited, queue
            if way == _PRUNED_BFS:
                found[query] = _breadth_first(*given, src[query], dst[query])
            else:
                found[query] = _depth_first(*given, path, arcs, src[query], dst[query], way == _PRUNED_DFS)


@njit(cache=True, nogil=True)
def _depth_first(
    entries: Array, backward: Array, offsets: Array, indices: Array,
    visited: Array, queue: Array, path: Array, arcs: Array, u: int, v: int, pruned: bool,
) -> bool:  # fmt: skip
    """Whether u reaches v, by a depth-first search; `path` and `arcs` [C] hold the nodes on the path and the next arc of each."""
    path[0], arcs[0], queue[0] = u, offsets[u], u
    visited[u] = True
    depth, tail, found = 0, 1, False
    while depth >= 0 and not found:
        if arcs[depth] == offsets[path[depth] + 1]:
            depth -= 1
            continue
        child = indices[arcs[depth]]
        arcs[depth] += 1
        if not visited[child] and (not pruned or contains(entries, backward, child, v)):
            visited[child] = True
            queue[tail] = child
            tail += 1
            depth += 1
            path[depth], arcs[depth] = child, offsets[child]
            found = child == v
    reset(visited, queue, tail)
    return found


@njit(cache=True, nogil=True)
def _breadth_first(
    entries: Array, backward: Array, offsets: Array, indices: Array, visited: Array, queue: Array, u: int, v: int
) -> bool:
    """Whether u reaches v, by a breadth-first search that the intervals prune."""
    queue[0] = u
    visited[u] = True
    head, tail, found = 0, 1, False
    while head < tail and not found:
        node = queue[head]
        head += 1
        for arc in range(offsets[node], offsets[node + 1]):
            child = indices[arc]
            if not visited[child] and contains(entries, backward, child, v):
                visited[child] = True
                queue[tail] = child
                tail += 1
                found |= child == v
    reset(visited, queue, tail)
    return found
