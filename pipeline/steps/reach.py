"""Queries: a Parquet file of pairs in, the same rows with their answers out, from a stored index and in bounded memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pipeline import progress
from pipeline.cluster.open_graphs import require_visible
from pipeline.cluster.protocol import TaskContext
from pipeline.cluster.start import started
from pipeline.config.loading import checked
from pipeline.config.stages import QueriesConfig, QueryOptions
from pipeline.errors import BadConfig
from pipeline.ingest.again import steadily
from pipeline.ingest.source import identify, locate, require_same
from pipeline.runtime.backend import choose
from pipeline.steps.derived.names import as_named, is_named, naming, require_strings
from pipeline.steps.destination import flushed, prepare
from pipeline.steps.pairs import PairBlock, batches, blocks
from pipeline.steps.paths import STEP as PATHS
from pipeline.steps.paths import find_paths, graph_of_index
from pipeline.steps.queries import STEP, Queries, QueryCounts, Unknown
from pipeline.steps.runtime import Runtime
from pipeline.store.index.arrays import open_index
from pipeline.store.index.folder import find_index, index_of
from pipeline.store.manifest import Folder, make
from pipeline.store.names import names_beside
from pipeline.store.scratch import attempts_beside, new_attempt
from pipeline.tables import files as tables


def reach(
    index: Folder, pairs: str, out: Path, unknown: Unknown = "error", oracle: bool = False, runtime: Runtime | None = None
) -> Folder:
    """Answer whether a path leads from `src` to `dst`, for every row of a Parquet file.

    Args:
        index: From `find_index` or `build_index`.
        pairs: Path of a Parquet file with columns `src` and `dst`, external ids or names; others are not read.
        out: The folder to write, or to keep if it has these very answers.
        unknown ({"error", "null"}): A vertex that the graph does not have is an error, or null in `reachable` and `decided`.
        oracle: Also search for 1,000 pairs of every 2^20 without labels, and compare.
        runtime: Where queries are answered; each file of the table is a task. The table is the same. None: on the CPU, by
            threads.

    Returns:
        Table `reached`, in the order of `pairs`; a file has the row groups of `pairs` that have no more than 4 million rows
            together, at least one. Facts: `QueryFacts`.

    Raises:
        BadInput: The file is not there, is no such Parquet file, or has a null or an unknown vertex: the message has the row,
            from 0.
        ProofFailed: A search's answer is not proved (`kernels.reachability.certificate.answers`), or the oracle contradicts an
            answer.
        TooLarge: The index may take more memory than is free.
        ClusterLost: As `cluster.map`.
    """
    runtime = runtime or Runtime(out.parent)
    cluster, backend = runtime.cluster, runtime.backend
    source = locate(pairs)
    path, inputs = source.require_local(), {"index": index.digest, "pairs": identify(source, None)}

    def write(folder: Path) -> dict[str, Any]:
        counts = QueryCounts()
        query = _Query(index, path, pairs, unknown, oracle)
        tasks = blocks(path, pairs, tables.ROWS_PER_FILE)
        written = cluster.map(partial(_write_file, query, attempts_beside(folder)), tasks, backend, one_at_a_time=True)
        for number, ((file, of_file),) in enumerate(
            progress.counted(written, [task.end - task.first for task in tasks], "pairs")
        ):
            file.rename(folder / tables.file_name(number))
            counts.add(of_file)
        require_same(source, inputs["pairs"])
        return counts.facts(oracle, backend).stored()

    parameters = {"unknown": unknown, "oracle": oracle, **as_named(runtime)}
    return flushed(make(out, STEP, inputs, parameters, naming(runtime, STEP, write)))


def reach_into(index: Path, pairs: str, out: Path, **given: Any) -> Folder:
    """The command `graphmill reach`: answer pairs from the index of a run into any folder, as `QueryOptions` asks.

    With `witness`, another folder, `find_paths` writes the paths of these answers into it; if it fails, the answers stay.

    Raises:
        BadConfig: An option has a wrong value; there is no index, or not the graph that it was made from; a folder is a URL, or
            holds files that no earlier call wrote and that would be lost; or it is inside a run or a step, whose files would then
            differ from its manifest.
    """
    options = checked(QueryOptions, "options", pairs=pairs, output=out, **given)
    out, witness = options.output, options.witness
    if witness and (witness == out or out in witness.parents or witness in out.parents):
        raise BadConfig(f"{witness}: the folder of the paths must be another one than that of the answers, {out}, and not in it")
    folders = [(out, STEP), *([(witness, PATHS)] if witness else [])]
    for folder, step in folders:
        prepare(folder, step)
    stored_index, backend = find_index(index), choose(options.backend)
    graph = graph_of_index(stored_index) if witness else None
    names = require_strings(names_beside(stored_index)) if is_named(options.named, stored_index.path.parent) else None
    with started(options.cluster, backend) as cluster:
        runtime = Runtime(out.parent, backend, cluster, names=names)
        answers = steadily([pairs], lambda: reach(stored_index, pairs, out, options.unknown, options.oracle, runtime))
        if witness and graph:
            flushed(find_paths(graph, answers, witness, runtime))
        return answers


def answer_queries(queries: QueriesConfig, answers: Sequence[Folder], oracle: bool, runtime: Runtime) -> Folder:
    """Answer the queries of a run into `work / "reached"`; `answers` has that of stage reachability."""
    (index,) = (index_of(answer) for answer in answers if "index" in answer.manifest.inputs)
    return reach(index, queries.pairs, runtime.work / STEP, queries.unknown, oracle, runtime)


@dataclass(frozen=True)
class _Query:
    """The request to every task; errors refer to the file at `path` by `name`."""

    index: Folder
    path: Path
    name: str
    unknown: Unknown
    oracle: bool


def _write_file(query: _Query, attempts: Path, context: TaskContext, block: PairBlock) -> tuple[Path, QueryCounts]:
    """Write one file of answers under a name that no other attempt has."""
    require_visible(query.path)
    stored = context.index(query.index)
    searched = (stored if context.backend == "cpu" else open_index(query.index)) if query.oracle else None
    queries = Queries(stored, context.backend, query.name, block.first, query.unknown, searched)
    attempt = new_attempt(attempts)
    pairs = batches(query.path, query.name, block, query.index, query.unknown == "error")
    tables.write_file(attempt, STEP, None, map(queries.answer, pairs))
    return attempt, queries.counts
