"""A spanning forest with roots over ranks: the parent and the depth of each own row. The root of a tree is its label.

The edges between own rows connect them to parts of trees; only the edges between parts are on two ranks. They are directed by
Euler tours (Tarjan and Vishkin, 1985) around each tree of parts, whose arcs are ranked by doubling distances (Wyllie, 1979): of
an edge's two arcs, the earlier one leads to the deeper part. Then each rank roots its parts at the rows that these arcs enter,
and the depths of those rows are added up along the tree of parts, by doubling again. So there are about 3 log2 V exchanges,
whatever the shape of the trees. A rank holds some numbers for each own row, edge and part.
"""

from dataclasses import dataclass

import numpy as np

from kernels.answers import Forest
from kernels.arrays import frozen
from kernels.components.union_find import flatten, number_trees, unite
from kernels.cpu.compiled import njit
from kernels.distributed import Communicator, Owners, Shard
from kernels.forest.rooting import count, descend, peel
from kernels.graph import NO_ROW, Array, index_dtype

_END = -1  # behind the last arc of a tour; above the part of a root


@dataclass(frozen=True)
class RootedRows:
    """The own rows in a rooted forest; NumPy arrays [n]."""

    parent: Array  # index width: rows of the whole graph; NO_ROW for a root
    weight: Array  # of the edge to the parent, in the type of the weights; -1 for a root
    depth: Array  # index width: edges from the root
    root: Array  # index width: rows of the whole graph


@dataclass(frozen=True)
class _TreeParts:
    """The parts of trees that edges between own rows connect."""

    part: Array  # index width [n]: the number of each own row's part, from 0
    owners: Owners  # of the parts of all ranks, in the order of ranks
    ends_tour: Array  # bool [P]: whether a part has its tree's root
    enters: Array  # index width [P]: the own row at which a part is rooted


@dataclass(frozen=True)
class _EdgesAbove:
    """The edges above parts: the own row that each enters, the row above it, of any rank, and its weight."""

    row: Array
    above: Array
    weight: Array


def root_forest(shard: Shard, communicator: Communicator, forest: Forest) -> RootedRows:
    """Root a forest of all ranks on CPUs. A collective.

    Args:
        forest: The labels of the own rows, and the edges whose `src` is one of them. The edges of all ranks must have no cycle,
            and each tree one label, which is in it; of others some answer is returned.
    """
    rows, start = Owners(shard.bounds, communicator), shard.rows.start
    src, is_inner = forest.src - start, (forest.dst >= start) & (forest.dst < shard.rows.stop)
    inner = src[is_inner], forest.dst[is_inner] - start
    parts = _parts(communicator, forest.labels, start, inner)
    across = np.flatnonzero(~is_inner)
    entries = _entries(rows, parts, src[across], forest.dst[across], forest.weights[across])
    at = parts.part[entries.row]
    parts.enters[at] = entries.row
    parent, edge, depth = _inside(parts, *inner)
    has_edge = np.flatnonzero(edge != NO_ROW)
    weight = np.full(len(parent), -1, forest.weights.dtype)
    weight[has_edge] = forest.weights[is_inner][edge[has_edge]]
    parent[has_edge] += start
    parent[entries.row], weight[entries.row] = entries.above, entries.weight
    depth += _depths(rows, parts, at, entries.above, depth)[parts.part]
    return RootedRows(parent, weight, depth, forest.labels)


def _parts(communicator: Communicator, labels: Array, start: int, inner: tuple[Array, Array]) -> _TreeParts:
    part = np.arange(len(labels), dtype=labels.dtype)
    _unite(frozen(inner[0]), frozen(inner[1]), part)
    flatten(part)
    number_trees(part)
    count = int(part.max(initial=-1)) + 1
    roots = np.flatnonzero(labels == np.arange(start, start + len(labels), dtype=labels.dtype))
    enters, ends_tour = np.zeros(count, labels.dtype), np.zeros(count, np.bool_)
    enters[part[::-1]] = np.arange(len(part), dtype=part.dtype)[::-1]  # a part that nothing enters is rooted somewhere
    enters[part[roots]], ends_tour[part[roots]] = roots, True
    return _TreeParts(part, Owners.of_counts(count, communicator), ends_tour, enters)


def _entries(rows: Owners, parts: _TreeParts, src: Array, dst: Array, weights: Array) -> _EdgesAbove:
    """The edges that enter parts of this rank, of the edges between parts. Args: `src` are own rows, `dst` of other ranks."""
    order = np.argsort(dst, kind="stable").astype(src.dtype)
    src, dst, weights = src[order], dst[order], weights[order]
    edges = Owners.of_counts(len(dst), rows.communicator)
    # An edge's arcs are 2e and 2e + 1; the first leaves `src`
    kind = index_dtype(2 * int(edges.bounds[-1]) + 1)
    arcs = Owners(2 * edges.bounds, rows.communicator)
    out = np.arange(arcs.start, arcs.stop, 2, dtype=kind)
    here, back = rows.send(dst, out + 1)
    tails, numbers = np.concatenate([parts.part[src], parts.part[here]]), np.concatenate([out, back])
    del here, back
    left = _ranked(arcs, _tours(parts, tails, numbers, arcs))
    down = left[::2] > left[1::2]
    del left, tails, numbers
    above = (src + rows.start).astype(src.dtype)
    mine = ~down
    here, sent, weight = rows.send(dst[down], above[down], weights[down])
    return _EdgesAbove(*map(np.concatenate, ([src[mine], here.astype(src.dtype)], [dst[mine], sent], [weights[mine], weight])))


def _tours(parts: _TreeParts, tails: Array, numbers: Array, arcs: Owners) -> Array:
    """The arc behind each of this rank's arcs; `_END` behind the last one of a tour.

    The arc behind (u, v) is the one that follows (v, u) around v. A tour ends before the first arc of its root.

    Args:
        tails, numbers: The parts that arcs of this and other ranks leave, and the arcs' numbers.
    """
    order = np.argsort(tails, kind="stable")
    tails, numbers = tails[order], numbers[order]
    begins = np.ones(len(tails), np.bool_)
    begins[1:] = tails[1:] != tails[:-1]
    ends = np.roll(begins, -1)
    around = np.roll(numbers, -1)
    around[ends] = numbers[begins]
    around[ends & parts.ends_tour[tails]] = _END
    reverse = numbers ^ 1
    order = np.argsort(reverse)
    here, sent = arcs.send(reverse[order], around[order])
    behind = np.full(len(arcs.own), _END, numbers.dtype)
    behind[here] = sent
    return behind


def _ranked(arcs: Owners, behind: Array) -> Array:
    """The number of arcs from each of this rank's arcs to the end of its tour."""
    left = np.ones_like(behind)
    for _ in range(int(arcs.bounds[-1]).bit_length() + 1):  # a cycle has no end
        waits = np.flatnonzero(behind != _END)
        if not arcs.communicator.any(len(waits)):
            break
        further, steps = arcs.request(behind[waits], behind, left)
        behind[waits] = further
        left[waits] += steps
    return left


def _inside(parts: _TreeParts, near: Array, far: Array) -> tuple[Array, Array, Array]:
    """The parent, as an own row, the edge to it, and the depth of each row in its part: NO_ROW and 0 where it is rooted."""
    size = len(parts.part)
    parent, edge, depth = (np.full(size, NO_ROW, parts.part.dtype) for _ in range(3))
    degree, link, is_root = np.zeros_like(parent), np.zeros_like(parent), np.zeros(size, np.bool_)
    is_root[parts.enters] = True
    ends = frozen(near), frozen(far)
    count(*ends, frozen(parts.enters[parts.part[near]]), 0, len(near), is_root, degree, link)
    peel(*ends, is_root, 0, size, degree, link, parent, edge)
    descend(parent, 0, size, depth)
    return parent, edge, depth


def _depths(rows: Owners, parts: _TreeParts, at: Array, above: Array, inside: Array) -> Array:
    """The depth of the row at which each part of this rank is rooted; `above` are the rows above the parts `at`."""
    up, deep = np.full(len(parts.enters), _END, index_dtype(int(parts.owners.bounds[-1]) + 1)), np.zeros_like(parts.enters)
    numbers = parts.part.astype(up.dtype) + up.dtype.type(parts.owners.start)
    up[at], steps = rows.request(above, numbers, inside)
    deep[at] = steps + 1
    for _ in range(int(parts.owners.bounds[-1]).bit_length() + 1):
        waits = np.flatnonzero(up != _END)
        if not rows.communicator.any(len(waits)):
            break
        further, steps = parts.owners.request(up[waits], up, deep)
        up[waits] = further
        deep[waits] += steps
    return deep


@njit(cache=True, nogil=True)
def _unite(near: Array, far: Array, parent: Array) -> None:
    for edge in range(len(near)):
        unite(parent, near[edge], far[edge])


def wrong_row(shard: Shard, communicator: Communicator, rooted: RootedRows, forest: Forest) -> int:
    """The least position, by external id, of a row for which a rule of `kernels.forest.rooted.RULES` fails; -1 if none does.

    Each edge has to be that of one vertex, its lower end: then there are E vertices with parents, and V - E roots. A collective.

    Args:
        rooted: Its arrays may be any. Rows are -1 or in the graph.
        forest: As in `root_forest`.
    """
    rows, own = Owners(shard.bounds, communicator), shard.local_rows[: len(shard.ids)]
    parent, weight, depth, root = rooted.parent, rooted.weight, rooted.depth, rooted.root
    alone = (parent == NO_ROW) & (weight == -1) & (depth == 0) & (root == own)
    wrong = ~np.where(parent == NO_ROW, alone, depth > 0) | (root != forest.labels)
    first = int(shard.positions[wrong].min(initial=shard.num_vertices))
    for block in rows.blocks(len(forest.src), forest.src):
        src, dst = forest.src[block] - rows.start, forest.dst[block]
        position, *far = rows.request(dst, shard.positions, parent, weight, depth, root)
        near = [column[src] for column in (shard.positions, parent, weight, depth, root)]
        is_lower, is_upper = near[1] == dst, far[0] == own[src]  # `src`
        weights, deeper = np.where(is_lower, near[2], far[1]), np.where(is_lower, near[3] - far[2], far[2] - near[3])
        bad = (is_lower == is_upper) | (weights != forest.weights[block]) | (deeper != 1) | (near[4] != far[3])
        first = int(np.where(is_lower, near[0], position)[bad].min(initial=first))
    first = communicator.min(first)
    if first < shard.num_vertices:
        return first
    parents = communicator.sum(int(np.count_nonzero(parent != NO_ROW)))
    return -1 if parents == communicator.sum(len(forest.src)) else 0
