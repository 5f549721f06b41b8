"""Which trees of the ranks hang together: label rounds over a graph that no rank has whole.

FastSV (Zhang, Azad, Hu: A distributed-memory algorithm for connected components with fast convergence, SIAM PP 2020), after
Shiloach and Vishkin: every vertex keeps a smaller vertex of its component, in a round it takes a neighbour's grandparent for
itself and for its parent, and its own grandparent. About log V rounds; each exchanges no more than the ghosts.
"""

from __future__ import annotations

import numpy as np

from kernels.certificate.directory import Directory
from kernels.certificate.global_view import Whole
from kernels.distributed.columns import lower_at
from kernels.distributed.halo import Halo
from kernels.graph import OFFSET, Array


def components(whole: Whole, halo: Halo, root: Array) -> Array:
    """Name the components that all ranks' trees make together.

    Parameters
    ----------
    whole : Whole
    halo : Halo
    root : [n + g]
        The root of each local number's tree, by the rank's own arcs in both directions.

    Returns
    -------
    int64 [n]
        A number for each own row, equal for two rows of any ranks if and only if arcs connect them.
    """
    shard, communicator = whole.shard, whole.communicator
    num_own = len(shard.ids)
    # What has no ghost touches no other rank: an arc between two ranks is known to both.
    touching, tree = np.unique(root[num_own:], return_inverse=True)
    bounds = _bounds(whole, len(touching))
    vertices = Directory(bounds, communicator)
    number = np.full_like(root, -1, OFFSET, shape=(len(root),))
    number[touching] = vertices.start + np.arange(len(touching), like=root)
    number = number[root[:num_own]]
    edges = np.stack([tree, halo.refresh(number)])
    top = join(vertices, *edges)
    alone = shard.rows.start + root[:num_own].astype(OFFSET)
    place = np.maximum(number - vertices.start, 0)
    return np.where(number < 0, alone, shard.num_vertices + top[place]) if len(top) else alone


def _bounds(whole: Whole, count: int) -> Array:
    counts = np.concatenate(whole.communicator.gather(np.array([count], OFFSET)))
    return np.concatenate([np.zeros(1, OFFSET), np.cumsum(counts)])


def join(vertices: Directory, near: Array, far: Array) -> Array:
    """Return the smallest vertex of each own vertex's component, int64.

    Parameters
    ----------
    vertices : Directory
    near, far : int64 [E]
        The ends of edges: the place of an own vertex, and the number of one of another rank, which has the edge too.
    """
    top = np.arange(vertices.start, vertices.stop, dtype=OFFSET, like=near)
    above, changed = top, True
    while changed:
        (offered,) = vertices.ask(far, above)
        following = np.minimum(top, above)
        lower_at(following, near, offered)
        _offer(vertices, top[near], offered, following)
        (above,) = vertices.ask(following, following)
        changed = bool(vertices.communicator.most(np.array([int((following != top).any())]))[0])
        top = following
    return top


def _offer(vertices: Directory, parents: Array, offered: Array, following: Array) -> None:
    """Lower the parents', of any rank, to what is offered."""
    told, place = np.unique(parents, return_inverse=True)
    least = np.full_like(parents, np.iinfo(OFFSET).max, OFFSET, shape=(len(told),))
    lower_at(least, place, offered)
    here, least = vertices.tell(told, least)
    lower_at(following, here, least)
