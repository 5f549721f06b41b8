"""Changes of a graph: apply a file of inserted, deleted and updated edges to the newest run (docs/changes.md).

reading.py    a file of changes, as rows.py
extracts.py   a file of changes of OpenStreetMap: the extract is read again
snapshot.py   a new snapshot of the source, from which the changes are computed
resolving.py  its edges in the stored graph, and rows that cannot be applied
apply.py      the step: the files of the graph before and a batch of changes, merged when opened, and proved
renumbering.py new ids that are strings
compaction.py shards with many changes are written anew
state.py      the newest run, and what it was made from
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pipeline.changes.apply import FileOfChanges, change_graph
from pipeline.changes.extracts import FromExtract, has_osc
from pipeline.changes.renumbering import NEW_NAMES, number_names, settle
from pipeline.changes.state import PublishedState, newest
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig
from pipeline.ingest.feed import Feed, find
from pipeline.ingest.source import Source, identify, locate
from pipeline.progress.shown import Call, Steps
from pipeline.reading import Read, sources_of, stage_that_adds
from pipeline.report import prepare_page
from pipeline.run import run
from pipeline.runtime.early import prepare_merging
from pipeline.signals import beside
from pipeline.steps.publication.target import LATEST, Target
from pipeline.steps.runtime import Runtime
from pipeline.steps.solving import Input
from pipeline.store.code import Code
from pipeline.store.deltas.history import history_of_state
from pipeline.store.edges import FILES
from pipeline.store.facts import EdgeFacts, GraphFacts
from pipeline.store.manifest import Folder, check
from pipeline.store.names import open_names
from pipeline.store.scratch import scratch

__all__ = ["Backlog", "change"]


@dataclass(frozen=True)
class Backlog:
    """Files of changes that are applied together."""

    files: Sequence[Source]  # in this order
    done: list[str] = field(default_factory=list)  # those that have been applied


def change(
    out: Path,
    changes: str | Path | Backlog,
    /,
    *,
    snapshot: bool = False,
    count_violations: bool = False,
    again: bool = False,
    call: Call | None = None,
    **options: Any,
) -> Folder:
    """Apply a file of changes to the newest state of a graph, and publish the next run, with the same stages and sources.

    Args:
        out: The output folder of the run.
        changes: Columns `op` (insert, delete or update), `src`, `dst` and, if the graph has weights, `weight`; Parquet, CSV or
            TSV, compressed or not; a path, or any URL that fsspec opens. Of several only the last state is published. For a graph
            from OpenStreetMap also `.osc`.
        snapshot: `changes` is a new snapshot of the source instead, in the source's own format, also of several files; the
            changes are computed.
        count_violations: Count rows that cannot be applied, and apply the others. By default the first such row is an error.
        again: Also apply a file that an earlier state of the graph has had.
        call: As `pipeline.run.run`.
        options: Keys of a run's configuration that replace those of the newest run, such as `backend` and `cluster`. `publish_as`
            is the link of the output folder that names the newest state, and then the next one; `latest` by default.

    Returns:
        The published run. Its graph's facts `state` name the state before, the digests of all files since the source, and counts.

    Raises:
        AlreadyApplied: The newest state has had this file, unless `again`. A failed upload of its run is repeated before.
        BadInput: The file is not one of changes, or has a row that cannot be applied.
        BadConfig: There is no run, its steps are no longer there, or another link names a changed graph.
        GraphmillError: As `pipeline.run.run`. The run before stays the newest.
    """
    before = newest(out, options.get("publish_as") or LATEST)
    sources: list[Source | Feed]
    if isinstance(changes, Backlog):
        sources, done = [replace(locate(file.url), below=file.below) for file in changes.files], changes.done
    else:
        sources, done = [find(str(changes)) if snapshot else locate(str(changes))], []
    reading: Read = _FromChanges(before, sources, done, count_violations, again, snapshot)
    if not snapshot and has_osc(before, single := [source for source in sources if isinstance(source, Source)]):
        if count_violations:
            raise BadConfig(f"{single[0].url}: count_violations has no effect on .osc files, which say what counts; leave it out")
        reading = FromExtract(before, single, done, again)
    return run(before.config(**options), call, reading, before.target())


@dataclass(frozen=True)
class _FromChanges:
    """How a run of changes gets its graph."""

    before: PublishedState
    sources: Sequence[Source | Feed]
    done: list[str]
    counts: bool
    again: bool
    snapshot: bool
    reads_source: ClassVar = False

    @property
    def files(self) -> tuple[str, ...]:
        """See `Read`."""
        return tuple(
            entry for source in self.sources for entry in ([source.url] if isinstance(source, Source) else source.entries)
        )

    def __call__(
        self, config: RunConfig, runtime: Runtime, steps: Steps, prepare: Callable[[], object], target: Target
    ) -> Input:  # fmt: skip
        """As `pipeline.reading.Read`; the output folder is held, so that no other run becomes the newest one."""
        if config.places.attach == "streets":
            reason = "places are attached to streets (places.attach), which changes do not divide again"
            raise BadConfig(f'{self.before.run.path}: {reason}; run the changed source, or set attach = "vertices"')
        before = self.before
        before.require_newest()
        self.done.clear()
        digest = _identify(self.sources[0])
        edges, graph = before.steps()
        if (stage := stage_that_adds(config)) and GraphFacts.of(graph).parallel_arcs_dropped:
            reason = f"stage {stage} adds the capacities of parallel arcs, of which the graph that is changed has the lightest"
            raise BadConfig(f"{before.run.path}: {reason}; state graph.parallel, and run the source again")
        if EdgeFacts.of(edges).has_turns:
            reason = "changes of edges do not say what becomes of the turn restrictions and costs of its streets"
            raise BadConfig(f"{before.run.path}: {reason}; run the changed source again")
        self._require_new(config, steps, self.sources[0], digest, edges, graph)
        before.require_alone()
        with ThreadPoolExecutor() as threads:
            # Changes do not read the edges themselves.
            checks = [threads.submit(check, edges, FILES), threads.submit(check, graph)]
            threads.submit(Code((change_graph.__module__,)).version)  # for the key of the step, which finds it known
            prepare()
            if runtime.backend == "gpu":
                prepare_merging()
            for checked in checks:
                checked.result()
        beside(partial(prepare_page, runtime.backend))  # stages would wait for the GIL meanwhile, and this step does little
        edges, graph = self._apply(config, steps, runtime, digest, edges, graph)
        return Input(edges, graph, sources_of(config, edges, graph, target, runtime))

    def _apply(
        self, config: RunConfig, steps: Steps, runtime: Runtime, digest: str, edges: Folder, graph: Folder
    ) -> tuple[Folder, Folder]:
        """Apply all files, of which the first has this digest. States before the last are in a folder that is then removed."""
        *earlier, last = self.sources
        published = edges, graph
        with scratch(runtime.work) if earlier else nullcontext(runtime.work) as between:
            for source in self.sources:
                if source is not self.sources[0]:
                    digest = _identify(source)
                    self._require_new(config, steps, source, digest, edges, graph)
                file = FileOfChanges(source, digest, config.graph, self.counts, self.snapshot)
                into = runtime if source is last else replace(runtime, work=between)
                beside_edges, beside_graph = published if source is last else (edges, graph)
                changed = steps("graph", change_graph, graph, edges, file, into, beside_graph)
                if NEW_NAMES in changed.manifest.files:
                    edges = steps("edges", number_names, edges, changed, into, beside_edges)
                graph = changed
                self.done.append(source.url)
            if earlier and edges.path.parent == between:
                edges = settle(edges, runtime.work, published[0])
        return edges, graph

    def _require_new(
        self, config: RunConfig, steps: Steps, source: Source | Feed, digest: str, edges: Folder, graph: Folder
    ) -> None:
        """Raise AlreadyApplied for a file that this state of the graph has had; repeat a failed upload of its run before."""
        before, digests = self.before, [applied.digest for applied in history_of_state(edges, graph)]
        had = digests[-1:] if self.snapshot else digests  # a snapshot may come back
        if digest not in had or self.again or not self._has_rows(config, source, digest, edges, graph):
            return
        before.refuse(source.url, digests, digest, config, steps)

    def _has_rows(self, config: RunConfig, source: Source | Feed, digest: str, edges: Folder, graph: Folder) -> bool:
        """Whether the file has changes: a file without rows may come again."""
        if self.snapshot or isinstance(source, Feed):
            return True
        from pipeline.changes.reading import read_changes

        weight, named = GraphFacts.of(graph).weight, open_names(edges) is not None
        of_bytes = digest if source.local else None  # that of a remote file is not that of its bytes
        return len(read_changes(source, of_bytes, config.graph, weight, named).ops) > 0


def _identify(source: Source | Feed) -> str:
    return source.digest if isinstance(source, Feed) else identify(source, None)
