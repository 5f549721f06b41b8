"""Weak components over shards: each rank joins what its own arcs join, then the ranks join these components.

After the local work a rank's components are vertices of a smaller graph, whose edges are the ghosts. On a road network that
graph has about as many vertices as there are ranks, however far the components reach.
"""

from __future__ import annotations

import numpy as np

from kernels import wcc as one_worker
from kernels.answers import Components
from kernels.backend import require_numpy
from kernels.sharded.communicator import Communicator
from kernels.sharded.halo import Halo
from kernels.sharded.joining import GATHERED, Edges, join
from kernels.sharded.local_graph import local_graph
from kernels.sharded.owners import Owners, smallest_ids
from kernels.sharded.shard import Part, Shard


def wcc(shard: Shard, communicator: Communicator, gathered: int = GATHERED) -> Part[Components]:
    """Find the weak components of the own rows, each named by its smallest external id. A collective.

    Parameters
    ----------
    shard : Shard
    communicator : Communicator
    gathered : int
        Most edges between local components, of all ranks together, that each rank may hold; never
        more than it has rows on average.

    Raises
    ------
    TypeError
        If the shard's arrays belong to a backend without this kernel.
    PeerLost
        See `Communicator`.
    """
    require_numpy(shard.out, "wcc over shards")
    graph = local_graph(shard)
    labels = one_worker.wcc(graph).labels
    names_itself = labels == np.arange(len(labels), dtype=labels.dtype, like=labels)
    names = np.flatnonzero(names_itself)
    component = (np.cumsum(names_itself) - 1)[labels]
    owners = Owners.of_counts(len(names), communicator)
    number = owners.own.start + component
    near, far = number[len(shard.ids) :], Halo(shard, communicator).refresh(number[: len(shard.ids)])
    edges = Edges(near, far, np.zeros(len(near), np.int8, like=near), np.minimum(near, far), np.maximum(near, far))
    root, _ = join(owners, edges, min(gathered, shard.num_vertices // communicator.size))
    smallest = smallest_ids(owners, root, graph.ids[names], shard.local_rows[names])
    return Part(Components(smallest[component[: len(shard.ids)]]), owners.supersteps + 1)
