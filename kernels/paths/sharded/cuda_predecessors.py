"""The unique predecessors of final lengths over shards, on the GPU: `kernels.paths.predecessors` says which they are."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Csr, distance_dtype
from kernels.paths.sharded.cuda_facts import kept
from kernels.paths.sharded.cuda_long_paths import count_hops
from kernels.sssp.cuda import WAITS, nearest_tight, rows_by_degree

_THREADS = 512


def complete(halo: Halo, source: int, lengths: Array, sums: np.dtype[Any]) -> tuple[Array, Array, int] | None:
    """Find distances and predecessors; a collective.

    Parameters
    ----------
    halo : Halo
    source : int
        Its local number; NO_ROW where another rank owns it.
    lengths : uint32 or uint64 [n + g]
        Final ones of the own rows, as kernels/paths/lengths.cuh encodes them. The ghosts' are brought.
    sums : dtype
        Type in which weights are summed.

    Returns
    -------
    distance : int64 or float64 [n]
    predecessor : index width [n]
        Rows of the whole graph.
    supersteps : int

    Or None, on all ranks, where a sum did not fit.
    """
    shard, into = halo.shard, halo.shard.local_into
    num_own = len(shard.ids)
    lengths[num_own:] = halo.refresh(lengths[:num_own])
    distance, predecessor = cupy.empty(num_own, distance_dtype(into.weights)), cupy.empty(num_own, shard.ghosts.dtype)
    by_degree = kept(shard, "rows by in-degree", _rows_by_in_degree)
    found = nearest_tight(into, source, *by_degree, sums, lengths, distance, predecessor)
    waits, beyond = halo.communicator.most(cupy.asnumpy(found[:1]).view(np.uint32)).tolist()
    if beyond:
        return None
    supersteps = _follow_zero_steps(halo, lengths, sums, predecessor) if waits else 0
    name_rows(shard, predecessor)
    return distance, predecessor, supersteps


def name_rows(shard: Shard, predecessor: Array) -> None:
    """Turn local numbers into rows of the whole graph, in place."""
    num_own = len(shard.ids)
    types = {"ROW": predecessor.dtype, "WEIGHT": np.dtype(np.int32), "SUM": np.dtype(np.int32)}
    size, start = np.int64(num_own), np.int64(shard.rows.start)
    launch("paths/sharded/predecessors.cu", "name_rows", _THREADS, num_own, size, start, shard.ghosts, predecessor, **types)


def _rows_by_in_degree(shard: Shard) -> tuple[Array, Array]:
    return rows_by_degree(shard.local_into)


def _follow_zero_steps(halo: Halo, lengths: Array, sums: np.dtype[Any], predecessor: Array) -> int:
    """Find the predecessors of the rows that wait: a search along arcs of no length from all other reached rows at once."""
    shard = halo.shard
    out = _of_no_length(shard.local_out, lengths, sums)
    into = out if shard.symmetric else _of_no_length(shard.local_into, lengths, sums)
    waiting = predecessor == WAITS
    starts = ~waiting & (cupy.diff(out.offsets[: len(predecessor) + 1]) > 0)
    _, nearest, supersteps = count_hops(halo, out, into, cupy.flatnonzero(starts).astype(predecessor.dtype))
    cupy.copyto(predecessor, nearest, where=waiting)
    return supersteps


def _of_no_length(csr: Csr, lengths: Array, sums: np.dtype[Any]) -> Csr:
    """The arcs between reached rows that add nothing to a length."""
    num_rows = len(csr.offsets) - 1
    weights: Array = csr.weights
    arcs = (csr.offsets, csr.indices, weights, lengths, np.int64(num_rows))
    types = {"ROW": csr.indices.dtype, "WEIGHT": weights.dtype, "SUM": sums}
    offsets = cupy.zeros(num_rows + 1, OFFSET)
    source, threads = "paths/sharded/predecessors.cu", 32 * num_rows
    launch(source, "count_zero_steps", _THREADS, threads, *arcs, offsets[1:], **types)
    offsets = cupy.cumsum(offsets)
    indices = cupy.empty(int(offsets[-1]), csr.indices.dtype)
    launch(source, "list_zero_steps", _THREADS, threads, *arcs, offsets, indices, **types)
    return Csr(offsets, indices, None)
