"""Spanning forest of least weight whose vertices and edges are on several ranks: Borůvka's rounds between the ranks.

Sanders and Schimek, Engineering Massively Parallel MST Algorithms, IPDPS 2023: every vertex takes its lightest edge, chains of
taken edges are shortened to stars, and each star becomes one vertex. As soon as few edges remain, every rank gathers them and
finishes without further messages. Edges stay on their rank: only each rank's lightest edge of a vertex is sent to the vertex's
owner.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kernels.arrays import frozen, is_cupy_array
from kernels.components.union_find import flatten, unite
from kernels.cpu.compiled import njit
from kernels.distributed.columns import distinct, indexed, lower_at
from kernels.distributed.owners import Owners
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array

GATHERED = 1 << 16  # edges of all ranks together that every rank may hold: 3 MiB


class RankedEdges(NamedTuple):
    """Edges of a rank, ordered by (weight, low, high), in which only parallel edges are equal.

    All arrays are NumPy's or all are CuPy's, the same on all ranks.
    """

    # near, far: integer [E]: numbers of the vertices at the endpoints.
    near: Array
    far: Array
    # weight, low, high: [E].
    weight: Array
    low: Array
    high: Array

    def take(self, places: Array) -> "RankedEdges":
        """The edges at these indices."""
        return RankedEdges(*(column[places] for column in self))


def join(owners: Owners, edges: RankedEdges, gathered: int) -> tuple[Array, Array]:
    """Find the forest of least weight. A collective.

    Args:
        owners: Of the vertices.
        edges: Of this rank, between vertices of any rank.
        gathered: Most edges, of all ranks together, that each rank may hold in order to finish without further messages.

    Returns:
        root (type of the numbers): For each own vertex, the number of one vertex of its tree, the same for the whole tree.
        chosen (int64): Indices in `edges` of those in the forest, ascending. Of parallel edges on several ranks, one or more are
            chosen.
    """
    place = _order(edges.weight, edges.low, edges.high).astype(edges.near.dtype)
    edges, chosen = edges.take(place), [place[:0]]
    root = np.arange(owners.own.start, owners.own.stop, dtype=edges.near.dtype, like=edges.near)
    while True:
        needed = np.flatnonzero(_needed(edges))
        edges, place = edges.take(needed), place[needed]
        if owners.communicator.sum(len(needed)) <= gathered:
            break
        edges, taken, left = _round(owners, edges, root)
        chosen.append(place[taken])
        place = place[left]
    chosen.append(place[_finish(owners, edges, root)])
    return root, distinct(np.concatenate(chosen))


def _order(*keys: Array) -> Array:
    """The stable permutation that sorts by the first key, ties by the next, and so on."""
    if is_cupy_array(keys[0]):
        from kernels.gpu.sorting import sorted_by

        return sorted_by(*keys[::-1])
    return np.lexsort(keys[::-1])


def _needed(edges: RankedEdges) -> Array:
    """Which edges may be in the forest; a GPU keeps those that close cycles until their endpoints are in one tree."""
    return edges.near != edges.far if is_cupy_array(edges.near) else _span(edges.near, edges.far)[0]


def _round(owners: Owners, edges: RankedEdges, root: Array) -> tuple[RankedEdges, Array, Array]:
    """Join each tree by its lightest edge; return the edges left, indices of those taken here, and indices of those left."""
    trees, tree = indexed(np.concatenate([edges.near, edges.far]))
    near, far = tree[: len(edges.near)], tree[len(edges.near) :]
    best = np.full_like(trees, len(near))
    for end in (near, far):
        lower_at(best, end, np.arange(len(end), dtype=best.dtype, like=best))  # in order: the first one is a tree's lightest
    winner = _hook(owners, root, trees, best, edges._replace(near=near, far=far))
    _jump(owners, root)
    joined, won = owners.request(trees, root, winner)
    near, far = joined[near], joined[far]
    left = np.flatnonzero(near != far)
    return edges._replace(near=near, far=far).take(left), best[won == owners.communicator.rank], left


def _hook(owners: Owners, root: Array, trees: Array, best: Array, edges: RankedEdges) -> Array:
    """Let the root of each tree be the tree that its lightest edge leads to; return the rank that has this edge.

    Args:
        trees: The trees at the ends of this rank's `edges`, which are numbered among these.
        best: The lightest one of those edges, for each of the trees.
    """
    winner = np.full_like(root, -1)
    lightest = [np.empty_like(column, shape=root.shape) for column in (edges.weight, edges.low, edges.high)]
    for block in owners.blocks(len(trees), root):
        edge = edges.take(best[block])
        numbers = np.arange(block.start, block.start + len(edge.near), dtype=trees.dtype, like=trees)
        others = trees[np.where(edge.near == numbers, edge.far, edge.near)]
        rank = np.full_like(others, owners.communicator.rank)
        here, other, *keys, source = owners.send(trees[block], others, edge.weight, edge.low, edge.high, rank)
        # Of one sender they ascend, so a part in which they do names no tree twice
        cuts = [0, *(np.flatnonzero(here[1:] <= here[:-1]) + 1).tolist(), len(here)]
        for begin, end in pairwise(cuts):
            those, offered = here[begin:end], [column[begin:end] for column in keys]
            less = np.flatnonzero((winner[those] < 0) | _less(offered, [column[those] for column in lightest]))
            those = those[less]
            root[those], winner[those] = other[begin:end][less], source[begin:end][less]
            for column, of_edge in zip(lightest, offered, strict=True):
                column[those] = of_edge[less]
    hooked = np.flatnonzero(winner >= 0)
    # Two trees that take the same edge lead to each other: the smaller number becomes the root of both. No cycle is longer.
    (back,) = owners.request(root[hooked], root)
    number = hooked + owners.own.start
    root[hooked] = np.where((back == number) & (number < root[hooked]), number, root[hooked])
    return winner


def _less(one: list[Array], other: list[Array]) -> Array:
    """Whether edges are less than others, by weight, low and high."""
    ends = (one[1] < other[1]) | ((one[1] == other[1]) & (one[2] < other[2]))
    less: Array = (one[0] < other[0]) | ((one[0] == other[0]) & ends)
    return less


def _jump(owners: Owners, root: Array) -> None:
    """Replace every root by its root, until all are roots."""
    changed = True
    while changed:
        below = np.flatnonzero(root != np.arange(owners.own.start, owners.own.stop, like=root))
        (above,) = owners.request(root[below], root)
        changed = owners.communicator.any(np.count_nonzero(above != root[below]))
        root[below] = above


def _finish(owners: Owners, edges: RankedEdges, root: Array) -> Array:
    """Gather the edges of all ranks and join their endpoints; return indices of this rank's edges that were taken."""
    owners.supersteps += 1
    communicator = owners.communicator
    parts = [communicator.gather(to_host(column)) for column in edges]
    gathered = RankedEdges(*(np.concatenate(part) for part in parts))
    order = _order(gathered.weight, gathered.low, gathered.high)
    needed, ends, top = _span(gathered.near[order], gathered.far[order])
    if len(ends):
        ends, top = np.asarray(ends, like=root), np.asarray(top, like=root)
        place = np.minimum(np.searchsorted(ends, root), len(ends) - 1)
        root[:] = np.where(ends[place] == root, top[place], root)
    taken = order[needed] - sum(len(part) for part in parts[0][: communicator.rank])
    return np.asarray(taken[(taken >= 0) & (taken < len(edges.near))], like=root)


def _span(near: Array, far: Array) -> tuple[Array, Array, Array]:
    """Take each edge that joins two trees, in order; return which, the vertices ascending, and the root of each vertex."""
    vertices, ends = indexed(np.concatenate([near, far]))
    parent = np.arange(len(vertices), dtype=ends.dtype)
    needed = _unite(parent, frozen(ends[: len(near)]), frozen(ends[len(near) :]))
    return needed, vertices, vertices[parent]


def unite_all(count: int, near: Array, far: Array) -> Array:
    """Return, for each of the numbers 0 to `count` - 1, the smallest number that the edges join it to; NumPy arrays."""
    parent = np.arange(count, dtype=OFFSET)
    _unite(parent, frozen(near), frozen(far))
    return parent


@njit(cache=True, nogil=True)
def _unite(parent: Array, near: Array, far: Array) -> Array:
    needed = np.empty(len(near), np.bool_)
    for edge in range(len(near)):
        needed[edge] = unite(parent, near[edge], far[edge])
    flatten(parent)
    return needed
