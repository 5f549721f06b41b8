"""Layout: an edge list in, the stored graph out, cleaned, numbered in its running order and cut into shards.

The step is the same on every rank of a group: a rank reads its part of the edge list and writes its shards. A group of one reads
everything, and writes all shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kernels.distributed.communicator import Communicator
from kernels.graph import OFFSET
from kernels.layout import lay_out as layout_kernel
from kernels.layout.laid_out import LaidOut
from kernels.layout.rules import Edges, Rules
from pipeline.cluster.protocol import Place
from pipeline.config.layout import LayoutConfig
from pipeline.runtime.backend import Backend
from pipeline.steps.runtime import Runtime
from pipeline.store.attempts import attempts_beside, shared_attempt
from pipeline.store.edges import narrow, read_edges
from pipeline.store.facts import DirectionFacts, EdgeFacts, GraphFacts, ShardFacts
from pipeline.store.graph_writing import Direction, Rows, save_direction, write_vertices
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
        (parts,) = cluster.map(partial(store_part, edges, layout), [attempts_beside(folder)], backend, cluster.shards)
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
    part = lay_out_part(communicator, edges, layout, place.backend)
    folder = shared_attempt(attempts, communicator)
    if communicator.rank == 0:
        folder.mkdir()
    write_vertices(folder, part, communicator)
    stored = [StoredShard(part.rows(number), {}) for number in part.parts]
    for number, shard in zip(part.parts, stored, strict=True):
        for name in part.directions:
            rows = Rows(part.take(number, name), shard.rows.start, part.num_vertices)
            shard.directions[name] = save_direction(folder, number, name, rows, layout.vector_extension)
    return StoredPart(folder, stored, part.self_loops)


def lay_out_part(
    communicator: Communicator, edges: Folder, layout: LayoutConfig, backend: Backend = "cpu", deals: bool = False
) -> LaidOut:
    """Lay out a rank's share of a graph, in memory. A collective. Raises Damaged.

    `deals` is that of `kernels.layout.lay_out.lay_out`.
    """
    window = {"source": None, "windowed": layout.window, "degree": np.iinfo(OFFSET).max}[layout.order]

    def read() -> Edges:
        src, dst, weights = read_edges(edges, backend, communicator.rank, communicator.size)
        return Edges(src, dst, narrow(weights, communicator.max))

    return layout_kernel.lay_out(read(), rules_of(edges, layout), window, communicator, layout.shards, deals)


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
