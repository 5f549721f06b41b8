"""Shards of CuPy arrays, which keep their arcs by local rows only.

Arcs are copied once, to their final memory, and numbered in place. While a shard is made, the device also holds a quarter of a
byte for each row of the whole graph: twice that from 2^31 rows.
"""

import cupy

from kernels.arrays import ArcMemory
from kernels.distributed.dealing import Dealing
from kernels.distributed.gpu.memory import put
from kernels.distributed.gpu.numbering import GhostNumbering, local_arcs
from kernels.distributed.shard import LocalArcs, Shard, StoredRows
from kernels.graph import Csr


def assemble(rank: int, dealing: Dealing, stored: StoredRows, memory: ArcMemory) -> Shard:
    """Answer `kernels.distributed.assembly.assemble`; the given arrays may be NumPy's, also memory maps, or CuPy's."""
    bounds, directions = dealing.bounds, stored.directions
    rows, num_vertices = range(int(bounds[rank]), int(bounds[rank + 1])), int(bounds[-1])
    numbering = GhostNumbering(rows, num_vertices, stored.out[0].indices.dtype)
    neighbours = [put([csr.indices for csr in blocks], memory) for blocks in directions]
    for indices in neighbours:
        dealing.dealt(indices, indices)
    ghosts = numbering.find(neighbours)
    positions, ghost_positions = numbering.positions(stored.rows_by_id, dealing, len(ghosts))
    arcs = [
        LocalArcs(numbering.number(blocks, indices, len(ghosts), memory), rows.start, len(rows), ghosts)
        for blocks, indices in zip(directions, neighbours, strict=True)
    ]
    ids = cupy.asarray(stored.ids)
    return Shard(rank, bounds, ids, positions, arcs[0], arcs[-1], ghosts, ghost_positions, stored.directed)


def to_device(shard: Shard, memory: ArcMemory) -> Shard:
    """Answer `kernels.distributed.assembly.to_device`."""
    ids, positions, ghosts, ghost_positions = (
        cupy.array(array) for array in (shard.ids, shard.positions, shard.ghosts, shard.ghost_positions)
    )

    def moved(csr: Csr) -> Csr:
        return LocalArcs(
            local_arcs(shard.rows, shard.num_vertices, shard.ghosts, csr, memory), shard.rows.start, len(shard.rows), ghosts
        )

    out = moved(shard.out)
    into = out if shard.symmetric else moved(shard.into)
    return Shard(shard.rank, shard.bounds, ids, positions, out, into, ghosts, ghost_positions, shard.directed)
