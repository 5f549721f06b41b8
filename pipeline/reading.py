"""The first chapter of a run: how it gets its graph."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from pipeline.config.run import RunConfig
from pipeline.ingest import ingest
from pipeline.ingest.vertex_names import numbers_of
from pipeline.inspection.estimate import require_fit
from pipeline.progress.shown import Steps
from pipeline.redaction import quoted
from pipeline.report import prepare_page
from pipeline.report.wording import read_as
from pipeline.signals import beside
from pipeline.steps.layout import lay_out, suited
from pipeline.steps.products.vertices import given_sources
from pipeline.steps.publication.expectations import require_columns, require_graph
from pipeline.steps.publication.facts import input_of
from pipeline.steps.publication.target import Target
from pipeline.steps.runtime import Runtime
from pipeline.steps.solving import Input
from pipeline.steps.sources import require_sources
from pipeline.store.manifest import Folder

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

    files: tuple[str, ...] = ()
    reads_source = True

    def __call__(
        self, config: RunConfig, runtime: Runtime, steps: Steps, prepare: Callable[[], object], target: Target
    ) -> Input:  # fmt: skip
        """See `Read`; logs how the source was read."""

        def begin() -> None:
            require_fit(config, runtime.backend)
            prepare()

        how = runtime.held_edges, config.cluster.elsewhere, begin, config.reject.limit
        edges = steps("edges", ingest, config.graph, runtime.work, *how)
        require_columns(edges, config.expect, target)
        layout = suited(config.layout, edges, config.cluster.shards)
        stated = [source for source in numbers_of(edges, config.listed_sources) if isinstance(source, int)]
        graph = steps("graph", lay_out, edges, layout, runtime, stated)
        sources = sources_of(config, edges, graph, target, runtime)
        read = read_as(input_of(edges, graph)).items()
        log.info("%s", quoted(f"{config.graph.title} was read as: {'; '.join(f'{what.lower()}: {said}' for what, said in read)}"))
        if not edges.reused:
            beside(partial(prepare_page, runtime.backend))  # not before: the layout waits for what `prepare` imports
        return Input(edges, graph, sources)


def sources_of(config: RunConfig, edges: Folder, graph: Folder, target: Target, runtime: Runtime) -> list[int]:
    """The external ids of a run's sources. Raises as `given_sources`, and Refused for a graph that `[expect]` does not allow."""
    sources = given_sources(config, edges, graph, runtime)
    require_sources(graph, sources)
    require_graph(graph, config.expect, target)
    return sources
