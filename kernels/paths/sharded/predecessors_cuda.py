"""The unique predecessors of final lengths over shards on the GPU; `kernels.paths.predecessors_cpu` defines them."""

from typing import Any

import cupy
import numpy as np

from kernels.distributed import Halo, Shard
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Csr
from kernels.paths.constants import THREADS, WAITS
from kernels.paths.predecessors_cuda import large_rows_of, nearest_tight, types_of
from kernels.paths.sharded.long_paths_cuda import count_hops

_SOURCE = "paths/sharded/predecessors.cu"


def paths_of_lengths(halo: Halo, source: int, lengths: Array, sums: np.dtype[Any]) -> tuple[Array, Array, int] | None:
    """Find distances and predecessors; a collective.

    Args:
        source: Its local row; NO_ROW if another rank owns it.
        lengths (uint32 or uint64 [n + g]): Final lengths of the own rows, encoded as in kernels/paths/lengths.cuh; those of
            ghosts are received.
        sums: Type in which weights are summed.

    Returns:
        distance: int64 or float64 [n].
        predecessor (index width [n]): Global rows.
        supersteps.
        Or None, on all ranks, if a sum did not fit.
    """
    shard, into = halo.shard, halo.shard.local_into
    num_own = len(shard.ids)
    lengths[num_own:] = halo.refresh(lengths[:num_own])
    large_rows = shard.derived.get(large_rows_of, lambda: large_rows_of(into))
    nearest = nearest_tight(into, num_own, source, large_rows, sums, lengths)
    waits, beyond = halo.communicator.most(nearest.flags).tolist()
    if beyond:
        return None
    supersteps = _follow_zero_steps(halo, lengths, sums, nearest.predecessor) if waits else 0
    to_global_rows(shard, nearest.predecessor)
    return nearest.distance, nearest.predecessor, supersteps


def to_global_rows(shard: Shard, predecessor: Array) -> None:
    """Turn local rows into rows of the whole graph, in place; negative entries stay."""
    num_own = len(shard.ids)
    arguments = np.int64(num_own), np.int64(shard.rows.start), shard.ghosts, predecessor
    launch(_SOURCE, "to_global_rows", THREADS, num_own, *arguments,
           ROW=predecessor.dtype, WEIGHT=np.dtype(np.int32), SUM=np.dtype(np.int32))  # fmt: skip


def _follow_zero_steps(halo: Halo, lengths: Array, sums: np.dtype[Any], predecessor: Array) -> int:
    """Find the predecessors of the waiting rows: a search along arcs of length zero from all other reached rows at once."""
    shard = halo.shard
    out = _arcs_of_length_zero(shard.local_out, lengths, sums)
    into = out if shard.symmetric else _arcs_of_length_zero(shard.local_into, lengths, sums)
    waiting = predecessor == WAITS
    starts = ~waiting & (cupy.diff(out.offsets[: len(predecessor) + 1]) > 0)
    counted = count_hops(halo, out, into, cupy.flatnonzero(starts).astype(predecessor.dtype))
    assert counted is not None  # without a limit
    _, nearest, supersteps = counted
    cupy.copyto(predecessor, nearest, where=waiting)
    return supersteps


def _arcs_of_length_zero(csr: Csr, lengths: Array, sums: np.dtype[Any]) -> Csr:
    """The arcs between reached rows that add nothing to a length."""
    num_rows = len(csr.offsets) - 1
    arcs = csr.offsets, csr.indices, csr.weights, lengths, np.int64(num_rows)
    types, threads = types_of(csr, sums), 32 * num_rows
    offsets = cupy.zeros(num_rows + 1, OFFSET)
    launch(_SOURCE, "count_zero_steps", THREADS, threads, *arcs, offsets[1:], **types)
    offsets = cupy.cumsum(offsets)
    indices = cupy.empty(int(offsets[-1]), csr.indices.dtype)
    launch(_SOURCE, "list_zero_steps", THREADS, threads, *arcs, offsets, indices, **types)
    return Csr(offsets, indices, None)
