"""Layout: an edge list in, the stored graph out, cleaned, numbered in its running order and cut into shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.cuda import to_host
from kernels.graph import Array, Csr, index_dtype
from kernels.layout import shards
from kernels.layout.cleaning import clean
from kernels.layout.orders import by_degree, by_degree_in_windows, inverse
from kernels.layout.rows import take_rows
from kernels.layout.sorting import in_rows
from kernels.layout.vect_csr import VectCsr, extend
from pipeline import tables
from pipeline.backend import Backend
from pipeline.config import LayoutConfig
from pipeline.errors import Damaged
from pipeline.manifest import Folder, make
from pipeline.stored_graph import save_rows, save_vertices


def lay_out(edges: Folder, layout: LayoutConfig, work: Path, backend: Backend = "cpu") -> Folder:
    """Clean an edge list and store it as a graph in `work / "graph"`: the same bytes on either backend.

    Returns
    -------
    Folder
        Read by `pipeline.stored_graph.open_graph`. Facts:

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
    """

    def write(folder: Path) -> dict[str, Any]:
        facts, ids, by_rank = _clean_arcs(edges, layout, backend)
        directions = {"out": by_rank}
        if facts["directed"] and (into := in_rows(by_rank)) is not by_rank:
            directions["in"] = into
        return facts | _store(folder, layout, ids, directions) | {"backend": backend}

    return make(work / "graph", "graph", {"edges": edges.digest}, layout.model_dump(), write)


def _clean_arcs(edges: Folder, layout: LayoutConfig, backend: Backend) -> tuple[dict[str, Any], Array, Csr]:
    """Counts of the cleaning, external ids ascending, and the clean arcs by rank."""
    src, dst, weights = _read_edges(edges)
    if backend == "gpu":
        src, dst, weights = _on_gpu(src), _on_gpu(dst), None if weights is None else _on_gpu(weights)
    first, declared = edges.facts["first_id"] or 0, edges.facts["declared_vertices"] or 0
    directed, keep_self_loops = edges.facts["directed"] and not layout.symmetrise, layout.self_loops == "keep"
    rules = {"both": not directed, "keep_self_loops": keep_self_loops, "keep_parallel": layout.parallel_arcs == "keep"}
    ids, arcs, self_loops = clean(src, dst, weights, range(first, first + declared), **rules)
    added = 0 if directed else len(src) - self_loops
    dropped = 0 if keep_self_loops else self_loops
    return {
        "directed": directed,
        "weight": edges.facts["weight"],
        "stored_weight": None if weights is None else str(weights.dtype),
        "self_loops_dropped": dropped,
        "arcs_added": added,
        "parallel_arcs_dropped": len(src) - dropped + added - len(arcs.indices),
    }, ids, arcs  # fmt: skip


def _store(folder: Path, layout: LayoutConfig, ids: Array, directions: dict[str, Csr]) -> dict[str, Any]:
    """Write the graph, one direction of one shard after the other; without `in` it is symmetric."""
    symmetric = "in" not in directions
    degrees = {direction: np.diff(csr.offsets) for direction, csr in directions.items()}
    out_degrees, in_degrees = degrees["out"], degrees["out" if symmetric else "in"]
    order = _order(out_degrees, layout)
    row_of_rank = inverse(order)
    save_vertices(folder, *(to_host(column) for column in (ids[order], row_of_rank, out_degrees[order], in_degrees[order])))
    plan = shards.cut(to_host(sum(degrees.values())[order]), layout.shards)
    stored: list[dict[str, Any]] = [{"rows": [rows.start, rows.stop]} for rows in plan]
    arcs = len(directions["out"].indices)
    facts: dict[str, Any] = {"vertices": len(ids), "arcs": arcs, "symmetric": symmetric, "shards": stored}
    for direction, csr in directions.items():
        counts = []
        for position, rows in enumerate(plan):
            taken = take_rows(csr, order[rows.start : rows.stop], row_of_rank)
            extended = _to_host(extend(taken, rows.start, len(ids)))
            extended.validate(len(ids))
            stored[position][direction] = save_rows(folder, position, direction, extended)
            counts.append((*extended.groups, extended.lane_arcs, len(extended.segment_indices)))
        facts[direction] = _summary(counts)
    return facts


def _on_gpu(array: Array) -> Array:
    import cupy

    return cupy.asarray(array)


def _to_host(rows: VectCsr) -> VectCsr:
    csr = Csr(*(to_host(array) for array in (rows.csr.offsets, rows.csr.indices, rows.csr.weights)))
    return VectCsr(
        csr, rows.first_row, *(to_host(array) for array in (rows.segments, rows.segment_indices, rows.segment_weights))
    )


def _summary(counts: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """Facts of a direction, from its shards' group sizes, arcs in lanes and entries of the vector extension."""
    *groups, lane_arcs, slots = (sum(column) for column in zip(*counts, strict=True))
    return {"groups": groups, "padding": round(1 - lane_arcs / slots, 6) if slots else 0.0}


def _order(degrees: Array, layout: LayoutConfig) -> Array:
    if layout.order == "source":
        return np.arange(len(degrees), dtype=index_dtype(len(degrees)), like=degrees)
    if layout.order == "degree":
        return by_degree(degrees)
    return by_degree_in_windows(degrees, layout.window)


def _read_edges(edges: Folder) -> tuple[Array, Array, Array | None]:
    """Columns `src` and `dst` (int64) and `weight` (the type it is stored in, or None) of an edge list. Raises Damaged."""
    weight = edges.facts["weight"]
    columns = {"src": np.dtype(np.int64), "dst": np.dtype(np.int64)}
    if weight is not None:
        kind = np.dtype(pa.type_for_alias(weight).to_pandas_dtype())
        columns["weight"] = kind if kind.kind == "f" else np.dtype(np.int64)
    arrays = {name: np.empty(edges.facts["edges"], dtype) for name, dtype in columns.items()}
    read = 0
    try:
        for path in tables.files(edges.path):
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                for batch in file.iter_batches(columns=list(columns)):
                    for name, array in arrays.items():
                        array[read : read + len(batch)] = batch.column(name)
                    read += len(batch)
    except (OSError, pa.ArrowException, ValueError) as error:
        raise Damaged(f"{edges.path}: {error}") from None
    if read != edges.facts["edges"]:
        raise Damaged(f"{edges.path}: {read} edges, the manifest says {edges.facts['edges']}")
    return arrays["src"], arrays["dst"], _narrow(arrays.get("weight"))


def _narrow(weights: Array | None) -> Array | None:
    """Integers in 32 bits where all fit."""
    if weights is None or weights.dtype.kind == "f" or int(weights.max(initial=0)) >= 2**31:
        return weights
    return weights.astype(np.int32)
