"""A shard as a graph of its own: what the one-worker kernels take to work to the local fixpoint."""

from __future__ import annotations

import numpy as np

from kernels.graph import ID, Array, Csr, Graph
from kernels.sharded.shard import Shard


def local_graph(shard: Shard) -> Graph:
    """Return the own rows, the ghosts, and all arcs that the rank knows, by local numbers.

    Unlike in `shard.local_out`, ghosts have their arcs to and from own rows, so that `into` is the transpose of `out`.
    The external ids are the places in the order of all external ids: they compare as those do.

    Notes
    -----
    The arcs are copied: memory for the shard's arcs once more.
    """
    ranks = np.concatenate([shard.ranks, shard.ghost_ranks])
    out = _with_ghosts(shard.local_out, shard.local_into, shard.num_ghosts, ranks)
    into = out if shard.symmetric else _with_ghosts(shard.local_into, shard.local_out, shard.num_ghosts, ranks)
    return Graph(ranks.astype(ID), np.argsort(ranks).astype(shard.ghosts.dtype), out, into)


def _with_ghosts(csr: Csr, back: Csr, num_ghosts: int, ranks: Array) -> Csr:
    """Append the ghosts' rows: the arcs of the other direction, `back`, that lead to ghosts, from their other ends."""
    num_own = len(csr.offsets) - 1 - num_ghosts
    arcs = np.flatnonzero(back.indices >= num_own)
    own: Array
    own, ghost = np.searchsorted(back.offsets, arcs, side="right") - 1, back.indices[arcs]
    order = np.lexsort((ranks[own], ghost))  # stable: parallel arcs still ascend by weight
    stops = csr.offsets[num_own] + np.cumsum(np.bincount(ghost - num_own, minlength=num_ghosts))
    offsets = np.concatenate([csr.offsets[: num_own + 1], stops.astype(csr.offsets.dtype)])
    indices = np.concatenate([csr.indices, own[order].astype(csr.indices.dtype)])
    weights = None if csr.weights is None or back.weights is None else np.concatenate([csr.weights, back.weights[arcs[order]]])
    return Csr(offsets, indices, weights)
