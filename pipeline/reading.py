"""The first chapter of a run: how it gets its graph."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from kernels.registry import BY_NAME
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import RunConfig
from pipeline.fitting import require_fit
from pipeline.ingest import ingest
from pipeline.ingest.vertex_names import numbers_of
from pipeline.progress.shown import Steps
from pipeline.redaction import quoted
from pipeline.report import prepare_page
from pipeline.report.wording import read_as
from pipeline.signals import beside
from pipeline.steps.layout import lay_out, suited
from pipeline.steps.parallel import LIGHTEST, STEP, Parallels, needs_merging
from pipeline.steps.products.vertices import given_sources
from pipeline.steps.publication.expectations import require_columns, require_graph
from pipeline.steps.publication.facts import input_of
from pipeline.steps.publication.target import Target
from pipeline.steps.runtime import Runtime
from pipeline.steps.solving import Input
from pipeline.steps.sources import require_sources
from pipeline.store.deltas import CAPACITIES
from pipeline.store.facts import EdgeFacts, GraphFacts
from pipeline.store.manifest import Folder

if TYPE_CHECKING:
    from pipeline.config.graph import GraphConfig
    from pipeline.ingest.formats.osm.updates import ChangedExtract

log = logging.getLogger(__name__)


class Read(Protocol):
    """How a run gets its graph: from its source, or from the previous run and changes."""

    @property
    def files(self) -> tuple[str, ...]:
        """What is read besides the files of the configuration."""

    @property
    def reads_source(self) -> bool:
        """Whether the source of the graph is read; otherwise the run publishes what has changed, unless the user says no."""

    def __call__(
        self, config: RunConfig, runtime: Runtime, steps: Steps, prepare: Callable[[], object], target: Target
    ) -> Input:  # fmt: skip
        """The graph and the sources of the run; calls `prepare` before it reads, if there is something to read."""


class FromSource:
    """A run that reads the source of its graph."""

    reads_source = True

    @property
    def files(self) -> tuple[str, ...]:
        """See `Read`."""
        return ()

    def __call__(
        self, config: RunConfig, runtime: Runtime, steps: Steps, prepare: Callable[[], object], target: Target
    ) -> Input:  # fmt: skip
        """See `Read`; logs how the source was read."""

        def begin() -> None:
            require_fit(config, runtime.backend)
            prepare()

        if config.places.attach == "streets":
            from pipeline.steps.attaching.requests import require_attachable, with_places

            require_attachable(config)
        if runtime.backend == "gpu" and not (runtime.work / "edges").exists():
            from pipeline.ingest.formats.parquet.on_gpu import import_decoder

            import_decoder(config.graph.source)
        how = runtime.held_edges, config.cluster.elsewhere, begin, config.reject.limit
        edges = steps("edges", ingest, self.source(config, steps), runtime.work, *how)
        require_columns(edges, config.expect, target)
        source = edges
        if config.places.attach == "streets":
            edges = with_places(config, edges, runtime, steps)
        layout = suited(config.layout, edges, config.cluster.shards)
        stated = [source for source in numbers_of(edges, config.listed_sources) if isinstance(source, int)]
        graph = self.graph(config, edges, layout, runtime, stated, steps)
        capacities = capacities_of(config, edges, graph, layout, runtime, steps)
        turned = None
        if EdgeFacts.of(edges).has_turns:
            from pipeline.steps.turns.graph import turned_of
            from pipeline.steps.turns.requirements import require_obeyed

            require_obeyed(config, edges)
            turned = turned_of(edges, graph, layout, runtime, steps)
        sources = sources_of(config, edges, graph, target, runtime)
        read = read_as(input_of(edges, graph, capacities=capacities)).items()
        log.info("%s", quoted(f"{config.graph.title} was read as: {'; '.join(f'{what.lower()}: {said}' for what, said in read)}"))
        if not edges.reused:
            beside(partial(prepare_page, runtime.backend))  # not before: the layout waits for what `prepare` imports
        return Input(edges, graph, sources, capacities, None if edges is source else source, turned)

    def source(self, config: RunConfig, _: Steps) -> "GraphConfig | ChangedExtract":
        """What is read."""
        return config.graph

    def graph(
        self, config: RunConfig, edges: Folder, layout: LayoutConfig, runtime: Runtime, sources: Sequence[int], steps: Steps
    ) -> Folder:
        """The stored graph of the edge list."""
        return graph_of(config, edges, layout, runtime, sources, steps)


def graph_of(
    config: RunConfig, edges: Folder, layout: LayoutConfig, runtime: Runtime, sources: Sequence[int], steps: Steps
) -> Folder:  # fmt: skip
    """The stored graph of an edge list, whose parallel rows are merged before, if a rule asks for it."""
    return steps("graph", lay_out, edges, layout, runtime, sources, parallels_of(config, edges, layout, runtime, steps))


def parallels_of(config: RunConfig, edges: Folder, layout: LayoutConfig, runtime: Runtime, steps: Steps) -> Parallels:
    """What becomes of the parallel rows of an edge list, which are merged, if a rule asks for it."""
    rule, merged = config.graph.parallel or LIGHTEST, None
    if config.graph.parallel and needs_merging(edges, rule):
        from pipeline.steps.parallel.merging import merge_parallel, warn_if_mirrored

        merged = steps(STEP, merge_parallel, edges, rule, layout, runtime, config.graph.columns.order)
        warn_if_mirrored(merged)
    return Parallels(rule, merged)


def stage_that_adds(config: RunConfig) -> str:
    """The stage of a run that adds parallel arcs while all others take the lightest; empty if there is none."""
    adding = [stage for stage in config.stages if BY_NAME[stage].adds_parallel and config.graph.parallel is None]
    return adding[0] if adding else ""


def capacities_of(
    config: RunConfig, edges: Folder, graph: Folder, layout: LayoutConfig, runtime: Runtime, steps: Steps
) -> Folder | None:  # fmt: skip
    """The graph of a stage that adds parallel arcs, if that is another one than the stored graph, which has the lightest.

    Raises BadInput where parallel rows may be one edge.
    """
    if not (stage := stage_that_adds(config)) or not GraphFacts.of(graph).parallel_arcs_dropped:
        return None
    from pipeline.steps.parallel.merging import merge_parallel, require_unmirrored

    merged = steps(STEP, merge_parallel, edges, "sum", layout, runtime)
    require_unmirrored(merged, stage)
    return steps(CAPACITIES, lay_out, edges, layout, runtime, (), Parallels("sum", merged, CAPACITIES))


def sources_of(config: RunConfig, edges: Folder, graph: Folder, target: Target, runtime: Runtime) -> list[int]:
    """The external ids of a run's sources. Raises as `given_sources`, and Refused for a graph that `[expect]` does not allow."""
    sources = given_sources(config, edges, graph, runtime)
    require_sources(graph, sources)
    require_graph(graph, config.expect, target)
    return sources
