"""Solve for the answers of one algorithm, and write the files of its table.

Every rank of a group does the same: it solves for its part of the graph and writes its files of the table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kernels.algorithm import Algorithm, AnswerTooLarge
from kernels.cpu.parallel import cores
from kernels.records import dataclass
from kernels.spans import span
from pipeline import progress
from pipeline.comparison.earlier import EarlierTable
from pipeline.errors import BadInput, TooLarge
from pipeline.runtime.backend import Backend, Clock
from pipeline.runtime.memory import free_memory
from pipeline.runtime.threads import map_in_order
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import default_source, rows_of_sources
from pipeline.store.code import Code
from pipeline.store.facts import GraphFacts, IndexFacts, StageFacts, on_cpu, over_ranks
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside
from pipeline.tables import files as tables

if TYPE_CHECKING:
    from pipeline.cluster.held_graph import HeldGraph
    from pipeline.cluster.protocol import TaskContext


def solve(graph: Folder, algorithm: Algorithm, sources: Sequence[int], runtime: Runtime, options: Mapping[str, Any]) -> Folder:
    """Solve, and write the table: the step of an algorithm without an index; see `pipeline.steps.stages.run_stage`."""
    name, code = algorithm.name, Code.of(__name__, algorithm=algorithm, functions=("solver", "sharded_solver", "answer"))
    parameters: dict[str, Any] = {"sources": sorted(sources)} if algorithm.has_sources else {}
    parameters |= {"options": dict(options)} if algorithm.options else {}
    ranks = runtime.shards_for(algorithm, graph)
    if not algorithm.exact:
        parameters |= {"backend": runtime.backend, "over_shards": ranks > 0}

    def write(folder: Path) -> dict[str, Any]:
        request = AnswerRequest(
            graph, algorithm, code, _existing(graph, parameters["sources"]) if algorithm.has_sources else (), options=options,
            earlier=EarlierTable.of(runtime.work / name, name, code.version()),
        )  # fmt: skip
        written = write_table(folder, request, runtime, runtime.ranks_for(algorithm, graph))
        given = {key: value for key, value in parameters.items() if key == "options"}
        given |= {"sources": request.sources} if algorithm.has_sources else {}
        given |= runtime.opened(graph) if algorithm.opens_whole_graph else {}
        return StageFacts(
            backend=runtime.backend, weight=GraphFacts.of(graph).weight, rows=written.rows, seconds=written.seconds,
            **given, **over_ranks(ranks, written.supersteps), **on_cpu(written.on_cpu), **runtime.arcs_in(graph),
        ).stored()  # fmt: skip

    return make(runtime.work / name, name, {"graph": graph.digest}, parameters, write, code)


@dataclass(frozen=True)
class AnswerRequest:
    """What all ranks are asked: an algorithm's answers from some sources, or from none, solved or read from an index."""

    graph: Folder
    algorithm: Algorithm
    code: Code
    sources: Sequence[int]
    index: Folder | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    earlier: EarlierTable = field(default_factory=EarlierTable)  # whose files are linked where they have the same rows


@dataclass(frozen=True)
class TableFiles:
    """Files of a table by their numbers; their rows, and seconds in the kernel, supersteps and `on_cpu` of their answers."""

    files: dict[int, Path]
    rows: int
    seconds: float
    supersteps: int
    on_cpu: int  # how often the CPU took over


def write_table(folder: Path, request: AnswerRequest, runtime: Runtime, ranks: int) -> TableFiles:
    """Write all files of a table into `folder`; tasks are the answers of one file, or all answers for a larger group."""
    answers = len(request.sources) if request.algorithm.has_sources else 1
    tasks = [range(answers)] if ranks else tables.by_file(answers, GraphFacts.of(request.graph).vertices)
    rows, seconds, supersteps, times = 0, 0.0, 0, 0
    run = partial(_write, request, rows_of_sources(request.graph, request.sources), attempts_beside(folder))
    written = runtime.cluster.map(run, tasks, runtime.backend, ranks, code=request.code)
    for parts in progress.counted(written, list(map(len, tasks)), "sources"):
        for number, path in (file for part in parts for file in part.files.items()):
            path.rename(folder / tables.file_name(number))
        rows += sum(part.rows for part in parts)
        seconds += max(part.seconds for part in parts)
        supersteps += parts[0].supersteps
        times += sum(part.on_cpu for part in parts)
    return TableFiles({}, rows, round(seconds, 6), supersteps, times)


def _write(request: AnswerRequest, rows: Sequence[int], attempts: Path, context: "TaskContext", answers: range) -> TableFiles:
    """Write this rank's files of some answers under names that no other attempt has."""
    from pipeline.tables.forms import form_of

    algorithm, facts = request.algorithm, GraphFacts.of(request.graph)
    clock, form = Clock(context.backend), form_of(algorithm)
    if request.index:
        indexed = context.graph_with_index(request.graph)
        held: HeldGraph = indexed
        answer = indexed.index_reader(request.index)
    else:
        held = context.graph_for(algorithm, request.graph)
        answer = partial(held.solver(algorithm), **_within_memory(algorithm, request.options, context.backend))
    dimensions = IndexFacts.of(request.index).dimensions if request.index else 0
    schema = tables.schema(algorithm.table_name, facts.weight, dimensions, facts.measure)
    encoders = held.threads if context.backend == "cpu" else cores()  # a GPU runs one kernel at a time, but files need only cores

    def tabulate(number: int) -> tuple[int, Iterator[tuple[int, pa.RecordBatch]]]:
        with context.turn(), clock.timed(), span(f"solve {algorithm.name}", "solve"):
            part = answer(*map(held.row, rows[number : number + 1]))
        return part.supersteps, held.batches(form, part.answer, schema, number)

    supersteps = 0
    try:
        with tables.Files(attempts, schema, tables.keys(algorithm.table_name), encoders, request.earlier.write) as files:
            for taken, batches in map_in_order(tabulate, answers, min(held.threads, len(answers) or 1)):
                supersteps += taken
                progress.advance()
                for number, batch in batches:
                    files.write(number, batch)
            if not answers:
                files.begin(0)
    except ArithmeticError as error:
        raise BadInput(request.graph.path, f"{algorithm.name}: {error}") from error
    except AnswerTooLarge as error:
        raise TooLarge(f"{algorithm.name}: {error}") from error
    return TableFiles(files.paths, files.rows, clock.seconds, supersteps, clock.on_cpu)


def _within_memory(algorithm: Algorithm, options: Mapping[str, Any], backend: Backend) -> Mapping[str, Any]:
    """The options; a limit of rows is no higher than what free memory holds, on this machine and on the GPU that solves."""
    if not algorithm.row_bytes or "limit" not in options:
        return options
    free = min(free_memory(), free_memory(backend))
    return {**options, "limit": min(options["limit"], free // algorithm.row_bytes)}


def _existing(graph: Folder, sources: Sequence[int]) -> list[int]:
    """The sources, or the default one where none is given. Raises BadSource."""
    rows_of_sources(graph, sources)
    default = None if sources else default_source(graph)
    return list(sources) if default is None else [default]
