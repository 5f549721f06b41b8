"""Components of the trees that the ranks have grown, by label rounds over a graph that no rank holds as a whole.

FastSV (Zhang, Azad, Hu: A distributed-memory algorithm for connected components with fast convergence, SIAM PP 2020), after
Shiloach and Vishkin: every vertex keeps a smaller vertex of its component. In a round it takes a neighbour's grandparent for
itself and for its parent, and its own grandparent. There are about log V rounds; each exchanges at most one value per ghost.
"""

import numpy as np

from kernels.certificate.global_view import GlobalView
from kernels.distributed import Halo, Owners
from kernels.distributed.columns import lower_at
from kernels.graph import OFFSET, Array


def components(view: GlobalView, halo: Halo, root: Array) -> Array:
    """Number the components that all ranks' trees form together.

    Args:
        root ([n + g]): The root of each local row's tree, which the arcs of own rows connect in both directions.

    Returns:
        int64 [n]: A number for each own row, equal for two rows of any ranks if and only if arcs connect them.
    """
    shard, num_own = view.shard, len(view.shard.ids)
    # Both ranks have an arc between them, so only trees with ghosts touch other ranks.
    touching, tree = np.unique(root[num_own:], return_inverse=True)
    vertices = Owners.of_counts(len(touching), view.communicator)
    number = np.full_like(root, -1, OFFSET, shape=(len(root),))
    number[touching] = vertices.start + np.arange(len(touching), like=root)
    number = number[root[:num_own]]
    least = _least_connected(vertices, tree, halo.refresh(number))
    inner: Array = shard.rows.start + root[:num_own].astype(OFFSET)
    place = np.maximum(number - vertices.start, 0)
    return np.where(number < 0, inner, shard.num_vertices + least[place]) if len(least) else inner


def _least_connected(vertices: Owners, near: Array, far: Array) -> Array:
    """Return the smallest vertex of each own vertex's component, int64.

    Args:
        near, far (int64 [E]): The ends of edges: the place of an own vertex, and the number of one of another rank, which has the
            edge too.
    """
    parent = np.arange(vertices.start, vertices.stop, dtype=OFFSET, like=near)
    grandparent, changed = parent, True
    while changed:
        (offered,) = vertices.request(far, grandparent)
        following = np.minimum(parent, grandparent)
        lower_at(following, near, offered)
        _lower_parents(vertices, parent[near], offered, following)
        (grandparent,) = vertices.request(following, following)
        changed = vertices.communicator.any((following != parent).any())
        parent = following
    return parent


def _lower_parents(vertices: Owners, parents: Array, offered: Array, following: Array) -> None:
    """Lower `following` of `parents` [E], vertices of any rank, to `offered` [E]."""
    distinct, place = np.unique(parents, return_inverse=True)
    least = np.full_like(parents, np.iinfo(OFFSET).max, OFFSET, shape=(len(distinct),))
    lower_at(least, place, offered)
    here, least = vertices.send(distinct, least)
    lower_at(following, here, least)
