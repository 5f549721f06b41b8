"""The hierarchy of a forest's edges over all ranks, in which the greatest edge between two vertices is on their paths up.

Borůvka's rounds on the forest's edges only (King: A simpler minimum spanning tree verification algorithm, Algorithmica 18, 1997):
in a round every node takes its least edge, chains of such nodes are shortened by pointer jumping (Wyllie, 1979), and nodes that
are connected become one node of the next level. So there are at most log2 V levels. A node is named by one of its rows and
belongs to that row's owner; edges are not moved. A rank keeps only the nodes above its own rows and ghosts: at each level no more
than these, and at the k-th level no more than V / 2^k.
"""

from typing import NamedTuple

import numpy as np

from kernels.certificate.global_view import GlobalView
from kernels.distributed.columns import lower_at
from kernels.distributed.owners import Owners
from kernels.forest.certificate.edges import OwnEdges
from kernels.graph import OFFSET, Array

_NONE = -1  # the parent of a root


class Keys(NamedTuple):
    """The keys that order edges: int64 columns as in `OwnEdges`."""

    heavy: Array
    low: Array
    high: Array


class OwnPathsUp(NamedTuple):
    """The paths up from a rank's local rows."""

    parent: Array  # int64 [N]: the node that a node became part of; the first n + g nodes are the local rows. -1 for a root.
    time: Array  # int64 [N]: by which edge: its index in `edges`. Undefined for a root.
    edges: Keys  # ascending
    # root, top: int64 [n + g]: the root above a local row, and the greatest time on the path there; -1 for a root.
    root: Array
    top: Array


def build(view: GlobalView, edges: OwnEdges) -> tuple[OwnPathsUp, Array]:
    """Join the edges of all ranks; return the hierarchy, and which own edges joined two nodes, bool [E].

    An edge that did not is the greatest on a cycle of edges.
    """
    rows, nodes = view.rows, view.shard.local_rows.astype(OFFSET)
    near, far, place = edges.src.astype(OFFSET), edges.dst.astype(OFFSET), np.arange(len(edges.src), like=edges.src)
    needed = np.zeros(len(edges.src), np.bool_, like=edges.src)
    levels: list[tuple[Array, Keys]] = []
    while view.any(len(place) > 0):
        left = edges.take(place)
        above, chosen = _round(rows, near, far, Keys(left.heavy, left.low, left.high))
        over, heavy, low, high = rows.request(np.concatenate([nodes, near, far]), above, *chosen)
        size, ends = len(nodes), (slice(len(nodes), len(nodes) + len(near)), slice(len(nodes) + len(near), None))
        for end in ends:
            needed[place[(low[end] == left.low) & (high[end] == left.high)]] = True
        moves = np.flatnonzero(low[:size] >= 0)
        parent = np.full_like(nodes, _NONE, OFFSET, shape=(size,))
        nodes, parent[moves] = rows.distinct(over[:size][moves])
        levels.append((parent, Keys(heavy[:size], low[:size], high[:size])))
        near, far = over[ends[0]], over[ends[1]]
        apart = near != far
        near, far, place = near[apart], far[apart], place[apart]
    return _stacked(levels, len(nodes), nodes), needed


def _round(rows: Owners, near: Array, far: Array, keys: Keys) -> tuple[Array, Keys]:
    """Let each node take its least edge; return, for own rows, the node they become part of and the edge (low -1 if none)."""
    chosen, above = _least(rows, near, far, keys)
    taking = np.flatnonzero(chosen.low >= 0)
    # Two nodes that take the same edge lead to each other: the smaller one ends the chain. No cycle is longer.
    (back,) = rows.request(above[taking], above)
    number = taking + rows.start
    ends_here = (back == number) & (number < above[taking])
    above[taking[ends_here]] = number[ends_here]
    _jump(rows, above, taking)
    return above, chosen


def _least(rows: Owners, near: Array, far: Array, keys: Keys) -> tuple[Keys, Array]:
    """The least of all ranks' edges of each own node, and its other endpoint; low -1 and the row itself if it is not a node."""
    ends = np.stack([near, far], axis=1).ravel()
    nodes, place = rows.distinct(ends)
    first = np.full_like(near, len(ends), OFFSET, shape=(len(nodes),))
    lower_at(first, place, np.arange(len(ends), like=near))  # the edges ascend: the first one is the least
    own = int(np.count_nonzero((nodes >= rows.start) & (nodes < rows.stop)))
    here, other, *offered = rows.send(nodes[own:], ends[first[own:] ^ 1], *(column[first[own:] // 2] for column in keys))
    order = _order(here, *offered)
    here, best = np.unique(here[order], return_index=True)
    best = order[best]
    above = np.arange(rows.start, rows.stop, dtype=OFFSET, like=near)
    chosen = Keys(*(np.full_like(near, _NONE, OFFSET, shape=(len(above),)) for _ in keys))
    mine, first = nodes[:own] - rows.start, first[:own]
    _take(above, chosen, mine, ends[first ^ 1], Keys(*(column[first // 2] for column in keys)))
    offers = Keys(*(column[best] for column in offered))
    held = Keys(*(column[here] for column in chosen))
    less = (held.low < 0) | _is_less(offers, held)
    _take(above, chosen, here[less], other[best][less], Keys(*(column[less] for column in offers)))
    return chosen, above


def _order(*columns: Array) -> Array:
    """The permutation that sorts by the first column, then by the next, and so on."""
    order: Array = np.lexsort(np.stack(columns[::-1])) if len(columns[0]) else columns[0]  # CuPy does not sort empty keys
    return order


def _take(above: Array, chosen: Keys, nodes: Array, others: Array, edges: Keys) -> None:
    above[nodes] = others
    for column, of_edge in zip(chosen, edges, strict=True):
        column[nodes] = of_edge


def _is_less(one: Keys, other: Keys) -> Array:
    ends = (one.low < other.low) | ((one.low == other.low) & (one.high < other.high))
    less: Array = (one.heavy < other.heavy) | ((one.heavy == other.heavy) & ends)
    return less


def _jump(rows: Owners, above: Array, moving: Array) -> None:
    """Let `above` be the end of each chain, by pointer jumping: as far as possible among own rows before each exchange."""
    while rows.communicator.any(len(moving)):
        _jump_here(rows, above, moving)
        (further,) = rows.request(above[moving], above)
        moves = np.flatnonzero(further != above[moving])
        moving = moving[moves]
        above[moving] = further[moves]


def _jump_here(rows: Owners, above: Array, moving: Array) -> None:
    changed = True
    while changed:
        up = above[moving]
        own = (up >= rows.start) & (up < rows.stop)
        further = np.where(own, above[np.where(own, up - rows.start, 0)], up)
        changed = bool((further != up).any())
        above[moving] = further


def _stacked(levels: list[tuple[Array, Keys]], last: int, like: Array) -> OwnPathsUp:
    """Number the nodes of all levels in turn, and their edges in order; find roots and greatest times from the top level down."""
    sizes = [len(parent) for parent, _ in levels] + [last]
    starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    roots = np.full_like(like, _NONE, OFFSET, shape=(last,))
    parents = [np.where(parent < 0, _NONE, parent + starts[level + 1]) for level, (parent, _) in enumerate(levels)]
    parent = np.concatenate([*parents, roots])
    columns = [np.concatenate([*(getattr(keys, name) for _, keys in levels), roots]) for name in Keys._fields]
    order = _order(*columns)
    time = np.empty_like(order)
    time[order] = np.arange(len(order), like=order)
    root, top = np.arange(starts[-2], starts[-1], like=like), roots
    for level in range(len(levels) - 1, -1, -1):
        own = np.arange(starts[level], starts[level + 1], like=like)
        climbs = np.flatnonzero(parents[level] >= 0)
        below = parents[level][climbs] - starts[level + 1]
        root, root_below = own, root
        top, top_below = np.full_like(like, _NONE, OFFSET, shape=(len(own),)), top
        root[climbs] = root_below[below]
        top[climbs] = np.maximum(time[starts[level] + climbs], top_below[below])
    return OwnPathsUp(parent, time, Keys(*(column[order] for column in columns)), root, top)
