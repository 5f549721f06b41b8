"""A graph in memory, cut into shards."""

import numpy as np

from kernels.distributed import partition
from kernels.distributed.assembly import assemble
from kernels.distributed.dealing import Cut, Dealing
from kernels.distributed.shard import Shard, StoredRows
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr, Graph


def split(graph: Graph, bounds: Array) -> list[Shard]:
    """Cut a graph in memory into shards of the rows `bounds[r]:bounds[r + 1]` (int64 [size + 1]); the arcs are not copied."""
    return [_split_off(graph, bounds, rank) for rank in range(len(bounds) - 1)]


def even_bounds(graph: Graph, size: int) -> Array:
    """Cut the rows so that `size` ranks have about equally many arcs: int64 [size + 1]."""
    degrees = np.diff(graph.out.offsets)
    if not graph.symmetric:
        degrees = degrees + np.diff(graph.into.offsets)
    return cut_of(to_host(degrees))(size, 0)[0]


def _split_off(graph: Graph, bounds: Array, rank: int) -> Shard:
    start, stop = int(bounds[rank]), int(bounds[rank + 1])
    out = [_cut(graph.out, start, stop)]
    into = out if graph.symmetric else [_cut(graph.into, start, stop)]
    stored = StoredRows(graph.ids[start:stop], graph.rows_by_id, out, into, graph.directed)
    return assemble(rank, Dealing.contiguous(bounds), stored)


def _cut(csr: Csr, start: int, stop: int) -> Csr:
    first, last = int(csr.offsets[start]), int(csr.offsets[stop])
    weights = None if csr.weights is None else csr.weights[first:last]
    return Csr(csr.offsets[start : stop + 1] - first, csr.indices[first:last], weights)


def cut_of(degrees: Array) -> Cut:
    """Return the `Cut` of rows with these numbers of stored arcs, int64 [V], a NumPy array."""
    arcs = np.concatenate([np.zeros(1, OFFSET), np.cumsum(degrees)])

    def cut(parts: int, per_row: int) -> tuple[Array, Array]:
        cuts = np.array([0, *(rows.stop for rows in partition.cut(degrees + per_row, parts))], OFFSET)
        return cuts, arcs[cuts]

    return cut
