"""Stages: a stored graph in, the table of one algorithm out, in external ids and sorted as it will be published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.graph import ID, NO_ROW, Graph
from pipeline import tables
from pipeline.answer_tables import COMPONENTS, FOREST, LABELS, PATHS, RANKS, Form, rows_of
from pipeline.backend import Backend, Clock, open_on
from pipeline.cluster import map_in_order
from pipeline.config import ReachabilityConfig, StageName
from pipeline.errors import BadInput, BadSource
from pipeline.manifest import Folder, make
from pipeline.stored_graph import open_graph
from pipeline.stored_index import build_index, open_index


@dataclass(frozen=True)
class Stage:
    """One algorithm of the pipeline; its columns stand in `pipeline.tables`.

    Attributes
    ----------
    title : str
        What the report calls it.
    kernel, certificate : str
        Where they are, `module:function`; imported when they run, because compiled code is slow to load.
    form : Form
        How its answers lie in its table. Those of form PATHS have sources, that of form LABELS an index beside its table.
    exact : bool
        Whether the table has the same bytes on every backend; where not, they are equal to a stated tolerance.
    """

    title: str
    kernel: str
    certificate: str
    form: Form
    exact: bool = True

    @property
    def has_sources(self) -> bool:
        """Whether there is an answer for each source, and not one alone."""
        return self.form is PATHS

    @property
    def has_index(self) -> bool:
        """Whether its answer is a stored index, of which its table shows a part."""
        return self.form is LABELS


BY_NAME: dict[StageName, Stage] = {
    "bfs": Stage("Breadth-first search", "kernels.bfs:bfs", "kernels.certificates:certify_bfs", PATHS),
    "sssp": Stage("Single-source shortest paths", "kernels.sssp:sssp", "kernels.certificates:certify_sssp", PATHS),
    "mst": Stage(
        "Minimum spanning forest", "kernels.forest:minimum_spanning_forest", "kernels.certificates:certify_forest", FOREST
    ),
    "wcc": Stage("Weakly connected components", "kernels.wcc:wcc", "kernels.certificates:certify_wcc", COMPONENTS),
    "scc": Stage("Strongly connected components", "kernels.scc:scc", "kernels.certificates:certify_scc", COMPONENTS),
    "pagerank": Stage("PageRank", "kernels.pagerank:pagerank", "kernels.certificates:certify_pagerank", RANKS, exact=False),
    "reachability": Stage(
        "Reachability", "kernels.reachability:reachability", "kernels.certificates:certify_reachability", LABELS
    ),
}


def run_stage(
    graph: Folder, stage: StageName, sources: Sequence[int], work: Path, backend: Backend = "cpu",
    reachability: ReachabilityConfig | None = None,
) -> Folder:  # fmt: skip
    """Run one algorithm and write its table.

    Parameters
    ----------
    graph : Folder
        The stored graph.
    stage : str
        One of `BY_NAME`; the folder is `work / stage`.
    sources : sequence of int
        External ids, for the stages that have sources; empty takes `default_source`.
    backend : {"cpu", "gpu"}
        Where the kernel runs. The table is the same, and so is the step's key, but for a stage that is not `exact`.
    reachability : ReachabilityConfig or None
        What the labels of stage `reachability` are like; None takes the defaults. Its index becomes a step of its own.

    Returns
    -------
    Folder
        Facts: `rows`, `seconds` (in the kernel, summed over sources), `backend`, `weight`, and `sources` ascending or those of
        `pipeline.stored_index.build_index`.

    Raises
    ------
    BadSource
        A source is not in the graph.
    BadInput
        The weights are so large that a sum of them does not fit 64 bits.
    TooLarge
        The index may take more memory than is free.
    """
    described = BY_NAME[stage]
    if described.has_index:
        return _run_indexed(graph, stage, build_index(graph, reachability or ReachabilityConfig(), work, backend), work)
    asked: dict[str, Any] = {"sources": sorted(sources)} if described.has_sources else {}
    if not described.exact:
        asked["backend"] = backend

    def write(folder: Path) -> dict[str, Any]:
        opened = open_on(graph, backend)
        weight = graph.facts["weight"]
        clock = Clock(backend)
        facts: dict[str, Any] = {"backend": backend, "weight": weight}
        solve = clock.timed(resolve_name(described.kernel))
        schema = tables.schema(stage, weight)

        def batch(*source: int) -> pa.RecordBatch:
            return described.form.batch(opened, solve(opened, *source), schema)

        if described.has_sources:
            facts["sources"] = _existing(opened, asked["sources"])
            batches = map_in_order(batch, rows_of(opened, np.array(facts["sources"], ID)).tolist(), backend)
        else:
            batches = iter([batch()])
        try:
            rows = tables.write(folder, stage, weight, batches)
        except OverflowError as error:
            raise BadInput(graph.path, f"{stage}: {error}") from error
        return facts | {"rows": rows, "seconds": round(clock.seconds, 6)}

    return make(work / stage, stage, {"graph": graph.digest}, asked, write)


def _run_indexed(graph: Folder, stage: StageName, index: Folder, work: Path) -> Folder:
    """Write what a stored index says of each vertex as the table of its stage."""
    table, weight, dimensions = tables.table_of(stage), graph.facts["weight"], index.facts["dimensions"]

    def write(folder: Path) -> dict[str, Any]:
        opened = open_index(index)
        batch = BY_NAME[stage].form.batch(opened, opened.index, tables.schema(table, weight, dimensions))
        return index.facts | {
            "weight": weight,
            "rows": tables.write(folder, table, weight, [batch], dimensions),
        }

    return make(work / stage, stage, {"graph": graph.digest, "index": index.digest}, {}, write)


def require_sources(graph: Folder, sources: Sequence[int]) -> None:
    """Raise BadSource for a source that the graph does not have, whether or not a stage asks for it."""
    if sources:
        _existing(open_graph(graph), sources)


def default_source(graph: Graph) -> int:
    """External id of the vertex of highest out-degree, the smallest id among equals."""
    degrees = np.diff(graph.out.offsets)[graph.rows_by_id]
    return int(graph.ids[graph.rows_by_id[int(degrees.argmax())]])


def _existing(graph: Graph, sources: Sequence[int]) -> list[int]:
    if not sources:
        return [default_source(graph)] if graph.num_vertices else []
    absent = rows_of(graph, np.array(sources, ID)) == NO_ROW
    if absent.any():
        known = f"ids {graph.ids[graph.rows_by_id[0]]}..{graph.ids[graph.rows_by_id[-1]]}" if graph.num_vertices else "no vertex"
        source = sources[int(absent.argmax())]
        raise BadSource(f"source {source} is not in the graph ({graph.num_vertices} vertices, {known})")
    return list(sources)
