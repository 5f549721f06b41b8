"""One run, from the source of a graph to its published tables: the command and the flows execute this function.

What only some runs need is imported where they need it: the imports of a small graph's run take as long as its computations.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple, Protocol

from kernels.gpu.devices import obstacle
from pipeline.cluster.lazy_cluster import cluster_of
from pipeline.cluster.threads import LocalThreads
from pipeline.config.run import RunConfig, StageName
from pipeline.config.stages import QueriesConfig
from pipeline.errors import Damaged
from pipeline.ingest import ingest
from pipeline.ingest.again import steadily
from pipeline.ingest.source import locate
from pipeline.ingest.vertex_names import numbers_of
from pipeline.inspection.estimate import expected_seconds, require_fit
from pipeline.progress.shown import Shown, showing
from pipeline.redaction import quoted
from pipeline.registry.stages import ALWAYS, STAGES
from pipeline.report import draw, prepare_page
from pipeline.report.wording import read_as
from pipeline.runtime.backend import Backend, choose
from pipeline.runtime.early import hide_pandas
from pipeline.runtime.memory import return_unused
from pipeline.runtime.threads import concurrently
from pipeline.signals import beside, foreseen
from pipeline.steps.call import Call, P, R, directly
from pipeline.steps.derived.hierarchy import steps_of, stored_steps
from pipeline.steps.layout import lay_out, suited
from pipeline.steps.places.snapping import as_made, different
from pipeline.steps.products.configured import products_of, require_products
from pipeline.steps.publication.expectations import require_columns, require_graph
from pipeline.steps.publication.inputs import files_read, input_of
from pipeline.steps.publication.lookup import linked_run
from pipeline.steps.publication.places import places_of
from pipeline.steps.publication.publish import Asked, flush_tables, publish
from pipeline.steps.publication.results import Results
from pipeline.steps.publication.target import LATEST, Target, target_of
from pipeline.steps.runtime import Runtime
from pipeline.steps.sources import require_sources
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.edges import HeldEdges
from pipeline.store.manifest import Folder
from pipeline.store.sha256 import SUMS, Sums
from pipeline.store.workspace import workspace

log = logging.getLogger(__name__)


class Input(NamedTuple):
    """What the stages of a run compute on."""

    edges: Folder
    graph: Folder  # the stored graph
    sources: list[int]  # external ids


class Read(Protocol):
    """How a run gets its graph: from its source, or from the previous run and changes."""

    def __call__(self, config: RunConfig, call: Call, runtime: Runtime, begins: Callable[[], object], target: Target) -> Input:
        """The graph and the sources of the run; calls `begins` before it reads."""


def _followed(call: Call, shown: Shown, expected: Callable[[str], float | None]) -> Call:
    """Call steps in the same way, and show their progress; `expected` is the time of a step that counts nothing."""
    known = cache(expected)

    def followed(name: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return call(name, shown.follow(name, step, partial(known, name)), *args, **kwargs)

    return followed


def run(
    config: RunConfig, call: Call = directly, read: Read | None = None, target: Target | None = None, files: tuple[str, ...] = ()
) -> Folder:
    """Ingest, lay out, run the stages, prove, report and publish. If a file is replaced while it is read, start again once.

    Args:
        call: `call(name, step, *arguments)` calls each step; a flow makes it a task.
        read: None reads the source.
        target: Where the run is published; None is `target_of(config)`.
        files: What `read` reads besides the files of `config`.

    Returns:
        The published run.

    Raises:
        GraphmillError: As its steps state.
    """
    finished: list[str] = []

    def noted(name: str, step: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        result = call(name, step, *args, **kwargs)
        finished.append(name)
        return result

    with foreseen(partial(outlook, finished)):
        return steadily((*config.files, *files), lambda: _run(config, noted, read or _read, target))


def outlook(finished: list[str]) -> str:
    """What the next run does after a signal ended this one when these steps were finished."""
    if "publish" in finished:
        return "the run is published"
    if not finished:
        return "no step is finished, so the next run starts with the source"
    return f"the next run keeps {', '.join(finished)} and does the rest"


def _read(config: RunConfig, call: Call, runtime: Runtime, begins: Callable[[], object], target: Target) -> Input:
    """The graph and the sources of a run; logs how the source was read."""
    edges = call("edges", ingest, config.graph, runtime.work, runtime.held_edges, config.cluster.elsewhere, begins)
    require_columns(edges, config.expect, target)
    asked = numbers_of(edges, config.sources)
    layout = suited(config.layout, edges, config.cluster.shards)
    graph = call("graph", lay_out, edges, layout, runtime, [one for one in asked if isinstance(one, int)])
    sources = sources_of(config, edges, graph, target, runtime)
    read = read_as(input_of(edges, graph)).items()
    log.info("%s", quoted(f"{config.graph.title} was read as: {'; '.join(f'{what.lower()}: {said}' for what, said in read)}"))
    return Input(edges, graph, sources)


def sources_of(config: RunConfig, edges: Folder, graph: Folder, target: Target, runtime: Runtime) -> list[int]:
    """The external ids of a run's sources. Raises BadSource, and Refused for a graph that `[expect]` does not allow."""
    sources = different(edges, graph, numbers_of(edges, config.sources), runtime)
    require_sources(graph, sources)
    require_graph(graph, config.expect, target)
    return sources


def _run(config: RunConfig, call: Call, read: Read, target: Target | None) -> Folder:
    hide_pandas()
    backend = choose(config.backend)
    with workspace(config.output) as work, cluster_of(config.cluster, backend) as cluster, showing() as shown:
        call = _followed(call, shown, partial(expected_seconds, config, backend, work))
        if config.publish_to:
            from pipeline.steps.publication.remote import require_store

            call("destination", require_store, config.publish_to)
        target = target or target_of(config)
        if target.why_not_latest:
            latest = config.output / LATEST
            log.warning("%s stays as it is: %s. This run will be %s", latest, target.why_not_latest, target.link)
        held = HeldEdges(backend, not cluster.shards, Sums(work / SUMS))  # ranks read their parts of the edges themselves
        runtime = Runtime(work, backend, cluster, held, snap=config.snap)

        if isinstance(cluster, LocalThreads) and not (work / "edges").exists():
            cluster.prepare(backend)  # something will be made, so this need not wait until the source is digested
        begun: list[object] = []

        def begins() -> None:
            if read is _read:  # a run of changes does not read the source, which may have changed or be gone
                require_fit(config, backend)
            cluster.prepare(backend)
            begun.append(True)

        for file in (*config.files_of_vertices, *config.files_of_pairs):  # before the graph is read
            locate(file).require_local()
        given = read(config, call, runtime, begins, target)
        edges, graph = given.edges, given.graph
        require_products(config, edges, graph, runtime)
        places = places_of(config, edges, graph, runtime)
        # Not before: the layout waits for what `prepare` imports. A run of changes has begun with the report's modules already.
        if begun and read is _read:
            beside(partial(prepare_page, backend))

        answers, proofs, derived = _solved(config, call, given, runtime)
        results = Results(config.graph.title, edges, graph, answers, proofs, derived=derived, places=places)
        if config.queries:
            results = _queried(config.queries, config.oracle, call, results, runtime)
        before = stored_steps(work)
        products = [call(name, step, runtime) for name, step in products_of(config, edges, graph)]
        hierarchies = [replace(step, reused=step in before) for step in steps_of(graph, work)] if products else []
        results = replace(results, products=products, hierarchies=hierarchies)
        cluster.release()
        if config.named:
            from pipeline.steps.derived.names import add_names

            step_of = {table.manifest.step: table for table in results.tabled}
            named = {step: call(f"named-{step}", add_names, edges, table, runtime) for step, table in step_of.items()}
            results = replace(results, named=named)
        if config.changes.tables or (config.changes.tables is None and read is not _read):
            results = replace(results, changes=_changes(config, call, results, target, runtime))
        flushed = beside(partial(flush_tables, results))  # the disk writes them while the report is drawn
        results = replace(results, sha256=runtime.held_edges.sums.of(file.blake3 for file in files_read(edges)))
        results = replace(results, report=call("report", draw, results, runtime))
        flushed.result()
        return _published(config, call, results, Asked(target, config.expect, config.keep, config.publish_to), backend)


def _queried(queries: QueriesConfig, oracle: bool, call: Call, results: Results, runtime: Runtime) -> Results:
    """The results with the answers to queries, and with their paths if these are asked for."""
    from pipeline.steps.paths import find_paths
    from pipeline.steps.reach import answer_queries

    reached = call("reached", answer_queries, queries, results.answers, oracle, runtime)
    paths = call("paths", find_paths, results.graph, reached, runtime.work / "paths", runtime) if queries.witness else None
    return replace(results, reached=reached, paths=paths)


def _changes(config: RunConfig, call: Call, results: Results, target: Target, runtime: Runtime) -> Folder | None:
    """The change tables since the run that the link names, if that run can be read."""
    if not target.previous:
        log.info("change_tables: none, because %s did not name a run before", config.output / target.link)
        return None
    from pipeline.comparison.tabulate import STEP, tabulate_changes
    from pipeline.comparison.versions import of_run, of_step

    try:
        before = of_run(linked_run(config.output / target.link))
        now = {name: of_step(table) for name, table in results.published.items()}
        return call(STEP, tabulate_changes, runtime.work / STEP, before, now, results.edges)
    except Damaged as damage:
        log.warning("change_tables: none, because the previous run cannot be read: %s", damage)
        return None


def _published(config: RunConfig, call: Call, results: Results, asked: Asked, backend: Backend) -> Folder:
    fallback = obstacle() if config.backend == "auto" and backend == "cpu" else None
    published = call("publish", publish, config.output, results, asked, backend, fallback)
    if config.publish_to:
        from pipeline.steps.publication.remote import upload

        call("upload", upload, published, config.publish_to, config.keep)
    return published


def _solved(config: RunConfig, call: Call, given: Input, runtime: Runtime) -> tuple[list[Folder], list[Folder], list[Folder]]:
    """The answers of the stages, their proofs, and the tables of vertices that are made from answers."""
    edges, graph, sources = given

    def tables_behind(stage: StageName, answer: Folder) -> list[Callable[[], Folder | None]]:
        """The steps that make tables of vertices from this answer; `publish` requires that it was proved."""
        return [partial(call, table.name, table.resolve("step"), edges, graph, answer, runtime) for table in STAGES[stage].tables]

    at_once, ranks_on_gpus = runtime.stages_at_once(graph), runtime.backend == "gpu" and runtime.cluster.shards > 0

    def answer_and_prove(stage: StageName) -> tuple[Folder, Folder, list[Future[Folder | None]]]:
        return_unused()
        answer = call(stage, run_stage, graph, stage, sources, runtime, getattr(config, stage, None))
        answer = as_made(answer, edges, graph, runtime)
        return_unused()
        tables = [threads.submit(partial(copy_context().run, step)) for step in tables_behind(stage, answer)]
        if alone:
            wait(tables)
        proof = call(f"proof-{stage}", prove, graph, answer, config.oracle, runtime)
        return_unused()
        return answer, proof, tables

    needed = (*config.stages, *(stage for stage in ALWAYS if stage not in config.stages))
    alone = at_once <= len(needed) and isinstance(runtime.cluster, LocalThreads) and not ranks_on_gpus  # no cores are left
    in_turn = sorted(needed, key=lambda stage: not any(table.slow for table in STAGES[stage].tables))
    with ThreadPoolExecutor() as threads:
        found = dict(zip(in_turn, concurrently(answer_and_prove, in_turn, at_once), strict=True))
    made = [found[stage] for stage in needed]
    answers = [found[stage][0] for stage in config.stages]
    proofs = [proof for _, proof, _ in made]
    derived = [folder for *_, tables in made for table in tables if (folder := table.result())]
    return answers, proofs, derived
