"""Layout: an edge list in, the stored graph out, cleaned, numbered in its running order and cut into shards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from kernels.distributed import partition
from kernels.distributed.communicator import Communicator
from kernels.gpu.loader import to_host
from kernels.graph import Array, Csr, index_dtype
from kernels.layout.cleaning import clean
from kernels.layout.orders import by_degree, by_degree_in_windows, inverse
from kernels.layout.rows import take_rows
from kernels.layout.sharded.cleaning import Rules
from kernels.layout.sorting import in_rows
from pipeline.cluster.protocol import HERE, Cluster
from pipeline.config.layout import LayoutConfig
from pipeline.runtime.backend import Backend
from pipeline.steps.shard_layout import StoredPart, rules_of, store_part
from pipeline.store.edges import narrow, read_edges
from pipeline.store.graph import save_vertices
from pipeline.store.graph_writing import Direction, save_direction
from pipeline.store.manifest import Folder, make


def lay_out(edges: Folder, layout: LayoutConfig, work: Path, backend: Backend = "cpu", cluster: Cluster = HERE) -> Folder:
    """Clean an edge list and store it as a graph in `work / "graph"`: the same bytes on either backend, and by one or many.

    Parameters
    ----------
    edges : Folder
    layout : LayoutConfig
    work : Path
    backend : {"cpu", "gpu"}
    cluster : Cluster
        Where a graph lies over its `shards`, as many ranks make it together, each its own shard; none holds more.

    Returns
    -------
    Folder
        Read by `pipeline.store.graph.open_graph`. Facts:

        * `vertices`, `arcs`, `directed`, `symmetric`, `weight` (the edge list's Arrow type, or null), `stored_weight` (NumPy's)
        * `self_loops_dropped`, `arcs_added`, `parallel_arcs_dropped`: edges - dropped + added - dropped = arcs
        * `out`, and `in` unless symmetric: `groups` (rows from 1024 arcs, from 32, below; under `degree` and `windowed` the
          out-rows lie in this order), `padding` (share of the vector extension's entries)
        * `shards`: `rows` (first, and the one after the last), and for each direction `arcs`, `segments`, `slots`
        * `backend`

    Raises
    ------
    Damaged
        The edge list cannot be read.
    ClusterLost
        As `cluster.run_ranks`.
    """
    if cluster.shards:
        layout = layout.model_copy(update={"shards": cluster.shards})

    def write(folder: Path) -> dict[str, Any]:
        if cluster.shards:
            parts = _store_over_ranks(folder, edges, layout, backend, cluster)
        else:
            parts = _store(folder, edges, layout, backend)
        return facts_of(edges, layout, parts) | {"backend": backend}

    return make(work / "graph", "graph", {"edges": edges.digest}, layout.model_dump(), write)


def _store_over_ranks(
    folder: Path, edges: Folder, layout: LayoutConfig, backend: Backend, cluster: Cluster
) -> list[StoredPart]:  # fmt: skip
    with TemporaryDirectory(prefix=".graph-shards-", dir=folder.parent, ignore_cleanup_errors=True) as attempts:
        store = partial(_store_part, edges, layout, Path(attempts), backend)
        parts = cluster.run_ranks(store, range(cluster.shards), backend)
        for path in list(parts[0].folder.iterdir()):
            path.rename(folder / path.name)
    return parts


def _store_part(
    edges: Folder, layout: LayoutConfig, attempts: Path, backend: Backend, communicator: Communicator, _: int
) -> StoredPart:
    return store_part(communicator, edges, layout, attempts, backend)


def _store(folder: Path, edges: Folder, layout: LayoutConfig, backend: Backend) -> list[StoredPart]:
    """Make the graph in memory, and write one direction of one shard after the other."""
    rules = rules_of(edges, layout)
    ids, by_rank, self_loops = _clean(edges, rules, backend)
    directions = {"out": by_rank}
    if not rules.both and (into := in_rows(by_rank)) is not by_rank:
        directions["in"] = into
    degrees = {direction: np.diff(csr.offsets) for direction, csr in directions.items()}
    out_degrees, in_degrees = degrees["out"], degrees.get("in", degrees["out"])
    order = _order(out_degrees, layout)
    row_of_rank = inverse(order)
    save_vertices(folder, *(to_host(column) for column in (ids[order], row_of_rank, out_degrees[order], in_degrees[order])))
    parts = []
    for number, rows in enumerate(partition.cut(to_host(sum(degrees.values())[order]), layout.shards)):
        own = order[rows.start : rows.stop]
        stored = {
            direction: save_direction(folder, number, direction, take_rows(csr, own, row_of_rank), rows.start, len(ids))
            for direction, csr in directions.items()
        }
        parts.append(StoredPart(folder, rows, stored, self_loops))
    return parts


def _clean(edges: Folder, rules: Rules, backend: Backend) -> tuple[Array, Csr, int]:
    """External ids ascending, the clean arcs by rank, and how many edges are self-loops."""
    src, dst, weights = read_edges(edges, backend)
    return clean(src, dst, narrow(weights), rules.declared, rules.both, rules.keep_self_loops, rules.keep_parallel)


def facts_of(edges: Folder, layout: LayoutConfig, parts: list[StoredPart]) -> dict[str, Any]:
    """Facts of a graph, from what was written of its shards, in their order."""
    found, rules, self_loops = edges.facts["edges"], rules_of(edges, layout), parts[0].self_loops
    arcs = sum(part.directions["out"].sizes["arcs"] for part in parts)
    dropped = 0 if rules.keep_self_loops else self_loops
    added = found - self_loops if rules.both else 0
    return {
        "vertices": parts[-1].rows.stop,
        "arcs": arcs,
        "directed": not rules.both,
        "symmetric": "in" not in parts[0].directions,
        "weight": edges.facts["weight"],
        "stored_weight": parts[0].directions["out"].weight,
        "self_loops_dropped": dropped,
        "arcs_added": added,
        "parallel_arcs_dropped": found - dropped + added - arcs,
        "shards": [
            {"rows": [part.rows.start, part.rows.stop]} | {name: stored.sizes for name, stored in part.directions.items()}
            for part in parts
        ],
    } | {direction: _summary([part.directions[direction] for part in parts]) for direction in parts[0].directions}


def _summary(stored: Sequence[Direction]) -> dict[str, Any]:
    """Facts of a direction, of all its shards."""
    lane_arcs, slots = sum(part.lane_arcs for part in stored), sum(part.sizes["slots"] for part in stored)
    groups = [sum(group) for group in zip(*(part.groups for part in stored), strict=True)]
    return {"groups": groups, "padding": round(1 - lane_arcs / slots, 6) if slots else 0.0}


def _order(degrees: Array, layout: LayoutConfig) -> Array:
    if layout.order == "source":
        return np.arange(len(degrees), dtype=index_dtype(len(degrees)), like=degrees)
    if layout.order == "degree":
        return by_degree(degrees)
    return by_degree_in_windows(degrees, layout.window)
