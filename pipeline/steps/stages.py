"""Stages: a stored graph in, the table of one algorithm out, in external ids and sorted as it will be published.

A stage is the same on every rank of a group: a rank solves for its part of the graph and writes its files of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from kernels.algorithm import Algorithm
from kernels.registry import BY_NAME
from pipeline.cluster.protocol import Cluster, Place
from pipeline.config.reachability import ReachabilityConfig
from pipeline.config.run import StageName
from pipeline.errors import BadInput
from pipeline.runtime.backend import Backend, Clock
from pipeline.runtime.threads import map_in_order
from pipeline.steps.index import build_index
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import default_source, rows_of_sources
from pipeline.store.attempts import attempts_at
from pipeline.store.code import code_of_algorithm
from pipeline.store.facts import GraphFacts, IndexFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from pipeline.tables.forms import form_of


def run_stage(
    graph: Folder, stage: StageName, sources: Sequence[int], runtime: Runtime, reachability: ReachabilityConfig | None = None
) -> Folder:
    """Run one algorithm and write its table.

    Parameters
    ----------
    graph : Folder
        The stored graph.
    stage : str
        One of `BY_NAME`; the folder is `work / stage`.
    sources : sequence of int
        External ids, for the stages that have sources; empty takes `default_source`.
    runtime : Runtime
        The table is the same on every backend and cluster, and so is the step's key, except for a stage that is not `exact`.
    reachability : ReachabilityConfig or None
        The labels of stage `reachability`; None takes the defaults. Its index is a step of its own.

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
    algorithm = BY_NAME[stage]
    if algorithm.has_index:
        return tabulate_index(graph, algorithm, build_index(graph, reachability or ReachabilityConfig(), runtime), runtime)
    asked: dict[str, Any] = {"sources": sorted(sources)} if algorithm.has_sources else {}
    ranks = runtime.ranks_of(graph)
    if not algorithm.exact:
        asked |= {"backend": runtime.backend, "over_shards": ranks > 0}

    def write(folder: Path) -> dict[str, Any]:
        request = _Request(graph, algorithm, _existing(graph, asked["sources"]) if algorithm.has_sources else ())
        written = _write_table(folder, request, runtime.cluster, runtime.backend, ranks)
        facts: dict[str, Any] = {
            "backend": runtime.backend,
            "weight": GraphFacts.of(graph).weight,
            "rows": written.rows,
            "seconds": written.seconds,
        }
        facts |= {"sources": request.sources} if algorithm.has_sources else {}
        return facts | ({"shards": ranks, "supersteps": written.supersteps} if ranks else {})

    return make(runtime.work / stage, stage, {"graph": graph.digest}, asked, write, code_of_algorithm(algorithm, __name__))


def tabulate_index(graph: Folder, algorithm: Algorithm, index: Folder, runtime: Runtime) -> Folder:
    """Write the labels of each vertex in a stored index as the table of their stage."""
    name = algorithm.name

    def write(folder: Path) -> dict[str, Any]:
        ranks = runtime.ranks_of(graph) if IndexFacts.of(index).method == "tree" else 0
        where = runtime if ranks else runtime.here()
        written = _write_table(folder, _Request(graph, algorithm, (), index), where.cluster, where.backend, ranks)
        return index.facts | {"weight": GraphFacts.of(graph).weight, "rows": written.rows}

    inputs = {"graph": graph.digest, "index": index.digest}
    return make(runtime.work / name, name, inputs, {}, write, code_of_algorithm(algorithm, __name__))


@dataclass(frozen=True)
class _Request:
    """What all ranks are asked: an algorithm's answers from some sources, or from none, solved or read from an index."""

    graph: Folder
    algorithm: Algorithm
    sources: Sequence[int]
    index: Folder | None = None


@dataclass(frozen=True)
class _Written:
    """Files of a table by their numbers; their rows, and the seconds in the kernel and supersteps of their answers."""

    files: dict[int, Path]
    rows: int
    seconds: float
    supersteps: int


def _write_table(folder: Path, request: _Request, cluster: Cluster, backend: Backend, ranks: int) -> _Written:
    """Write all files of a table into `folder`; tasks are the answers of one file, or all answers for a larger group."""
    answers = len(request.sources) if request.algorithm.has_sources else 1
    tasks = [range(answers)] if ranks else tables.by_file(answers, GraphFacts.of(request.graph).vertices)
    rows, seconds, supersteps = 0, 0.0, 0
    with attempts_at(request.algorithm.name, folder.parent) as attempts:
        stored_rows = rows_of_sources(request.graph, request.sources)
        for parts in cluster.map(partial(_write, request, stored_rows, attempts), tasks, backend, ranks):
            for number, path in (file for part in parts for file in part.files.items()):
                path.rename(folder / tables.file_name(number))
            rows += sum(part.rows for part in parts)
            seconds += max(part.seconds for part in parts)
            supersteps += parts[0].supersteps
    return _Written({}, rows, round(seconds, 6), supersteps)


def _write(request: _Request, rows: Sequence[int], attempts: Path, place: Place, answers: range) -> _Written:
    """Write this rank's files of some answers under names that no other attempt has."""
    algorithm, weight = request.algorithm, GraphFacts.of(request.graph).weight
    held, clock, form = place.graph(request.graph), Clock(place.backend), form_of(algorithm)
    solve = clock.timed(held.index_reader(request.index) if request.index else held.solver(algorithm))
    dimensions = IndexFacts.of(request.index).dimensions if request.index else 0
    schema = tables.schema(algorithm.table_name, weight, dimensions)

    def tabulate(number: int) -> tuple[int, Iterator[tuple[int, pa.RecordBatch]]]:
        part = solve(*map(held.row, rows[number : number + 1]))
        return part.supersteps, held.batches(form, part.answer, schema, number)

    supersteps = 0
    try:
        with tables.Files(attempts, algorithm.table_name, weight, dimensions) as files:
            for taken, batches in map_in_order(tabulate, answers, min(held.threads, len(answers) or 1)):
                supersteps += taken
                for number, batch in batches:
                    files.write(number, batch)
            if not answers:
                files.begin(0)
    except OverflowError as error:
        raise BadInput(request.graph.path, f"{algorithm.name}: {error}") from error
    return _Written(files.paths, files.rows, clock.seconds, supersteps)


def _existing(graph: Folder, sources: Sequence[int]) -> list[int]:
    """The sources, or the default one where none is given. Raises BadSource."""
    rows_of_sources(graph, sources)
    default = None if sources else default_source(graph)
    return list(sources) if default is None else [default]
