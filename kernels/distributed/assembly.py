"""Making shards: from the rows of a stored graph, and from a shard on the CPU for a GPU."""

from collections.abc import Sequence

import numpy as np

from kernels.arrays import ArcMemory, is_cupy, is_cupy_array
from kernels.distributed.columns import distinct
from kernels.distributed.dealing import Dealing
from kernels.distributed.searching import places_upto
from kernels.distributed.shard import LocalArcs, Shard, StoredRows, in_local_rows
from kernels.graph import Array, Csr, joined_offsets

_BLOCK = 1 << 16  # rows of `rows_by_id` that are read at a time
_ARCS = 1 << 20  # arcs whose heads are sorted at a time


def assemble(rank: int, dealing: Dealing, stored: StoredRows, gpu: ArcMemory | None = None) -> Shard:
    """Make a shard from a rank's rows.

    `gpu` is None for arrays like those given. Otherwise the shard's arrays are CuPy's, on the current GPU, and its arcs are in
    this memory (`to_device`); the given arrays may still be NumPy's. This way has the smallest peak of memory.
    """
    if gpu or is_cupy(stored.out[0]):
        from kernels.distributed.gpu import assembly as cuda

        return cuda.assemble(rank, dealing, stored, gpu or "device")
    start, stop = dealing.bounds[rank : rank + 2].tolist()
    directions = [_joined(blocks, dealing) for blocks in stored.directions]
    ghosts = ghosts_of(range(start, stop), directions)
    sides = []
    while directions:  # one after the other, so that heads by rows of the graph are freed before the next ones are numbered
        local = in_local_rows(directions.pop(0), range(start, stop), ghosts)
        sides.append(LocalArcs(local, start, stop - start, ghosts))
    positions = np.empty(stop - start, ghosts.dtype)
    ghost_positions = np.empty_like(ghosts)
    for first in range(0, len(stored.rows_by_id), _BLOCK):
        rows = dealing.dealt(np.asarray(stored.rows_by_id[first : first + _BLOCK]))
        own = np.flatnonzero((rows >= start) & (rows < stop))
        positions[rows[own] - start] = first + own
        if len(ghosts):
            places = np.maximum(places_upto(ghosts, rows) - 1, 0)
            known = np.flatnonzero(ghosts[places] == rows)
            ghost_positions[places[known]] = first + known
    return Shard(rank, dealing.bounds, stored.ids, positions, sides[0], sides[-1], ghosts, ghost_positions, stored.directed)


def to_device(shard: Shard, arcs: ArcMemory = "device") -> Shard:
    """Copy a shard to CuPy arrays on the current GPU; one that is there already is copied, too.

    Args:
        arcs ("device" or "host"): Memory of the arcs' indices and weights. "host" is pinned memory that kernels read without a
            copy, about ten times slower: for a GPU whose memory is too small. All other arrays are in the device's memory.

    Arcs are copied once and numbered in place; meanwhile the device holds a quarter of a byte for each row of the whole graph.
    """
    from kernels.distributed.gpu import assembly as cuda

    return cuda.to_device(shard, arcs)


def ghosts_of(rows: range, directions: Sequence[Csr]) -> Array:
    """The rows that arcs of `rows` lead to or come from, without `rows` themselves; ascending, distinct."""
    if is_cupy_array(directions[0].indices):
        from kernels.distributed.gpu import numbering as cuda

        return cuda.ghosts_of(rows, [csr.indices for csr in directions])
    foreign = [csr.indices[:0] for csr in directions]
    for csr in directions:
        for first in range(0, len(csr.indices), _ARCS):
            heads = csr.indices[first : first + _ARCS]
            foreign.append(distinct(heads[(heads < rows.start) | (heads >= rows.stop)]))
    return distinct(np.concatenate(foreign))


def _joined(blocks: Sequence[Csr], dealing: Dealing) -> Csr:
    """The arcs of all blocks, to dealt rows; a single block of a graph that keeps its numbers is not copied."""
    if len(blocks) == 1 and dealing.keeps:
        return blocks[0]
    offsets = joined_offsets(blocks)
    indices = np.empty(offsets[-1], blocks[0].indices.dtype)
    begin = 0
    for block in blocks:
        dealing.dealt(block.indices, indices[begin : begin + len(block.indices)])
        begin += len(block.indices)
    weights = [block.weights for block in blocks if block.weights is not None]
    return Csr(offsets, indices, np.concatenate(weights) if weights else None)
