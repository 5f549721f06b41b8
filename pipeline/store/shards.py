"""Shards of a stored graph for the ranks that hold it together: each reads its own rows, however the stored graph is cut.

Stored rows are translated to dealt rows here, and wherever other data that is stored by rows is used together with a shard:
`DealtRows`, the sources of a stage, and the index (`pipeline.tables.index_parts`, `pipeline.cluster.shard_of_graph`).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernels.arrays import ArcMemory
from kernels.distributed.assembly import assemble
from kernels.distributed.dealing import Dealing, deal, leaving_arcs, sampled_rows
from kernels.distributed.shard import Shard, StoredRows
from kernels.graph import OFFSET, Array, Csr
from pipeline.runtime.backend import Backend
from pipeline.runtime.beyond_gpu import held_by_gpu
from pipeline.runtime.memory import free_memory
from pipeline.store.arrays import ArrayFile
from pipeline.store.counting import counted_rows, decimals_of
from pipeline.store.facts import GraphFacts
from pipeline.store.graph import arcs_before, open_rows, open_shard, shard_rows
from pipeline.store.manifest import Folder
from pipeline.store.vertices import open_vertices, rows_by_id_in_blocks


@dataclass(frozen=True)
class DealtRows:
    """The dealt rows in the order of their external ids, to be read slice by slice."""

    stored: ArrayFile | Array  # the stored rows in that order
    dealing: Dealing

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, block: slice) -> Array:
        return self.dealing.dealt(self.stored[block])


@dataclass(frozen=True)
class DealtShard:
    """A rank's shard of a stored graph, and how the graph's rows were dealt."""

    shard: Shard
    dealing: Dealing


def dealing_of(graph: Folder, size: int) -> Dealing:
    """Deal the rows to `size` ranks; reads only some entries of the memory maps."""
    num_vertices, before = GraphFacts.of(graph).vertices, arcs_before(graph)

    def cut(parts: int, per_row: int) -> tuple[Array, Array]:
        def cost(row: int) -> int:
            return before(row) + per_row * row

        total = cost(num_vertices)
        stops = [bisect_left(range(1, num_vertices + 1), total * part // parts, key=cost) for part in range(1, parts)]
        cuts = [0, *stops, num_vertices]
        return np.array(cuts, OFFSET), np.array([before(row) for row in cuts], OFFSET)

    def leaving(bounds: Array) -> Array:
        sample, of_all = sampled_rows(num_vertices), np.zeros(2, OFFSET)
        for number, rows in enumerate(shard_rows(graph)):
            here = sample[(sample >= rows.start) & (sample < rows.stop)]
            of_all += leaving_arcs(bounds, here, here - rows.start, open_shard(graph, number).out)
        return of_all

    return deal(cut, leaving, size)


def of_blocks(column: Array, blocks: Sequence[range]) -> Array:
    """The entries of these ranges of rows: a view of `column`, which may be a memory map, where there is one range."""
    parts = [column[rows.start : rows.stop] for rows in blocks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def load_shard(
    graph: Folder, dealing: Dealing, rank: int, backend: Backend = "cpu", ranks_here: int = 1, *, counted: bool = False
) -> Shard:
    """Read the shard of a rank: no more than its own rows, and `rows_by_id` block by block. Raises Damaged as `open_graph`.

    `ranks_here` ranks of the graph share this process, and its GPU. `counted`: weights are in the unit in which they are counted.
    """
    out, into = open_rows(graph, dealing.blocks(rank))
    if counted and decimals_of(graph) is not None:
        symmetric, out = into is out, [counted_rows(graph, rows) for rows in out]
        into = out if symmetric else [counted_rows(graph, rows) for rows in into]
    memory = _memory_of(out if into is out else [*out, *into], ranks_here) if backend == "gpu" else None
    return _assembled(graph, dealing, rank, out, into, memory)


def load_rows(graph: Folder, dealing: Dealing, rank: int) -> Shard:
    """The shard of a rank in the host's memory without arcs, and so without ghosts. Raises Damaged as `open_graph`."""
    opened, _ = open_rows(graph, dealing.blocks(rank))
    rows = [counted_rows(graph, _without_arcs(of_block)) for of_block in opened]
    return _assembled(graph, dealing, rank, rows, rows, None)


def _assembled(
    graph: Folder, dealing: Dealing, rank: int, out: list[Csr], into: list[Csr], memory: ArcMemory | None
) -> Shard:  # fmt: skip
    ids = of_blocks(open_vertices(graph)[0], dealing.blocks(rank))
    stored = StoredRows(ids, rows_by_id_in_blocks(graph), out, into, GraphFacts.of(graph).directed)
    return assemble(rank, dealing, stored, memory)


def _without_arcs(rows: Csr) -> Csr:
    return Csr(np.zeros_like(rows.offsets), rows.indices[:0], None if rows.weights is None else rows.weights[:0])


def _memory_of(parts: Sequence[Csr], ranks_here: int) -> ArcMemory:
    """Whether the arcs of a shard fit into the GPU's memory, or stay in the host's."""
    arrays = [array for csr in parts for array in (csr.indices, csr.weights) if array is not None]
    needed = sum(array.nbytes for array in arrays) * ranks_here
    return "device" if held_by_gpu(needed, free_memory("gpu")) else "host"
