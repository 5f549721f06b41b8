"""The layout by many ranks: each reads its part of the edge list, and ends with its own shard, in memory or stored."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernels.distributed.communicator import Communicator
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET
from kernels.layout.sharded import Rows, RowsById, lay_out
from kernels.layout.sharded.cleaning import Rules
from pipeline.config.layout import LayoutConfig
from pipeline.runtime.backend import Backend
from pipeline.store.edges import narrow, read_edges
from pipeline.store.graph_writing import Direction, allot_vertices, fill_rows_by_id, fill_vertices, save_direction
from pipeline.store.manifest import Folder


@dataclass(frozen=True)
class Part:
    """What one rank laid out.

    Attributes
    ----------
    rows : Rows
        Its rows of the graph.
    by_id : RowsById
        Its slice of all rows in the order of their ids.
    self_loops : int
        Of all ranks' edges.
    """

    rows: Rows
    by_id: RowsById
    self_loops: int


@dataclass(frozen=True)
class StoredPart:
    """What one rank wrote.

    Attributes
    ----------
    folder : Path
        Of all ranks.
    rows : range
    directions : dict
        By name, `out` and `in`.
    self_loops : int
        Of all ranks' edges.
    """

    folder: Path
    rows: range
    directions: dict[str, Direction]
    self_loops: int


def rules_of(edges: Folder, layout: LayoutConfig) -> Rules:
    """What is stored of an edge list."""
    first, declared = edges.facts["first_id"] or 0, edges.facts["declared_vertices"] or 0
    return Rules(
        range(first, first + declared),
        both=layout.symmetrise or not edges.facts["directed"],
        keep_self_loops=layout.self_loops == "keep",
        keep_parallel=layout.parallel_arcs == "keep",
    )


def lay_out_part(
    communicator: Communicator, edges: Folder, layout: LayoutConfig, backend: Backend = "cpu", deals: bool = False
) -> Part:
    """Lay out a rank's share of a graph, in memory. A collective; `layout.shards` is not looked at. Raises Damaged.

    `deals` is that of `kernels.layout.sharded.lay_out`.
    """
    src, dst, weights = read_edges(edges, backend, communicator.rank, communicator.size)
    self_loops = int(communicator.total(np.array([int((src == dst).sum())], OFFSET))[0])
    weights = narrow(weights, lambda most: int(communicator.most(np.array([most], OFFSET))[0]))
    window = {"source": None, "windowed": layout.window, "degree": np.iinfo(OFFSET).max}[layout.order]
    return Part(*lay_out(src, dst, weights, rules_of(edges, layout), window, communicator, deals), self_loops)


def store_part(communicator: Communicator, edges: Folder, layout: LayoutConfig, attempts: Path, backend: Backend) -> StoredPart:
    """Lay out a rank's share of a graph and write it as the shard of its rank. A collective.

    All ranks write to one new folder in `attempts`, which all have to see: a rank thought dead may still be writing to another.
    """
    part, rank = lay_out_part(communicator, edges, layout, backend), communicator.rank
    rows, num_vertices = part.rows, int(part.rows.bounds[-1])
    drawn = np.array([secrets.randbits(62) if rank == 0 else 0], OFFSET)
    folder = attempts / f"{int(communicator.total(drawn)[0]):016x}"
    if rank == 0:
        folder.mkdir()
        allot_vertices(folder, num_vertices)
    communicator.total(np.zeros(1, OFFSET))  # nobody writes before there is where to
    own = range(int(rows.bounds[rank]), int(rows.bounds[rank + 1]))
    degrees = [to_host(np.diff(csr.offsets)) for csr in (rows.out, rows.into)]
    fill_vertices(folder, own.start, to_host(rows.ids), *degrees)
    fill_rows_by_id(folder, num_vertices, part.by_id.first, to_host(part.by_id.rows))
    directions = {"out": rows.out} | ({} if rows.into is rows.out else {"in": rows.into})
    stored = {
        direction: save_direction(folder, rank, direction, csr, own.start, num_vertices) for direction, csr in directions.items()
    }
    return StoredPart(folder, own, stored, part.self_loops)
