"""A shard as a graph of its own, on which single-rank kernels compute a rank's local fixpoint."""

import numpy as np

from kernels.arrays import frozen, is_cupy
from kernels.cpu.compiled import njit
from kernels.distributed.shard import Shard
from kernels.graph import ID, Array, Csr, Graph


def local_graph(shard: Shard) -> Graph:
    """Return the own rows, the ghosts, and all arcs that the rank has, by local rows.

    Unlike in `shard.local_out`, ghosts have their arcs to and from own rows, so that `into` is the transpose of `out`.
    The external ids are the positions in the order of all external ids: they compare as those do.

    The arcs are copied, which takes memory for the shard's arcs once more.
    """
    positions = np.concatenate([shard.positions, shard.ghost_positions])
    rows_by_id = np.argsort(positions).astype(shard.ghosts.dtype)
    own_by_id = rows_by_id[rows_by_id < len(shard.ids)]
    num_ghosts = shard.num_ghosts
    out = _with_ghosts(shard.local_out, shard.local_into, own_by_id, num_ghosts)
    into = out if shard.symmetric else _with_ghosts(shard.local_into, shard.local_out, own_by_id, num_ghosts)
    return Graph(positions.astype(ID), rows_by_id, out, into, shard.directed)


def _with_ghosts(csr: Csr, back: Csr, own_by_id: Array, num_ghosts: int) -> Csr:
    """Append the ghosts' rows: the arcs of the other direction, `back`, that lead to ghosts, reversed."""
    num_own = len(own_by_id)
    num_arcs, arcs, own = _by_ghost(back, own_by_id, num_ghosts)
    stops = csr.offsets[num_own] + np.cumsum(num_arcs)
    weights = None if csr.weights is None or back.weights is None else np.concatenate([csr.weights, back.weights[arcs]])
    offsets = np.concatenate([csr.offsets[: num_own + 1], stops])
    return Csr(offsets, np.concatenate([csr.indices, own]), weights)


def _by_ghost(back: Csr, own_by_id: Array, num_ghosts: int) -> tuple[Array, Array, Array]:
    """List the arcs to ghosts, and their own rows, by ghost, then by the own row's external id; parallel arcs keep their order.

    Returns:
        num_arcs (int64 [g]): Of each ghost.
        arcs (int64 [L]): Their indices in `back`.
        own (index width [L]): Own rows.
    """
    if is_cupy(back):
        from kernels.distributed.gpu import by_ghost as cuda

        return cuda.by_ghost(back, own_by_id)
    num_own = len(own_by_id)
    num_arcs = np.bincount(back.indices[back.indices >= num_own] - num_own, minlength=num_ghosts)
    places = np.cumsum(num_arcs) - num_arcs
    return num_arcs, *_list(frozen(back.offsets), frozen(back.indices), frozen(own_by_id), places, num_arcs.sum())


@njit(cache=True, nogil=True)
def _list(offsets: Array, indices: Array, own_by_id: Array, places: Array, num_arcs: int) -> tuple[Array, Array]:
    """Fill the lists; those of ghost i begin at `places[i]`, int64 [g], which is overwritten."""
    num_own = len(own_by_id)
    arcs, own = np.empty(num_arcs, offsets.dtype), np.empty(num_arcs, indices.dtype)
    for row in own_by_id:
        for arc in range(offsets[row], offsets[row + 1]):
            ghost = indices[arc] - num_own
            if ghost >= 0:
                arcs[places[ghost]], own[places[ghost]] = arc, row
                places[ghost] += 1
    return arcs, own
