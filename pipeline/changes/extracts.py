"""Changes of OpenStreetMap: the extract is read again with them, so that the tables are those of the changed extract.

What has not changed is not computed again: a graph whose edges are the same stays, and with it the answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.changes.state import PublishedState
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest.source import Source, identify
from pipeline.progress.shown import Steps
from pipeline.reading import FromSource, parallels_of
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import LIGHTEST
from pipeline.steps.publication.target import Target
from pipeline.steps.runtime import Runtime
from pipeline.steps.solving import Input
from pipeline.store.deltas import EDGES, GRAPHS, in_turn
from pipeline.store.deltas.history import HISTORY, Applied, history_of
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder, check
from pipeline.tables import files as tables

if TYPE_CHECKING:
    from pipeline.ingest.formats.osm.updates import ChangedExtract


def has_osc(before: PublishedState, sources: Sequence[Source]) -> bool:
    """Whether the files that are applied to a state are those of OpenStreetMap.

    Raises BadInput if only some are, or if the graph was not read from an extract.
    """
    edges, _ = before.steps()
    if EdgeFacts.of(edges).format != "osm":
        if named := next((source for source in sources if ".osc" in source.name), None):
            raise BadInput(
                named.url, "has the name of changes of OpenStreetMap, but this graph was not read from an extract of it"
            )
        return False
    from pipeline.ingest.formats.osm.updates import begins_osc

    limits = before.config().graph.limits
    kinds = [begins_osc(source, limits) for source in sources]
    if any(kinds) and not all(kinds):
        other = sources[kinds.index(False)]
        raise BadInput(other.url, "has changes of edges, and other files that wait those of OpenStreetMap; apply one kind only")
    return any(kinds)


@dataclass(frozen=True)
class FromExtract(FromSource):
    """A run that reads the extract of the newest run, and files of changes (`.osc`)."""

    before: PublishedState
    sources: Sequence[Source]
    done: list[str]
    again: bool
    reads_source = False

    @property
    def files(self) -> tuple[str, ...]:
        """See `Read`."""
        return tuple(source.url for source in self.sources)

    def __call__(
        self, config: RunConfig, runtime: Runtime, steps: Steps, prepare: Callable[[], object], target: Target
    ) -> Input:  # fmt: skip
        """See `Read`; the output folder is held, so that no other run becomes the newest one."""
        self.before.require_newest()
        self.before.require_alone()
        self.done.clear()
        return super().__call__(config, runtime, steps, prepare, target)

    def source(self, config: RunConfig, steps: Steps) -> "ChangedExtract":
        """The extract and all its changes."""
        from pipeline.ingest.formats.osm.updates import ChangedExtract, has_elements

        before, graph = self.before.steps()
        if HISTORY in graph.manifest.files:
            raise BadConfig(
                f"{self.before.run.path}: edges were changed since the extract was read, which its changes would undo; run the "
                "source again"
            )
        history, new = history_of(before), list[tuple[Source, str]]()
        for source in self.sources:
            digest, digests = identify(source, None), [applied.digest for applied in history]
            if digest in digests and not self.again and has_elements(source, config.graph.limits):
                self.before.refuse(source.url, digests, digest, config, steps)
            new.append((source, digest))
            history = [*history, Applied(source.name, digest)]
        identified = before.manifest.inputs["source"], before.path
        return ChangedExtract(config.graph, new, history, *identified, in_turn(before, EDGES), self.done)

    def graph(
        self, config: RunConfig, edges: Folder, layout: LayoutConfig, runtime: Runtime, sources: Sequence[int], steps: Steps
    ) -> Folder:
        """The stored graph, which is the one of the newest run if the edges are the same."""
        before, graph = self.before.steps()
        if _rows_of(edges) == _rows_of(before) and graph.manifest.parameters == _parameters(config, layout, runtime):
            return steps("graph", _checked, graph)
        parallels = replace(parallels_of(config, edges, layout, runtime, steps), folder=in_turn(graph, GRAPHS))
        return steps("graph", lay_out, edges, layout, runtime, sources, parallels)


def _rows_of(edges: Folder) -> list[object]:
    """What a stored graph is made from: the files of edges, and the types of their columns."""
    facts = EdgeFacts.of(edges)
    names = [path.name for path in tables.files(edges.path)]
    return [facts.weight, facts.directed, facts.measure, *((name, edges.manifest.files[name].blake3) for name in names)]


def _parameters(config: RunConfig, layout: LayoutConfig, runtime: Runtime) -> dict[str, object]:
    """Those of the step that would lay the edges out."""
    shards = {"shards": runtime.cluster.shards} if runtime.cluster.shards else {}
    return layout.model_copy(update=shards).model_dump() | {"parallel": config.graph.parallel or LIGHTEST}


def _checked(graph: Folder) -> Folder:
    """A stored graph whose files are what its manifest says. Raises Damaged."""
    check(graph)
    return replace(graph, reused=True)
