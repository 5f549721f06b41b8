"""Stages: a stored graph in, the table of one algorithm out, in external ids and sorted as it will be published."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.graph import ID
from kernels.registry import BY_NAME
from pipeline.cluster.protocol import HERE, Cluster, Place, map_in_order
from pipeline.config.reachability import ReachabilityConfig
from pipeline.config.run import StageName
from pipeline.errors import BadInput
from pipeline.runtime.backend import Backend, Clock
from pipeline.steps.index import build_index
from pipeline.steps.shard_stages import Written, write_over_ranks
from pipeline.steps.sources import default_source, require_sources
from pipeline.store.index import open_index
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from pipeline.tables.forms import form_of, rows_of


def run_stage(
    graph: Folder, stage: StageName, sources: Sequence[int], work: Path, backend: Backend = "cpu",
    reachability: ReachabilityConfig | None = None, cluster: Cluster = HERE,
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
    cluster : Cluster
        Who writes the files of the table, each a piece of work, or over whose ranks the stage runs. The table is the same.

    Returns
    -------
    Folder
        Facts: `rows`, `seconds` (in the kernel, summed over sources), `backend`, `weight`, `sources` ascending or those of
        `pipeline.steps.index.build_index`, and over ranks `shards` and `supersteps` (summed over sources).

    Raises
    ------
    BadSource
        A source is not in the graph.
    BadInput
        The weights are so large that a sum of them does not fit 64 bits.
    TooLarge
        The index may take more memory than is free.
    ClusterLost
        As `cluster.map`.
    """
    described = BY_NAME[stage]
    if described.has_index:
        index = build_index(graph, reachability or ReachabilityConfig(), work, backend, cluster)
        return _run_indexed(graph, stage, index, work, backend, cluster)
    asked: dict[str, Any] = {"sources": sorted(sources)} if described.has_sources else {}
    over_shards = over_shards_of(graph, cluster)
    if not described.exact:
        asked |= {"backend": backend, "over_shards": over_shards}

    def write(folder: Path) -> dict[str, Any]:
        facts: dict[str, Any] = {"backend": backend, "weight": graph.facts["weight"], "rows": 0, "seconds": 0.0}
        if described.has_sources:
            facts["sources"] = _existing(graph, asked["sources"])
        sources = facts.get("sources", [])
        with TemporaryDirectory(prefix=f".{stage}-files-", dir=work, ignore_cleanup_errors=True) as attempts:
            if over_shards:
                parts = iter([write_over_ranks(cluster, graph, described, stage, sources, Path(attempts), backend)])
                facts["shards"] = cluster.shards
            else:
                pieces = tables.by_file(sources, graph.facts["vertices"])
                parts = cluster.map(partial(_write_files, graph, stage, Path(attempts)), graph, backend, pieces)
            number = count()
            for written in parts:
                for path in written.paths:
                    path.rename(folder / tables.file_name(next(number)))
                facts["rows"] += written.rows
                facts["seconds"] = round(facts["seconds"] + written.seconds, 6)
                if over_shards:
                    facts["supersteps"] = written.supersteps
        return facts

    return make(work / stage, stage, {"graph": graph.digest}, asked, write)


def _write_files(graph: Folder, stage: StageName, attempts: Path, place: Place, sources: list[int]) -> Written:
    """Write the files of whole answers under names that no other attempt has: one thought dead may still be writing."""
    described, weight = BY_NAME[stage], graph.facts["weight"]
    clock = Clock(place.backend)
    solve = clock.timed(described.resolve("solver"))
    schema = tables.schema(stage, weight)

    def batch(*source: int) -> pa.RecordBatch:
        return form_of(described).batch(place.graph, solve(place.graph, *source), schema)

    if described.has_sources:
        batches = map_in_order(batch, rows_of(place.graph, np.array(sources, ID)).tolist(), place.threads)
    else:
        batches = iter([batch()])
    try:
        with tables.Files(attempts, stage, weight) as files:
            files.begin()
            for answer in batches:
                files.write_whole(answer)
    except OverflowError as error:
        raise BadInput(graph.path, f"{stage}: {error}") from error
    return Written(files.paths, files.rows, clock.seconds)


def _run_indexed(
    graph: Folder, stage: StageName, index: Folder, work: Path, backend: Backend = "cpu", cluster: Cluster = HERE
) -> Folder:
    """Write what a stored index says of each vertex as the table of its stage."""
    described, table, weight = BY_NAME[stage], tables.table_of(stage), graph.facts["weight"]

    def write(folder: Path) -> dict[str, Any]:
        with TemporaryDirectory(prefix=f".{stage}-files-", dir=work, ignore_cleanup_errors=True) as attempts:
            if over_shards_of(graph, cluster) and index.facts["method"] == "tree":
                written = write_over_ranks(cluster, graph, described, table, [], Path(attempts), backend, index)
            else:
                opened, dimensions = open_index(index), index.facts["dimensions"]
                batch = form_of(described).batch(opened, opened.index, tables.schema(table, weight, dimensions))
                with tables.Files(Path(attempts), table, weight, dimensions) as files:
                    files.write_whole(batch)
                written = Written(files.paths, files.rows, 0.0)
            for number, path in enumerate(written.paths):
                path.rename(folder / tables.file_name(number))
        return index.facts | {"weight": weight, "rows": written.rows}

    return make(work / stage, stage, {"graph": graph.digest, "index": index.digest}, {}, write)


def over_shards_of(graph: Folder, cluster: Cluster) -> bool:
    """Whether stages of this graph run over shards on this cluster."""
    return cluster.shards > 0 and graph.facts["vertices"] > 0


def _existing(graph: Folder, sources: Sequence[int]) -> list[int]:
    """The sources, or the default one where none is given. Raises BadSource."""
    require_sources(graph, sources)
    default = None if sources else default_source(graph)
    return list(sources) if default is None else [default]
