"""PageRank from seeds: many answers at a time, so that the kernel reads each arc once for all of them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kernels.algorithm import Algorithm
from kernels.answers import Certificate, Ranking
from kernels.cpu.parallel import cores
from kernels.pagerank.parameters import Personalization
from kernels.pagerank.seeded.constants import COLUMNS
from pipeline import progress
from pipeline.cluster.held_graph import HeldGraph
from pipeline.cluster.protocol import TaskContext
from pipeline.config.stages import PageRankConfig
from pipeline.errors import ProofFailed
from pipeline.runtime.backend import Clock
from pipeline.runtime.memory import free_memory
from pipeline.steps.answers import TableFiles
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import rows_of_sources
from pipeline.store.code import Code
from pipeline.store.facts import GraphFacts, StageFacts, over_ranks
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside
from pipeline.tables import files as tables
from pipeline.tables.answer_table import AnswerTable
from pipeline.tables.forms import RANKINGS, form_of

_ARRAYS = 6  # doubles for each vertex and ranking that solving or proving one takes


def rank(graph: Folder, algorithm: Algorithm, options: Mapping[str, Any], runtime: Runtime) -> Folder:
    """Solve for all seeds, and write the table; see `pipeline.steps.stages.run_stage`. `seeds` are external ids, ascending.

    The bits of the scores are the same on every backend and cluster.
    """
    code = Code.of(__name__, algorithm=algorithm, functions=("seeded_solver", "sharded_seeded_solver", "answer"))
    name, parameters, facts = algorithm.name, {"options": dict(options)}, GraphFacts.of(graph)
    ranks = runtime.ranks_of(graph)

    def write(folder: Path) -> dict[str, Any]:
        rows = rows_of_sources(graph, options["seeds"])
        answers = 1 if options["together"] else len(rows)
        tasks = [range(answers)] if ranks else tasks_of(answers, facts.vertices)
        run = partial(_write, graph, algorithm, (options, rows), attempts_beside(folder))
        written = runtime.cluster.map(run, tasks, runtime.backend, ranks, code=code)
        total, seconds, supersteps = 0, 0.0, 0
        for parts in progress.counted(written, [*map(len, tasks)], "seeds"):
            for number, path in (file for part in parts for file in part.files.items()):
                path.rename(folder / tables.file_name(number))
            total += sum(part.rows for part in parts)
            seconds += max(part.seconds for part in parts)
            supersteps += parts[0].supersteps
        return StageFacts(
            backend=runtime.backend, weight=facts.weight, rows=total, seconds=round(seconds, 6), options=dict(options),
            **over_ranks(ranks, supersteps),
        ).stored()  # fmt: skip

    return make(runtime.work / name, name, {"graph": graph.digest}, parameters, write, code)


def tasks_of(answers: int, num_vertices: int) -> list[range]:
    """The numbers of the answers in each task: those of whole files, about as many as are computed at a time."""
    of_files = tables.by_file(answers, num_vertices)
    together = max(1, COLUMNS // max(1, len(of_files[0])))
    some = [of_files[first : first + together] for first in range(0, len(of_files), together)]
    return [range(files[0].start, files[-1].stop) for files in some]


def _write(
    graph: Folder, algorithm: Algorithm, asked_for: tuple[Mapping[str, Any], Sequence[int]], attempts: Path, context: TaskContext,
    answers: range,
) -> TableFiles:  # fmt: skip
    """Write this rank's files of some answers, of options and seeds, under names that no other attempt has."""
    options, rows = asked_for
    held, clock, supersteps = context.graph(graph), Clock(context.backend), 0
    personalizations, more = _personalizations(held, options, rows), _others(options)
    schema = _schema(graph, algorithm, bool(options["together"]))
    solve, form = held.seeded_solver(algorithm), form_of(algorithm) if options["together"] else RANKINGS
    encoders = held.threads if context.backend == "cpu" else cores()
    with tables.Files(attempts, schema, tables.keys(algorithm.table_name, schema.names), encoders) as files:
        for some in _batches(held, graph, answers):
            with context.turn(), clock.timed():
                parts = solve([personalizations[number] for number in some], **more)
            for number, part in zip(some, parts, strict=True):
                supersteps += part.supersteps
                alone = part.answer if options["together"] else Ranking(int(personalizations[number].rows[0]), part.answer.scores)
                for file, batch in held.batches(form, alone, schema, number):
                    files.write(file, batch)
                progress.advance()
    return TableFiles(files.paths, files.rows, clock.seconds, supersteps, clock.on_cpu)


def certify_rankings(graph: Folder, table: AnswerTable, context: TaskContext, answers: range) -> tuple[str, ...]:
    """The rules by which some answers hold, many at a time. Raises ProofFailed."""
    held, options = context.graph(graph), table.facts.options or {}
    personalizations, more = _personalizations(held, options, rows_of_sources(graph, options["seeds"])), _others(options)
    certify, rules = held.seeded_certifier(table.algorithm), tuple[str, ...]()
    for some in _batches(held, graph, answers):
        read = [held.read(table, number) for number in some]
        with context.turn():
            verdicts: list[Certificate] = certify(read, [personalizations[number] for number in some], **more)
        for verdict in verdicts:
            rules = verdict.rules
            progress.advance()
            if not verdict.holds:
                raise ProofFailed(f"{table.algorithm.name}: {verdict.reason}")
    return rules


def options_of(held: HeldGraph, graph: Folder, table: AnswerTable, number: int) -> dict[str, Any]:
    """The options of an oracle for one of the answers."""
    options = table.facts.options or {}
    personalizations = _personalizations(held, options, rows_of_sources(graph, options["seeds"]))
    return {**_others(options), "personalization": personalizations[number]}


def _personalizations(held: HeldGraph, options: Mapping[str, Any], stored: Sequence[int]) -> list[Personalization]:
    """The personalization of each answer, from the stored rows of the seeds."""
    rows = [held.row(row) for row in stored]
    if not options["together"]:
        return [*map(Personalization.to, rows)]
    weights = np.array(options["seed_weights"] or [1.0] * len(rows))
    return [Personalization(np.array(rows, np.int64), weights / weights.sum())]


def _others(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in PageRankConfig.SEEDS}


def _batches(held: HeldGraph, graph: Folder, answers: range) -> Iterator[range]:
    """The answers that are computed at a time, as many as half of the free memory has place for; the same on all ranks."""
    own = _ARRAYS * 8 * max(1, GraphFacts.of(graph).vertices // held.communicator.size)
    most = held.communicator.min(max(1, min(COLUMNS, free_memory() // 2 // own)))
    return (answers[first : first + most] for first in range(0, len(answers), most))


def _schema(graph: Folder, algorithm: Algorithm, together: bool) -> Any:
    facts = GraphFacts.of(graph)
    return tables.schema(algorithm.table_name, facts.weight, measure=facts.measure, seeded=not together)
