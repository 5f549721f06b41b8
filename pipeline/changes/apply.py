"""The step of a changed graph: the files of the previous graph, a batch of changes, and the proof of the result."""

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.gpu.transfer import copied_by
from kernels.graph import ID, Csr, Graph
from kernels.layout.certificate.changed import certify_changes
from kernels.layout.rules import ArcRules
from kernels.spans import span
from pipeline import progress
from pipeline.changes.compaction import compact, merged_shards
from pipeline.changes.renumbering import NEW_NAMES, without_unused
from pipeline.changes.resolving import ChangeRules, resolve
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadConfig, ProofFailed
from pipeline.ingest.feed import Feed
from pipeline.ingest.source import Source
from pipeline.runtime.backend import Backend, bring
from pipeline.runtime.memory import free_memory
from pipeline.signals import beside
from pipeline.steps.parallel import LIGHTEST
from pipeline.steps.runtime import Runtime
from pipeline.store.counting import counting, places_in
from pipeline.store.deltas import GRAPHS, NEW_VERTICES, in_turn, save_batch, save_new_vertices
from pipeline.store.deltas.history import HISTORY, Applied, history_of_state, write_history
from pipeline.store.facts import CheckFacts, DeltaFacts, DirectionFacts, EdgeFacts, GraphFacts, StateFacts
from pipeline.store.graph import open_graph
from pipeline.store.graph_writing import groups_of
from pipeline.store.manifest import FileEntry, Folder, WrittenStep, make, unsealed
from pipeline.store.names import NameNumbering, VertexNames, open_names
from pipeline.store.scratch import link_or_copy
from pipeline.store.vertices import open_vertices, renumber_vertices

if TYPE_CHECKING:
    from pipeline.changes.rows import ChangeRows


@dataclass(frozen=True)
class FileOfChanges:
    """A file of changes, and how it is applied."""

    source: Source | Feed  # several files only if they are a snapshot
    digest: str
    graph: GraphConfig  # how the graph's own source was read: limits and the delimiter
    counts: bool  # rows that cannot be applied are counted and left out
    snapshot: bool = False  # it is a new snapshot of the source, from which the changes are computed


def change_graph(before: Folder, edges: Folder, file: FileOfChanges, runtime: Runtime, stays: Folder) -> Folder:
    """Apply a file of changes to a stored graph, and prove the result.

    Args:
        before: The newest state, whose files have been checked, and are linked into the new folder.
        edges: The edge list of the source, which has the names of ids that are strings.
        stays: The state of the newest run, which is `before` or an earlier one: another folder is written.

    Returns:
        As `pipeline.steps.layout.lay_out`, with facts `state` and `delta`.

    Raises:
        BadInput: The file is not one of changes, or has a row that cannot be applied.
        BadConfig: The graph keeps parallel arcs.
        ProofFailed: The result is not the graph before with these changes. Nothing is written.
    """
    layout = layout_of(before)
    if rule_of(before) == "keep":
        raise BadConfig(f"{before.path}: keeps parallel arcs, so a change could mean several edges; changes need another rule")
    opened, runtime = list[Graph](), runtime.without_pinned(before)

    def write(folder: Path) -> WrittenStep:
        facts, graph = _Applied(before, edges, file, layout, runtime.backend).write(folder)
        opened.append(graph)
        return WrittenStep(facts.stored(), {}, _linked(folder, before))

    parameters = before.manifest.parameters | {"counts": file.counts, "snapshot": file.snapshot, "file": file.source.name}
    inputs = {"before": before.digest, "changes": file.digest, "edges": edges.digest}
    path = runtime.work / in_turn(stays, GRAPHS)
    changed = make(path, "graph", inputs, parameters, write)
    if (kept := runtime.cluster.open_graphs) and not runtime.ranks_of(changed):
        kept.keep(changed, runtime.backend, opened[0] if opened else open_graph(changed, runtime.backend))
    return changed


def _linked(folder: Path, before: Folder) -> dict[str, FileEntry]:
    """The files of the previous state that the new folder links to."""
    pairs = {name: (folder / name, before.path / name) for name in before.manifest.files}
    return {name: before.manifest.files[name] for name, pair in pairs.items() if pair[0].exists() and Path.samefile(*pair)}


def layout_of(graph: Folder) -> LayoutConfig:
    """How a graph was laid out."""
    given = graph.manifest.parameters
    return LayoutConfig.model_validate({name: given[name] for name in LayoutConfig.model_fields if name in given})


def rule_of(graph: Folder) -> str:
    """What became of parallel rows when a graph was laid out; earlier versions had the rule among the keys of the layout."""
    given = graph.manifest.parameters
    return str(given.get("parallel", given.get("parallel_arcs", LIGHTEST)))


class _Applied:
    """The changes of a graph, in memory."""

    def __init__(self, before: Folder, edges: Folder, file: FileOfChanges, layout: LayoutConfig, backend: Backend) -> None:
        self._before, self._facts, self._file, self._backend = before, GraphFacts.of(before), file, backend
        self._rules = ArcRules(range(0), not self._facts.directed, layout.self_loops == "keep", keep_parallel=False)
        self._history = history_of_state(edges, before)
        self._bases: dict[str, Csr] = {}  # the arcs of the files that both states have
        progress.phase("reading the changes")
        names = open_names(edges)
        if file.snapshot:
            from pipeline.changes.snapshot import Snapshot

            snapshot = Snapshot(file.source, file.graph, layout, rule_of(before), before.path.parent, backend)
            graph, numbering = self._numbered(self._open(), names, snapshot.strings(names))
            listed = snapshot.changes_from(graph, self._facts, numbering.names if numbering else None, backend)
            ids = [listed.src.to_numpy(), listed.dst.to_numpy()]
        else:
            reading = beside(partial(_rows_of, file, self._facts.weight, names is not None))
            opened = self._open()
            listed = reading.result()
            graph, numbering = self._numbered(opened, names, None if names is None else listed.inserted())
            ids = [numbering.names.find(column) if numbering else column.to_numpy() for column in (listed.src, listed.dst)]
        progress.phase("finding the edges")
        weighs_rows = self._facts.merged is not None and (rule_of(before) == "count" or EdgeFacts.of(edges).weight is None)
        rules = ChangeRules(self._rules.both, self._rules.keep_self_loops, file.counts, weighs_rows)
        with span("find edges", "solve"):
            self._resolved = resolve(graph, listed, (ids[0], ids[1]), rules, backend)
        if numbering:
            self._resolved, used = without_unused(self._resolved, numbering)
            graph = graph if used is numbering else self._numbered(self._open(), names, used.added())[0]
            numbering = used
        # The previous graph, with the numbers that its names have now, which `_new_names` gives if there are new names.
        self._graph, self._new_names = graph, numbering if numbering and len(numbering.new) else None

    def _open(self) -> Graph:
        """The previous graph."""
        with span("open graph", "read"):
            graph = open_graph(self._before, self._backend, bases=self._bases)
        size = sum(array.nbytes for csr in self._bases.values() for array in (csr.indices, csr.weights) if array is not None)
        if self._facts.delta and 3 * size > free_memory(self._backend):
            self._bases.clear()  # they would take the memory of the changed graph
        return graph

    def _numbered(self, graph: Graph, names: VertexNames | None, strings: pa.Array | None) -> tuple[Graph, NameNumbering | None]:
        """The previous graph, renumbered with the new names among some strings."""
        if names is None or strings is None:
            return graph, None
        numbering = NameNumbering.of(names, strings)
        return replace(graph, ids=numbering.numbers(graph.ids)) if len(numbering.new) else graph, numbering

    def write(self, folder: Path) -> tuple[GraphFacts, Graph]:
        """Write the files of the changed graph, and prove it."""
        facts, resolved = self._facts, self._resolved
        for name in self._before.manifest.files.keys() - {NEW_NAMES, HISTORY}:
            (folder / name).parent.mkdir(exist_ok=True)
            link_or_copy(self._before.path / name, folder / name)
        write_history(folder, [*self._history, Applied(self._file.source.name, self._file.digest)])
        none = [0] * len(facts.shards)
        delta = facts.delta or DeltaFacts(
            vertices=facts.vertices, shards=facts.shards, applied=none, weight=facts.stored_weight, batches=[]
        )
        delta = delta.model_copy(update={"batches": [*delta.batches, len(resolved.pairs.src)]})
        save_batch(folder, len(delta.batches), resolved.pairs)
        vertices = facts.vertices + len(resolved.new_ids)
        if len(resolved.new_ids):
            known = np.load(folder / NEW_VERTICES) if facts.vertices > delta.vertices else np.empty(0, ID)
            if self._new_names:
                pq.write_table(pa.table({"id": self._new_names.added()}), folder / NEW_NAMES)
                renumber_vertices(folder, self._new_names.numbers)
                known = self._new_names.numbers(known)
            save_new_vertices(folder, np.concatenate([known, resolved.new_ids]))
        state = StateFacts(
            number=len(self._history) + 1,
            parent=self._before.digest,
            file=self._file.source.name,
            inserted=resolved.counts["insert"],
            deleted=resolved.counts["delete"],
            updated=resolved.counts["update"],
            vertices=len(resolved.new_ids),
            violations={name: count for name, count in resolved.violations.items() if count},
        )
        weights = resolved.pairs.weights
        wide = facts.stored_weight if weights is None else str(weights.dtype)
        unproved = {
            "stored_weight": wide,
            "vertices": vertices,
            "symmetric": not facts.directed,
            "state": state,
            "delta": delta,
            "proof": None,
        }
        unfinished = facts.model_copy(update=unproved)
        progress.phase("merging")
        with span("merge changes", "solve"):
            graph = open_graph(Folder(folder, unsealed("graph", unfinished.stored())), self._backend, bases=self._bases)
        self._bases.clear()
        merged = unfinished.model_copy(update={"shards": merged_shards(graph, delta), **_totals(graph, self._backend)})
        left, shards = compact(folder, merged, graph)
        final = merged.model_copy(update={"delta": left, "shards": shards})
        complete = Folder(folder, unsealed("graph", final.stored()))
        if left is not delta:
            graph = open_graph(complete, self._backend)  # as it was written
        progress.phase("proving")
        with span("prove graph", "proof"):
            return final.model_copy(update={"proof": self._prove(complete, graph)}), graph

    def _prove(self, folder: Folder, graph: Graph) -> CheckFacts:
        started, resolved = time.perf_counter(), self._resolved
        stated = self._rules, *open_vertices(folder)[2:]
        removed, put = copied_by(partial(bring, backend=self._backend), (resolved.removed, resolved.put))
        verdict = certify_changes(graph, self._graph, removed, put, resolved.new_ids, stated)
        if not verdict.holds:
            raise ProofFailed(f"changes: {verdict.reason}")
        return CheckFacts(rules=list(verdict.rules), seconds=round(time.perf_counter() - started, 6))


def _rows_of(file: FileOfChanges, weight: str | None, named: bool) -> "ChangeRows":
    """The rows of a file of changes; what reads it is imported here, while the graph is opened."""
    from pipeline.changes.reading import read_changes

    assert isinstance(file.source, Source)
    digest = file.digest if file.source.local else None  # that of a remote file is not that of its bytes
    with span("read changes", "read"):
        return read_changes(file.source, digest, file.graph, weight, named)


def _totals(graph: Graph, backend: Backend) -> dict[str, Any]:
    sides = {"out": graph.out} if graph.symmetric else {"out": graph.out, "into": graph.into}
    groups = {name: DirectionFacts(groups=[*groups_of(csr)]) for name, csr in sides.items()}
    weight = None if graph.out.weights is None else str(graph.out.weights.dtype)
    count = counting([places_in(graph.out)], graph.num_arcs)
    return {"arcs": graph.num_arcs, "backend": backend, "stored_weight": weight, "counted": count, **groups}
