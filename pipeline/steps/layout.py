"""Layout: an edge list in, the stored graph out, cleaned, numbered in its running order and cut into shards.

The step is the same on every rank of a group: a rank reads its part of the edge list and writes its shards. A group of one reads
everything, and writes all shards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kernels.distributed import partition
from kernels.distributed.communicator import Communicator
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr, index_dtype
from kernels.layout import sharded
from kernels.layout.cleaning import clean
from kernels.layout.orders import by_degree, by_degree_in_windows, inverse
from kernels.layout.rows import take_rows
from kernels.layout.rules import Rules
from kernels.layout.sorting import in_rows
from pipeline.cluster.protocol import Place
from pipeline.config.layout import LayoutConfig
from pipeline.runtime.backend import Backend
from pipeline.steps.runtime import Runtime
from pipeline.store.attempts import attempts_at, shared_attempt
from pipeline.store.edges import narrow, read_edges
from pipeline.store.facts import DirectionFacts, EdgeFacts, GraphFacts, ShardFacts
from pipeline.store.graph_writing import Direction, Rows, VertexSlice, save_direction, write_vertices
from pipeline.store.manifest import Folder, make


def lay_out(edges: Folder, layout: LayoutConfig, runtime: Runtime) -> Folder:
    """Clean an edge list and store it as a graph in `work / "graph"`: the same bytes on either backend and over any ranks.

    Parameters
    ----------
    edges : Folder
    layout : LayoutConfig
        `shards` is the cluster's where that holds a graph in shards: each rank makes its own, and none holds more.
    runtime : Runtime

    Returns
    -------
    Folder
        Read by `pipeline.store.graph.open_graph`. Facts:

        * `vertices`, `arcs`, `directed`, `symmetric`, `weight` (the edge list's Arrow type, or null), `stored_weight` (NumPy's)
        * `self_loops_dropped`, `arcs_added`, `parallel_arcs_dropped`: edges - dropped + added - dropped = arcs
        * `out`, and `in` unless symmetric: `groups` (rows from 1024 arcs, from 32, below; under `degree` and `windowed` the
          out-rows are in this order); with the vector extension `padding` (share of its entries)
        * `shards`: `rows` (first, and the one after the last), and for each direction `arcs`, with the vector extension also
          `segments` and `slots`
        * `backend`

    Raises
    ------
    Damaged
        The edge list cannot be read.
    ClusterLost
        As `cluster.map`.
    """
    cluster, backend = runtime.cluster, runtime.backend
    if cluster.shards:
        layout = layout.model_copy(update={"shards": cluster.shards})
    else:
        cluster = runtime.here().cluster  # one rank lays out the whole graph: in this process, which has all the memory

    def write(folder: Path) -> dict[str, Any]:
        with attempts_at("graph", folder.parent) as attempts:
            (parts,) = cluster.map(partial(store_part, edges, layout), [attempts], backend, cluster.shards)
            for path in list(parts[0].folder.iterdir()):
                path.rename(folder / path.name)
        return facts_of(edges, layout, parts, backend).stored()

    return make(runtime.work / "graph", "graph", {"edges": edges.digest}, layout.model_dump(), write)


@dataclass
class StoredShard:
    """What was written of a shard: its rows, and its directions by name, `out` and `in`."""

    rows: range
    directions: dict[str, Direction]

    @property
    def facts(self) -> ShardFacts:
        """Its facts."""
        sizes: dict[str, Any] = {name: direction.sizes for name, direction in self.directions.items()}
        return ShardFacts(rows=[self.rows.start, self.rows.stop], **sizes)


@dataclass(frozen=True)
class StoredPart:
    """What one rank wrote.

    Attributes
    ----------
    folder : Path
        Of all ranks.
    shards : list of StoredShard
        In the order of their rows.
    self_loops : int
        Of all ranks' edges.
    """

    folder: Path
    shards: list[StoredShard]
    self_loops: int


def store_part(edges: Folder, layout: LayoutConfig, place: Place, attempts: Path) -> StoredPart:
    """Lay out a rank's share of a graph and write its shards into a folder that all ranks of this attempt share. A collective."""
    communicator = place.communicator
    part = _lay_out_all(edges, layout, place.backend) if communicator.size == 1 else _lay_out_share(edges, layout, place)
    folder = shared_attempt(attempts, communicator)
    if communicator.rank == 0:
        folder.mkdir()
    write_vertices(folder, part.vertices, communicator)
    stored: dict[int, StoredShard] = {}
    vertices = part.vertices.num_vertices
    for number, rows, name, csr in part.directions:
        shard = stored.setdefault(number, StoredShard(rows, {}))
        shard.directions[name] = save_direction(folder, number, name, Rows(csr, rows.start, vertices), layout.vector_extension)
    return StoredPart(folder, list(stored.values()), part.self_loops)


@dataclass(frozen=True)
class _LaidOut:
    """A rank's part of a graph: its vertices, and its arcs as (shard, its rows, direction, arcs), made when they are taken."""

    vertices: VertexSlice
    directions: Iterator[tuple[int, range, str, Csr]]
    self_loops: int


def _lay_out_all(edges: Folder, layout: LayoutConfig, backend: Backend) -> _LaidOut:
    """Lay out a whole graph in memory; its shards are cut one after the other."""
    rules = rules_of(edges, layout)
    src, dst, weights = read_edges(edges, backend)
    ids, by_position, self_loops = clean(src, dst, narrow(weights), rules)
    del src, dst, weights
    found = {"out": by_position}
    if not rules.both and (into := in_rows(by_position)) is not by_position:
        found["in"] = into
    degrees = [np.diff(csr.offsets) for csr in found.values()]
    order = _order(degrees[0], layout)
    row_of_position = inverse(order)
    own_ids, out, into_degrees = (to_host(column[order]) for column in (ids, degrees[0], degrees[-1]))

    total: Any = sum(degrees)

    def cut() -> Iterator[tuple[int, range, str, Csr]]:
        for number, rows in enumerate(partition.cut(to_host(total[order]), layout.shards)):
            for name, csr in found.items():
                yield number, rows, name, take_rows(csr, order[rows.start : rows.stop], row_of_position)

    return _LaidOut(VertexSlice(len(ids), 0, own_ids, out, into_degrees, 0, to_host(row_of_position)), cut(), self_loops)


def _lay_out_share(edges: Folder, layout: LayoutConfig, place: Place) -> _LaidOut:
    part, rank = lay_out_part(place.communicator, edges, layout, place.backend), place.communicator.rank
    rows, own = part.rows, range(int(part.rows.bounds[rank]), int(part.rows.bounds[rank + 1]))
    out, into = (to_host(np.diff(csr.offsets)) for csr in (rows.out, rows.into))
    vertices = VertexSlice(
        int(rows.bounds[-1]), own.start, to_host(rows.ids), out, into, part.by_id.first, to_host(part.by_id.rows)
    )
    directions = {"out": rows.out} | ({} if rows.into is rows.out else {"in": rows.into})
    return _LaidOut(vertices, ((rank, own, name, csr) for name, csr in directions.items()), part.self_loops)


@dataclass(frozen=True)
class Part:
    """What one rank laid out in memory.

    Attributes
    ----------
    rows : LaidOutRows
        Its rows of the graph.
    by_id : RowsById
        Its slice of all rows in the order of their external ids.
    self_loops : int
        Of all ranks' edges.
    """

    rows: sharded.LaidOutRows
    by_id: sharded.RowsById
    self_loops: int


def lay_out_part(
    communicator: Communicator, edges: Folder, layout: LayoutConfig, backend: Backend = "cpu", deals: bool = False
) -> Part:
    """Lay out a rank's share of a graph, in memory. A collective; `layout.shards` is not used. Raises Damaged.

    `deals` is that of `kernels.layout.sharded.lay_out`.
    """
    src, dst, weights = read_edges(edges, backend, communicator.rank, communicator.size)
    self_loops = communicator.sum(int((src == dst).sum()))
    weights = narrow(weights, communicator.max)
    window = {"source": None, "windowed": layout.window, "degree": np.iinfo(OFFSET).max}[layout.order]
    return Part(*sharded.lay_out(src, dst, weights, rules_of(edges, layout), window, communicator, deals), self_loops)


def rules_of(edges: Folder, layout: LayoutConfig) -> Rules:
    """Which arcs are stored of an edge list."""
    first, declared = EdgeFacts.of(edges).first_id or 0, EdgeFacts.of(edges).declared_vertices or 0
    return Rules(
        range(first, first + declared),
        both=layout.symmetrise or not EdgeFacts.of(edges).directed,
        keep_self_loops=layout.self_loops == "keep",
        keep_parallel=layout.parallel_arcs == "keep",
    )


def facts_of(edges: Folder, layout: LayoutConfig, parts: list[StoredPart], backend: Backend) -> GraphFacts:
    """Facts of a graph, from what its ranks wrote, in rank order."""
    found, rules, self_loops = EdgeFacts.of(edges).edges, rules_of(edges, layout), parts[0].self_loops
    stored = [shard for part in parts for shard in part.shards]
    names = list(stored[0].directions)
    arcs = sum(shard.directions["out"].sizes.arcs for shard in stored)
    dropped = 0 if rules.keep_self_loops else self_loops
    added = found - self_loops if rules.both else 0
    directions: dict[str, Any] = {name: _summary([shard.directions[name] for shard in stored]) for name in names}
    return GraphFacts(
        vertices=stored[-1].rows.stop,
        arcs=arcs,
        directed=not rules.both,
        symmetric="in" not in names,
        weight=EdgeFacts.of(edges).weight,
        stored_weight=stored[0].directions["out"].weight,
        self_loops_dropped=dropped,
        arcs_added=added,
        parallel_arcs_dropped=found - dropped + added - arcs,
        shards=[shard.facts for shard in stored],
        backend=backend,
        **directions,
    )


def _summary(stored: list[Direction]) -> DirectionFacts:
    """Facts of one direction of all shards."""
    groups = [sum(group) for group in zip(*(part.groups for part in stored), strict=True)]
    if stored[0].sizes.slots is None:
        return DirectionFacts(groups=groups)
    lane_arcs, slots = sum(part.lane_arcs for part in stored), sum((part.sizes.slots or 0) for part in stored)
    return DirectionFacts(groups=groups, padding=round(1 - lane_arcs / slots, 6) if slots else 0.0)


def _order(degrees: Array, layout: LayoutConfig) -> Array:
    if layout.order == "source":
        return np.arange(len(degrees), dtype=index_dtype(len(degrees)), like=degrees)
    if layout.order == "degree":
        return by_degree(degrees)
    return by_degree_in_windows(degrees, layout.window)
