"""One run, from the source of a graph to its published tables: the command and the flows execute this function.

What only some runs need is imported where they need it: the imports of a small graph's run take as long as its computations.
"""

import logging
from dataclasses import replace
from functools import partial

from kernels.gpu.devices import obstacle
from pipeline.cluster.lazy_cluster import RunCluster, cluster_of
from pipeline.config.run import RunConfig
from pipeline.errors import Damaged
from pipeline.ingest.again import steadily
from pipeline.progress.shown import Call, Steps, showing
from pipeline.reading import FromSource, Read
from pipeline.report import draw
from pipeline.runtime.backend import Backend, choose, limited_gpu
from pipeline.runtime.early import hide_pandas
from pipeline.runtime.memory import limited_to
from pipeline.runtime.memory_watch import watched
from pipeline.signals import beside, foreseen
from pipeline.steps.products.configured import custom_of, products_of, require_files, require_products
from pipeline.steps.products.vertices import with_sources
from pipeline.steps.publication.facts import files_read
from pipeline.steps.publication.places import places_of
from pipeline.steps.publication.publish import PublishOptions, flush_tables, publish
from pipeline.steps.publication.results import Results
from pipeline.steps.publication.target import Target, target_of
from pipeline.steps.runtime import Runtime, checks, lays_out_here
from pipeline.steps.solving import Input, solve_stages
from pipeline.store.digests import SUMS, Sums
from pipeline.store.edges import HeldEdges
from pipeline.store.manifest import Folder
from pipeline.store.workspace import linked_run, workspace

log = logging.getLogger(__name__)


def run(config: RunConfig, call: Call | None = None, read: Read | None = None, target: Target | None = None) -> Folder:
    """Ingest, lay out, run the stages, prove, report and publish. If a file is replaced while it is read, start again once.

    Args:
        call: `call(name, step, *arguments)` calls each step; a flow makes it a task.
        read: None reads the source.
        target: Where the run is published; None is `target_of(config)`.

    Returns the published run. Raises GraphmillError as its steps state.
    """
    hide_pandas()
    backend, read = choose(config.backend), read or FromSource()
    with showing() as shown:
        steps = Steps(shown, partial(_expected_seconds, config, backend), call)
        limits = config.limits
        gpu = limits.gpu_bytes if backend == "gpu" else None
        with foreseen(steps.outlook), limited_to(limits.bytes), limited_gpu(gpu), watched(shown.names):
            return steadily((*config.files, *read.files), partial(_run, config, backend, read, target, steps))


def _expected_seconds(config: RunConfig, backend: Backend, step: str) -> float | None:
    from pipeline.inspection.estimate import expected_seconds

    return expected_seconds(config, backend, step)


def _run(config: RunConfig, backend: Backend, read: Read, target: Target | None, steps: Steps) -> Folder:
    with (
        workspace(config.output) as work,
        cluster_of(config.cluster, backend) as cluster,
        checks() as checking,
    ):
        if config.publish_to:
            from pipeline.steps.publication.remote import require_store

            steps("destination", require_store, config.publish_to)
        target = target or target_of(config)
        if target.why_not_latest:
            log.warning("%s/latest stays as it is: %s. This run will be %s", config.output, target.why_not_latest, target.link)
        held = HeldEdges(backend, lays_out_here(cluster), Sums(work / SUMS))
        runtime = Runtime(
            work, backend, cluster, held, snap=config.snap, places=config.places, zones=config.zones, checking=checking
        )
        if runtime.in_this_process and not (work / "edges").exists():
            beside(
                partial(_prepare, cluster, backend)
            )  # something will be made, so this need not wait until the source is digested
        require_files(config)
        given = read(config, runtime, steps, partial(cluster.prepare, backend), target)
        on_gpu, runtime = runtime, runtime.without_pinned(given.graph)
        if config.files_of_pairs:
            from pipeline.steps.pairs.placed import with_vertices

            config = with_vertices(config, given.edges, given.graph, runtime)
        require_products(config, given.edges, given.graph, runtime)
        with_ids = with_sources(config, given.edges, given.graph, runtime)
        places = places_of(config, given.edges, given.graph, runtime)
        wants_changes = config.changes.tables or (config.changes.tables is None and not read.reads_source)
        results = solve_stages(_with_seeds(with_ids, given, runtime), given, on_gpu, steps)
        results = replace(results, places=places, source=given.source)
        results = _with_places(config, results, runtime, steps)
        results = _with_queries(config, results, runtime, steps)
        results = _with_products(config, results, runtime, steps)
        cluster.release()
        results = _with_names(config, results, runtime, steps)
        if wants_changes:
            results = _with_changes(config, results, target, runtime, steps)
        flushed = beside(partial(flush_tables, results))  # the disk writes them while the report is drawn
        results = replace(results, report=steps("report", draw, results, runtime))
        results = replace(results, sha256=held.sums.of(file.blake3 for file in files_read(given.edges)))
        for background in (flushed, *checking):
            background.result()
        return _publish(config, results, target, backend, steps)


def _prepare(cluster: RunCluster, backend: Backend) -> None:
    """Load what computes, on a CPU after what reads: one thread at a time can import, and then a core reads meanwhile."""
    if backend == "cpu":
        import pipeline.ingest.edges  # noqa: F401
    cluster.prepare(backend)


def _with_seeds(config: RunConfig, given: Input, runtime: Runtime) -> RunConfig:
    """The configuration with the vertices of its seeds, if it names some."""
    if not config.has_seeds:
        return config
    from pipeline.steps.seeded.vertices import with_seeds

    return with_seeds(config, given.edges, given.graph, runtime)


def _with_places(config: RunConfig, results: Results, runtime: Runtime, steps: Steps) -> Results:
    """The results with table `places`, if there are files of places."""
    if not config.files_of_vertices:
        return results
    from pipeline.steps.places.files import has_places

    if not any(has_places(file, config.places) for file in config.files_of_vertices):
        return results
    from pipeline.steps.places.table import STEP, tabulate_places

    return replace(results, placed=steps(STEP, tabulate_places, results.edges, results.graph, config.files_by_key, runtime))


def _with_queries(config: RunConfig, results: Results, runtime: Runtime, steps: Steps) -> Results:
    """The results with the answers to queries, and with their paths, if these are asked for."""
    if not (queries := config.queries):
        return results
    from pipeline.steps.paths import find_paths
    from pipeline.steps.reach import answer_queries

    reached = steps("reached", answer_queries, queries, results.answers, config.oracle, runtime)
    paths = steps("paths", find_paths, results.graph, reached, runtime.work / "paths", runtime) if queries.witness else None
    return replace(results, reached=reached, paths=paths)


def _with_products(config: RunConfig, results: Results, runtime: Runtime, steps: Steps) -> Results:
    """The results with the user's own stages and with products, and with the hierarchy from which these were made."""
    results = replace(results, custom=[steps(name, step, runtime) for name, step in custom_of(config, results.graph)])
    if not (configured := [*products_of(config, results.edges, results.graph)]):
        return results
    from pipeline.steps.derived.hierarchy import steps_of, stored_steps

    before = stored_steps(runtime.work)
    products = [steps(name, step, runtime) for name, step in configured]
    searched = results.turned.graph if results.turned else results.graph
    return replace(results, products=products, hierarchies=steps_of(searched, runtime.work, before))


def _with_names(config: RunConfig, results: Results, runtime: Runtime, steps: Steps) -> Results:
    """The results with tables that have names, if these are asked for."""
    if not config.named:
        return results
    from pipeline.steps.derived.names import add_names

    tables = {table.manifest.step: table for table in results.tabled if table not in results.of_graph}  # which have names
    named = {step: steps(f"named-{step}", add_names, results.edges, table, runtime) for step, table in tables.items()}
    return replace(results, named=named)


def _with_changes(config: RunConfig, results: Results, target: Target, runtime: Runtime, steps: Steps) -> Results:
    """The results with the change tables since the run that the link names, if that run can be read."""
    if not target.previous:
        log.info("change_tables: none, because %s did not name a run before", config.output / target.link)
        return results
    from pipeline.comparison.tabulate import STEP, tabulate_changes
    from pipeline.comparison.versions import of_run, of_step

    try:
        before = of_run(linked_run(config.output / target.link))
        now = {name: of_step(table) for name, table in results.published.items()}
        return replace(results, changes=steps(STEP, tabulate_changes, runtime.work / STEP, before, now, results.edges))
    except Damaged as damage:
        log.warning("change_tables: none, because the previous run cannot be read: %s", damage)
        return results


def _publish(config: RunConfig, results: Results, target: Target, backend: Backend, steps: Steps) -> Folder:
    fallback = obstacle() if config.backend == "auto" and backend == "cpu" else None
    options = PublishOptions(target, config.expect, config.keep, config.publish_to)
    published = steps("publish", publish, config.output, results, options, backend, fallback)
    if config.publish_to:
        from pipeline.steps.publication.remote import upload

        steps("upload", upload, published, config.publish_to, config.keep)
    return published
