"""The stages of a run: their answers, each followed by its proof, and the tables of vertices that are made from answers.

Tables of the stored graph, which need no answer, are made beside them.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kernels.registry import BY_NAME
from pipeline.config.run import RunConfig, StageName
from pipeline.progress.shown import Steps
from pipeline.registry.graph import GRAPH_TABLES
from pipeline.registry.stages import ALWAYS, STAGES
from pipeline.runtime.memory import return_unused
from pipeline.runtime.threads import concurrently
from pipeline.steps.places import as_made
from pipeline.steps.products.whole_graphs import opens_all
from pipeline.steps.publication.results import Results
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder

if TYPE_CHECKING:
    from pipeline.steps.turns.turned import Turned


class Input(NamedTuple):
    """What the stages of a run compute on."""

    edges: Folder
    graph: Folder  # the stored graph
    sources: list[int]  # external ids
    capacities: Folder | None = None  # the stored graph of stages that add parallel arcs, if that is another one
    source: Folder | None = None  # the edge list as it was read, if `edges` has places on its streets
    turned: "Turned | None" = None  # the graph of stages of paths, if turns matter


def solve_stages(config: RunConfig, given: Input, runtime: Runtime, steps: Steps) -> Results:
    """Compute and prove the answers of all stages, as many at the same time as memory allows."""
    edges, graph, sources, capacities, _, turned = given
    others = runtime.without_pinned(graph)
    needed = (*config.stages, *(stage for stage in ALWAYS if stage not in config.stages))
    whole = {stage for stage in needed if runtime.cluster.shards and opens_all(config, stage)}
    at_once = 1 if whole else runtime.stages_at_once(graph)
    ranks_on_gpus = runtime.backend == "gpu" and runtime.ranks_of(graph) > 0
    no_cores_left = runtime.in_this_process and at_once <= len(needed)
    # Each worker has its part of the arrays of every step over shards
    one_by_one = not ranks_on_gpus and (no_cores_left or (runtime.ranks_of(graph) > 0 and not runtime.in_this_process))

    def answer_and_prove(stage: StageName) -> tuple[Folder, Folder, list[Future[Folder | None]]]:
        return_unused()
        graph = capacities if capacities and BY_NAME[stage].adds_parallel else given.graph
        options = config.of_stages.get(stage)
        where = runtime.for_stage(BY_NAME[stage], turned.graph if turned and BY_NAME[stage].has_sources else graph, options)
        if turned and BY_NAME[stage].has_sources:
            from pipeline.steps.turns.stages import prove_turned, run_turned

            answer = steps(stage, run_turned, turned, stage, sources, where, options)
            return answer, steps(f"proof-{stage}", prove_turned, turned, answer, config.oracle, where), []
        answer = steps(stage, run_stage, graph, stage, sources, where, options)
        answer = as_made(answer, edges, graph, others)
        return_unused()
        tables = [threads.submit(partial(copy_context().run, make)) for make in _tables_of(stage, answer, given, others, steps)]
        if one_by_one:
            wait(tables)
        proof = steps(f"proof-{stage}", prove, graph, answer, config.oracle, where)
        return_unused()
        return answer, proof, tables

    # Whole graphs are opened last: where the backend computes, shards are closed for them, and would be loaded again.
    in_turn = sorted(needed, key=lambda stage: (stage in whole, not any(table.slow for table in STAGES[stage].tables)))
    with ThreadPoolExecutor() as threads:
        of_graph = [threads.submit(partial(copy_context().run, make)) for make in _tables_of_graph(config, given, others, steps)]
        solved = dict(zip(in_turn, concurrently(answer_and_prove, in_turn, at_once), strict=True))
    of_needed = [solved[stage] for stage in needed]
    derived = [table.result() for *_, tables in of_needed for table in tables]
    answers, proofs = [solved[stage][0] for stage in config.stages], [proof for _, proof, _ in of_needed]
    of_answers, tables = [*filter(None, derived)], [table.result() for table in of_graph]
    return Results(config.graph.title, edges, graph, answers, proofs, derived=of_answers, of_graph=tables, capacities=capacities,
                   turned=turned)  # fmt: skip


def _tables_of_graph(config: RunConfig, given: Input, runtime: Runtime, steps: Steps) -> list[Callable[[], Folder]]:
    """The steps that make the tables of the stored graph which the configuration wants."""
    arcs = GraphFacts.of(given.graph).arcs
    wanted = [table for table in GRAPH_TABLES.values() if table.is_wanted(config, arcs)]
    return [partial(steps, table.name, table.resolve("step"), given.edges, given.graph, runtime) for table in wanted]


def _tables_of(
    stage: StageName, answer: Folder, given: Input, runtime: Runtime, steps: Steps
) -> list[Callable[[], Folder | None]]:
    """The steps that make tables of vertices from the answer of a stage; publication requires that it was proved."""
    tables = [(table.name, table.resolve("step")) for table in STAGES[stage].tables]
    return [partial(steps, name, step, given.edges, given.graph, answer, runtime) for name, step in tables]
