"""Queries on a GPU as the thesis answers them, 64 searches in a mask, and by exception lists (see cpu.py for the sources).

The intervals alone prune; neither levels nor supports are read. Masks of 32 bits are the thesis's first variant.
"""

import cupy
import numpy as np

from benchmarks.published.grail.cpu import LARGEST_LISTED
from benchmarks.published.grail.three_queues import Engine
from kernels.answers import ReachabilityIndex, Reached
from kernels.graph import Array
from kernels.reachability import FILTER, SAME, SEARCH
from kernels.reachability import reach as reach_by_labels

SEARCHES = ("three-queues", "exceptions")
WIDTHS = {32: np.int32, 64: np.int64}


def reach(index: ReachabilityIndex, src: Array, dst: Array, search: str, width: int = 64) -> Reached:
    """Answer as `kernels.reachability.reach` on CuPy arrays.

    Args:
        src, dst (integers [Q]): Rows of the graph.
        search: One of SEARCHES, which answers the queries that the intervals leave.
        width: Searches in a mask, 32 or 64.
    """
    u, v = (index.condensation.node[rows] for rows in (src, dst))
    reachable = u == v
    decided = cupy.where(reachable, SAME, cupy.where(contains(index, u, v), SEARCH, FILTER)).astype(np.uint8)
    left = cupy.flatnonzero(decided == SEARCH)
    if search == "exceptions":
        reachable[left] = ~_is_exception(index, u[left], v[left])
    elif len(left):
        reachable[left] = _search(index, u[left], v[left], width)
    return Reached(reachable, decided)


def contains(index: ReachabilityIndex, u: Array, v: Array) -> Array:
    """Whether the interval of each node v is inside that of u in every dimension, bool [Q]."""
    labels, inside = index.labels, cupy.ones(len(u), np.bool_)
    for dimension in range(labels.dimensions):
        outer, inner = (v, u) if labels.backward(dimension) else (u, v)
        low, post = labels.low[dimension], labels.post[dimension]
        inside &= (low[outer] <= low[inner]) & (post[inner] <= post[outer])
    return inside


def exceptions(index: ReachabilityIndex) -> Array:
    """List the pairs of nodes that `benchmarks.published.grail.cpu.exceptions` lists, in its order, in the same array.

    Which of them are reachable the kernels' index answers. Raises ValueError if there are more than LARGEST_LISTED nodes.
    """
    return index.derived.get(exceptions, lambda: _find(index))


def _find(index: ReachabilityIndex) -> Array:
    num_nodes, names = index.condensation.num_nodes, index.condensation.names
    if num_nodes > LARGEST_LISTED:
        raise ValueError(f"exceptions: {num_nodes} components, more than the limit of {LARGEST_LISTED}")
    pairs = cupy.arange(num_nodes * num_nodes)
    inside = pairs[contains(index, pairs // num_nodes, pairs % num_nodes)]
    u, v = inside // num_nodes, inside % num_nodes
    wrong = ~reach_by_labels(index, names[u], names[v]).reachable
    return cupy.stack([u[wrong], v[wrong]], axis=1)


def _is_exception(index: ReachabilityIndex, u: Array, v: Array) -> Array:
    pairs, num_nodes = exceptions(index), np.int64(index.condensation.num_nodes)
    keys, wanted = cupy.append(pairs[:, 0] * num_nodes + pairs[:, 1], -1), u.astype(np.int64) * num_nodes + v
    found: Array = keys[cupy.searchsorted(keys[:-1], wanted)] == wanted
    return found


def _search(index: ReachabilityIndex, src: Array, dst: Array, width: int) -> Array:
    """Whether each node of `src` reaches that of `dst`, by searches of `width` queries at a time; bool [Q]."""
    labels, engine = index.labels, Engine(index.condensation.children, WIDTHS[width])
    intervals = labels.low, labels.post, np.int64(engine.num_rows), np.int32(labels.dimensions), np.bool_(labels.method == "tree")
    visited, bits = cupy.empty_like(engine.status), cupy.arange(width, dtype=engine.status.dtype)
    reachable: Array = cupy.empty(len(src), np.bool_)
    for begin in range(0, len(src), width):
        part = slice(begin, begin + width)
        batch, ends = src[part], dst[part]
        visited.fill(0)
        engine.alive.fill(-1)
        engine.status.fill(0)
        engine.run("begin_searches", batch, np.int64(len(batch)), engine.status, visited)
        for queues in engine.levels():
            engine.expand("expand_searches", queues, ends, *intervals, engine.waiting, engine.status, visited, engine.alive)
        reachable[part] = (engine.alive >> bits[: len(batch)]) & 1 == 0
    return reachable
