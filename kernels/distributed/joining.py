"""What edges join, where neither the vertices nor the edges are on one rank: a forest of least weight, by Borůvka's rounds.

Sanders and Schimek, Engineering Massively Parallel MST Algorithms, IPDPS 2023: every vertex takes its lightest edge, chains of
taken edges are shortened to stars, and what a star joins is one vertex from then on; when little is left, all ranks have it
and finish by themselves. An edge stays where it is: only each rank's best offer for a vertex goes to the vertex's owner.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kernels.arrays import frozen, is_cupy_array
from kernels.cpu.union_find import flatten, unite
from kernels.distributed.columns import distinct
from kernels.distributed.owners import Owners
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array

GATHERED = 1 << 16  # edges, of all ranks together, that every rank may have: 3 MiB


class Edges(NamedTuple):
    """Edges that a rank has, in the order (weight, low, high), which has no ties but between copies of one edge.

    All arrays are NumPy's or all are CuPy's, on all ranks alike.

    Attributes
    ----------
    near, far : int64 [E]
        Numbers of the vertices at the ends.
    weight, low, high : [E]
    """

    near: Array
    far: Array
    weight: Array
    low: Array
    high: Array

    def take(self, places: Array) -> Edges:
        """The edges at these places."""
        return Edges(*(column[places] for column in self))


def join(owners: Owners, edges: Edges, gathered: int) -> tuple[Array, Array]:
    """Find the forest of least weight.

    Parameters
    ----------
    owners : Owners
        Of the vertices.
    edges : Edges
        Of this rank, between vertices of any rank.
    gathered : int
        Most edges, of all ranks together, that each rank may hold to finish by itself.

    Returns
    -------
    root : int64
        For each own vertex, the number of one vertex of its tree, the same for all of the tree.
    chosen : int64
        Places in `edges` of those in the forest, ascending. Of copies of an edge on several ranks, one or more are.
    """
    place = _order(edges.weight, edges.low, edges.high)
    edges, chosen = edges.take(place), [place[:0]]
    root = np.arange(owners.own.start, owners.own.stop, dtype=OFFSET, like=edges.near)
    while True:
        needed = np.flatnonzero(_needed(edges))
        edges, place = edges.take(needed), place[needed]
        if int(owners.communicator.total(np.array([len(needed)], OFFSET))[0]) <= gathered:
            break
        edges, taken, left = _round(owners, edges, root)
        chosen.append(place[taken])
        place = place[left]
    chosen.append(place[_finish(owners, edges, root)])
    return root, distinct(np.concatenate(chosen))


def _order(*keys: Array) -> Array:
    """The permutation that sorts by the first key, ties by the next, and so on, in the order they are in."""
    if is_cupy_array(keys[0]):
        from kernels.gpu.sorting import sorted_by

        return sorted_by(*keys[::-1])
    return np.lexsort(keys[::-1])


def _needed(edges: Edges) -> Array:
    """Which edges may be in the forest; a GPU leaves those that close cycles until they are inside a tree."""
    return edges.near != edges.far if is_cupy_array(edges.near) else _span(edges.near, edges.far)[0]


def _round(owners: Owners, edges: Edges, root: Array) -> tuple[Edges, Array, Array]:
    """Join each tree by its lightest edge; return the edges left, places of those taken here, and places of those left."""
    ends = np.stack([edges.near, edges.far], axis=1).ravel()
    trees, first, tree = np.unique(ends, return_index=True, return_inverse=True)
    best = first // 2  # the edges are in order: the first one is a tree's lightest
    rank = owners.communicator.rank
    winner = _hook(owners, root, trees, ends[first ^ 1], edges.take(best), np.full_like(trees, rank, OFFSET, shape=(len(trees),)))
    _jump(owners, root)
    joined, won = owners.ask(trees, root, winner)
    near, far = joined[tree].reshape(-1, 2).T
    left = np.flatnonzero(near != far)
    return edges._replace(near=near, far=far).take(left), best[won == rank], left


def _hook(owners: Owners, root: Array, trees: Array, others: Array, best: Edges, rank: Array) -> Array:
    """Let the root of each tree be the tree that its lightest edge leads to; return the rank that has this edge."""
    here, other, *key, source = owners.tell(trees, others, best.weight, best.low, best.high, rank)
    weight, low, high = key
    order = _order(here, weight, low, high)
    hooked, first = np.unique(here[order], return_index=True)
    lightest = order[first]
    root[hooked] = other[lightest]
    winner = np.full_like(root, -1, OFFSET, shape=(len(root),))
    winner[hooked] = source[lightest]
    # Two trees that take the same edge lead to each other: the smaller number is the root of both. No cycle is longer.
    (back,) = owners.ask(root[hooked], root)
    number = hooked + owners.own.start
    root[hooked] = np.where((back == number) & (number < root[hooked]), number, root[hooked])
    return winner


def _jump(owners: Owners, root: Array) -> None:
    """Let every root be the root's root, until all are roots."""
    changed = True
    while changed:
        below = np.flatnonzero(root != np.arange(owners.own.start, owners.own.stop, like=root))
        (above,) = owners.ask(root[below], root)
        changed = owners.any(int(np.count_nonzero(above != root[below])))
        root[below] = above


def _finish(owners: Owners, edges: Edges, root: Array) -> Array:
    """Join what the edges of all ranks join; return places of those taken that are this rank's."""
    owners.supersteps += 1
    communicator = owners.communicator
    parts = [communicator.gather(to_host(column)) for column in edges]
    everybodys = Edges(*(np.concatenate(part) for part in parts))
    order = _order(everybodys.weight, everybodys.low, everybodys.high)
    needed, ends, top = _span(everybodys.near[order], everybodys.far[order])
    if len(ends):
        ends, top = np.asarray(ends, like=root), np.asarray(top, like=root)
        place = np.minimum(np.searchsorted(ends, root), len(ends) - 1)
        root[:] = np.where(ends[place] == root, top[place], root)
    taken = order[needed] - sum(len(part) for part in parts[0][: communicator.rank])
    return np.asarray(taken[(taken >= 0) & (taken < len(edges.near))], like=root)


def _span(near: Array, far: Array) -> tuple[Array, Array, Array]:
    """Take each edge that joins two trees, in order; return which, the vertices ascending, and the root of each vertex."""
    vertices, ends = np.unique(np.concatenate([near, far]), return_inverse=True)
    parent = np.arange(len(vertices))
    needed = _unite(parent, frozen(ends[: len(near)]), frozen(ends[len(near) :]))
    return needed, vertices, vertices[parent]


def unite_all(count: int, near: Array, far: Array) -> Array:
    """Return the smallest number that edges join each of the numbers 0 to `count` - 1 to; NumPy arrays."""
    parent = np.arange(count, dtype=OFFSET)
    _unite(parent, frozen(near), frozen(far))
    return parent


@njit(cache=True, nogil=True)
def _unite(parent, near, far):  # type: ignore[no-untyped-def]
    needed = np.empty(len(near), np.bool_)
    for edge in range(len(near)):
        needed[edge] = unite(parent, near[edge], far[edge])
    flatten(parent)
    return needed
