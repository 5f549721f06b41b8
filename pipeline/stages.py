"""Stages: a stored graph in, the table of one algorithm out, in external ids and sorted as it will be published."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.answers import Components, Forest, Paths
from kernels.graph import NO_ROW, UNREACHED, Graph
from pipeline import tables
from pipeline.cluster import map_in_order
from pipeline.config import StageName
from pipeline.errors import BadInput, BadSource
from pipeline.manifest import Folder, make
from pipeline.stored_graph import open_graph

WITH_SOURCES: tuple[StageName, ...] = ("bfs", "sssp")


def run_stage(graph: Folder, stage: StageName, sources: Sequence[int], work: Path) -> Folder:
    """Run one algorithm and write its table.

    Parameters
    ----------
    graph : Folder
        The stored graph.
    stage : str
        `bfs`, `sssp`, `mst`, `wcc` or `scc`; the folder is `work / stage`.
    sources : sequence of int
        External ids, for the stages that have sources; empty takes `default_source`.

    Returns
    -------
    Folder
        Facts: `rows`, `seconds` (in the kernel, summed over sources), `backend`, `weight`, and `sources` ascending.

    Raises
    ------
    BadSource
        A source is not in the graph.
    BadInput
        The weights are so large that a sum of them does not fit 64 bits.
    """
    asked = {"sources": sorted(sources)} if stage in WITH_SOURCES else {}

    def write(folder: Path) -> dict[str, Any]:
        opened = open_graph(graph)
        weight = graph.facts["weight"]
        clock = Clock()
        facts: dict[str, Any] = {"backend": "cpu", "weight": weight}
        solve = clock.timed(_kernel(stage))
        schema = tables.schema(stage, weight)
        if stage in WITH_SOURCES:
            facts["sources"] = _existing(opened, asked["sources"])
            batches = map_in_order(lambda source: _path_batch(opened, source, solve, schema), facts["sources"])
        else:
            batch = _forest_batch if stage == "mst" else _component_batch
            batches = iter([batch(opened, solve(opened), schema)])
        try:
            rows = tables.write(folder, stage, weight, batches)
        except OverflowError as error:
            raise BadInput(graph.path, f"{stage}: {error}") from error
        return facts | {"rows": rows, "seconds": round(clock.seconds, 6)}

    return make(work / stage, stage, {"graph": graph.digest}, asked, write)


def require_sources(graph: Folder, sources: Sequence[int]) -> None:
    """Raise BadSource for a source that the graph does not have, whether or not a stage asks for it."""
    if sources:
        _existing(open_graph(graph), sources)


def default_source(graph: Graph) -> int:
    """External id of the vertex of highest out-degree, the smallest id among equals."""
    degrees = np.diff(graph.out.offsets)[graph.rows_by_id]
    return int(graph.ids[graph.rows_by_id[int(degrees.argmax())]])


def row_of(graph: Graph, vertex: int) -> int:
    """Row of an external id; NO_ROW where the graph does not have it."""
    place = int(np.searchsorted(graph.ids, vertex, sorter=graph.rows_by_id))
    if place == graph.num_vertices:
        return NO_ROW
    row = int(graph.rows_by_id[place])
    return row if graph.ids[row] == vertex else NO_ROW


class Clock:
    """Seconds spent in the functions it times, from any thread."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its wall time added to `seconds`."""

        def run(*arguments: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self.seconds += time.perf_counter() - started

        return run


def _kernel(stage: StageName) -> Callable[..., Any]:
    """The algorithm of a stage; imported when it runs, because compiled code is slow to load."""
    if stage == "bfs":
        from kernels.bfs import bfs

        return bfs
    if stage == "sssp":
        from kernels.sssp import sssp

        return sssp
    if stage == "mst":
        from kernels.forest import minimum_spanning_forest

        return minimum_spanning_forest
    if stage == "wcc":
        from kernels.wcc import wcc

        return wcc
    from kernels.scc import scc

    return scc


def _existing(graph: Graph, sources: Sequence[int]) -> list[int]:
    if not sources:
        return [default_source(graph)] if graph.num_vertices else []
    for source in sources:
        if row_of(graph, source) == NO_ROW:
            known = (
                f"ids {graph.ids[graph.rows_by_id[0]]}..{graph.ids[graph.rows_by_id[-1]]}" if graph.num_vertices else "no vertex"
            )
            raise BadSource(f"source {source} is not in the graph ({graph.num_vertices} vertices, {known})")
    return list(sources)


def _path_batch(graph: Graph, source: int, solve: Callable[..., Paths], schema: pa.Schema) -> pa.RecordBatch:
    answer = solve(graph, row_of(graph, source))
    distance = answer.distance[graph.rows_by_id]
    predecessor = answer.predecessor[graph.rows_by_id]
    columns = [
        pa.array(np.full(graph.num_vertices, source, np.int64)),
        pa.array(graph.ids[graph.rows_by_id]),
        pa.array(distance, mask=distance == UNREACHED),
        pa.array(graph.ids[predecessor], mask=predecessor == NO_ROW),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _forest_batch(graph: Graph, forest: Forest, schema: pa.Schema) -> pa.RecordBatch:
    weights = forest.weights.astype(schema.field("weight").type.to_pandas_dtype(), copy=False)
    columns = [graph.ids[forest.src], graph.ids[forest.dst], weights, graph.ids[forest.labels[forest.src]]]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=schema)


def _component_batch(graph: Graph, components: Components, schema: pa.Schema) -> pa.RecordBatch:
    columns = [graph.ids[graph.rows_by_id], graph.ids[components.labels[graph.rows_by_id]]]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=schema)
