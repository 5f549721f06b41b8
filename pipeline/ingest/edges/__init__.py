"""The reader of a source: its edges and what is beside them, from the formats' tables to the files of step `edges`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from kernels.spans import span
from pipeline.config.graph import GraphConfig
from pipeline.errors import Changed
from pipeline.ingest.content import Content
from pipeline.ingest.coordinates import write_coordinates, write_own, write_roads
from pipeline.ingest.declared import loops, with_vertices
from pipeline.ingest.feed import Feed
from pipeline.ingest.feed.contents import Contents
from pipeline.ingest.feed.joining import opened_feed
from pipeline.ingest.formats.format import EdgeList, in_the_right_way
from pipeline.ingest.nodes import read_ids, read_nodes, write_nodes
from pipeline.ingest.numbering import collect, numbered
from pipeline.ingest.opening import Opened, check_declared, opened, watched
from pipeline.ingest.source import Source, Stored, stored
from pipeline.ingest.values.oneway import warn_of_one_way
from pipeline.ingest.values.travel_times import facts_of_times
from pipeline.ingest.writer import StoredEdges, decoded, edges_schema, store
from pipeline.store.digests import Sums
from pipeline.store.edges import EdgeArrays, HeldEdges
from pipeline.store.facts import EdgeFacts, ReferenceFacts
from pipeline.store.facts.sources import CoordinateFacts, DirectionCounts, RejectFacts, SourceFacts
from pipeline.store.manifest import Folder, unsealed
from pipeline.store.names import open_names
from pipeline.store.vertices import compare_declared
from pipeline.tables import files as tables
from pipeline.tables.points import NODES


@dataclass
class EdgeReader:
    """Reads and stores the edges of a source; afterwards `arrays` has them, if they were reserved and fit."""

    graph: GraphConfig
    source: Source | Feed
    digest: Callable[[], str | None]  # of a local source; called when all of it has been read
    held: HeldEdges | None
    sums: Sums
    copy: bool
    reject: float
    declared: Callable[[bool], pa.Array] | None = None  # the ids of vertices that need no edge; strings, if the argument says so
    changes: Any = None  # those of an extract, see `pipeline.ingest.opening.opened`
    arrays: EdgeArrays | None = None

    def write(self, folder: Path) -> EdgeFacts:
        """Write the edges into a folder, and what their file has beside them; their facts."""
        return in_the_right_way(self.graph, self.source.url, partial(self._read, folder))

    def _read(self, folder: Path, graph: GraphConfig, weight: pa.DataType) -> EdgeFacts:
        """Read and store the edges; if ids are strings, in two passes (`pipeline.ingest.numbering`)."""
        for part in tables.files(folder):  # of a reading in another way
            part.unlink()
        with span("read source", "read"), self._opened(folder, graph, weight) as read:
            if not read.edges.named:
                refers_to = self._reference(read)
                written = self._store(read, None if refers_to else folder)
                if numbered_names := read.edges.names:
                    numbered_names.save(folder)
                placed = None if graph.coordinates else write_own(read, folder, graph.limits)
                roads = write_roads(read, folder, graph.limits)
            else:
                alone = [loops(self.declared(True), read.edges.weight)] if self.declared else []
                names = collect(chain(self._watched(read), alone, _listed(read.edges)))
        if not read.edges.named:
            check_declared(read.edges, read.content, self.graph.limits)
            facts = self._facts(read, written, folder, refers_to=refers_to, placed=placed)
            if numbered_names:
                facts = facts.model_copy(update={"name_bytes": len(numbered_names.content)})
            return facts.model_copy(update={"roads": roads}) if roads else facts
        compare_declared(self.source.url, read.edges.declared_vertices, len(names))
        names.save(folder)
        first = read.content.digest
        with self._opened(folder, graph, weight) as read:
            most = dict.fromkeys(("src", "dst"), max(len(names) - 1, 0))
            edges = numbered(self.source.url, names, read.edges.tables)
            read.edges = replace(read.edges, tables=edges, largest=most, first_id=0, declared_vertices=len(names))
            written = self._store(read, folder)
        if read.content.digest != first:  # of a remote file, which has no other digest
            raise Changed(self.source.url, "changed while it was read")
        return self._facts(read, written, folder).model_copy(update={"name_bytes": len(names.content)})

    @contextmanager
    def _opened(self, folder: Path, graph: GraphConfig, weight: pa.DataType) -> Iterator[Opened]:
        """Begin to read the source. The block reads all edges; after it, the content must be the identified one."""
        source, how = self.source, (graph, weight, folder, self.reject)
        with opened_feed(source, *how) if isinstance(source, Feed) else opened(source, *how, self.changes) as read:
            if self.declared and not read.edges.named:
                read.edges = with_vertices(self.source.url, read.edges, self.declared(False))
            yield read
            if self.reject and read.edges.rejects:
                read.edges.rejects.check(self.source.url)
            read.content.check(self.digest(), graph.sha256)

    def _reference(self, read: Opened) -> ReferenceFacts | None:
        """The file on this machine that stands for a copy of its edges, if it may."""
        edges = read.edges
        if read.on_disk and edges.rereadable and edges.columns and not (self.copy or edges.order):
            return ReferenceFacts(path=str(read.on_disk), columns=dict(edges.columns.names))
        return None

    def _facts(
        self, read: Opened, written: StoredEdges, folder: Path, refers_to: ReferenceFacts | None = None, placed: int | None = None
    ) -> EdgeFacts:
        """The facts of a source that was read; writes the rows that were refused."""
        graph, edges, rejected = self.graph, read.edges, None
        if self.reject and edges.rejects:
            edges.rejects.write(folder, self.source.url, edges.columns.names if edges.columns else {})
            rejected = RejectFacts(rows=len(edges.rejects.rows), read=edges.rejects.read)
        source = _source_facts(read.content, self.sums)
        facts = EdgeFacts(
            format=read.format,
            directed=edges.directed if graph.directed is None else graph.directed,
            directed_by="configuration" if graph.directed is not None else "file" if edges.states_direction else "format",
            columns=dict(edges.columns.names) if edges.columns else None,
            ignored_columns=[*edges.columns.ignored] if edges.columns else [],
            weight=None if edges.weight is None else str(edges.weight),
            edges=written.edges,
            largest=written.largest,
            first_id=edges.first_id,
            declared_vertices=edges.declared_vertices,
            source=source,
            text_bytes=read.text_bytes() if read.text_bytes else None,
        )
        measure = (edges.measure or graph.measure) if edges.weight is not None else "arcs"
        own = None if placed is None else CoordinateFacts(vertices=placed, unit="degrees", source=source)
        if edges.directions:
            warn_of_one_way(self.source.url, edges.directions)
        directions = DirectionCounts(**vars(edges.directions)) if edges.directions else None
        optional: dict[str, Any] = {"refers_to": refers_to, "measure": measure, "coordinates": own, "directions": directions}
        optional |= {
            "order": None if edges.order is None else str(edges.order),
            "rejected": rejected,
            "alone": edges.alone or None,
            "stated": dict(edges.stated),
        }
        if edges.speeds:
            optional["travel_times"] = facts_of_times(self.source.url, edges.speeds, graph)
        return facts.model_copy(update={name: fact for name, fact in optional.items() if fact})

    def _store(self, read: Opened, folder: Path | None) -> StoredEdges:
        self.arrays, edges = None, read.edges  # arrays of a first attempt are free before others are reserved
        if self.held and edges.rows is not None:
            self.arrays = self.held.reserve(edges.rows, edges.weight, edges.largest)
        written = None if folder or isinstance(self.source, Feed) else decoded(edges, self.arrays)
        if self.arrays and not self.arrays.usable:
            self.arrays = None  # the decoder met a damaged page: the tables name it
        written = written or store(self._watched(read), edges_schema(edges.weight, edges.order), folder, self.arrays)
        self.arrays = self.arrays if written.held else None
        return written

    def _watched(self, read: Opened) -> Iterator[pa.Table]:
        return watched(read.edges.tables, read.content, self.graph.limits, read.edges.rows)


def write_beside(
    graph: GraphConfig, beside: Mapping[str, Source], expected: Mapping[str, str], folder: Path, facts: EdgeFacts, sums: Sums
) -> dict[str, Any]:
    """Write the coordinates and the table of nodes that are `beside` an edge list, whose facts are known; their facts."""
    names, facts_of_files = open_names(Folder(folder, unsealed("edges", facts.stored()))), dict[str, Any]()
    if "coordinates" in beside:
        with _checked(beside["coordinates"], expected.get("coordinates")) as content:
            vertices, named = write_coordinates(graph, content, folder, names, facts)
        read = _source_facts(content, sums)
        facts_of_files["coordinates"] = CoordinateFacts(vertices=vertices, unit="degrees", source=read, columns=named)
    if "nodes" in beside:
        with _checked(beside["nodes"], expected.get("nodes")) as content:
            table, rows, columns = read_nodes(content, graph.limits, names, graph.node_columns)
            facts_of_files |= {"node_rows": rows, "node_ids": columns.vertex}
            if graph.nodes == graph.coordinates:
                table = table.drop_columns([str(columns.x), str(columns.y)])
            write_nodes(content.source.url, table, folder / NODES)
        facts_of_files["nodes"] = _source_facts(content, sums)
    return facts_of_files


def declared_by(graph: GraphConfig, source: Source, digest: str | None, named: bool) -> pa.Array:
    """The ids in the table of nodes."""
    with _checked(source, digest) as content:
        return read_ids(content, graph.limits, graph.node_columns, named)


def _listed(edges: EdgeList) -> Iterator[pa.Table]:
    """A self-loop for each vertex that a file with string ids lists, after its edges were read."""
    if edges.vertices:
        yield loops(pa.array(edges.vertices(), pa.large_string()), edges.weight)


@contextmanager
def _checked(source: Source, digest: str | None) -> Iterator[Stored]:
    """Open a source that the block reads; its content must be the identified one."""
    with stored(source) as content:
        yield content
        content.check(digest, None)


def _source_facts(content: Content, sums: Sums) -> SourceFacts:
    """The facts of a source that was read and checked."""
    if isinstance(content, Contents):
        feed = content.source
        return SourceFacts(path=feed.location, bytes=content.bytes, blake3=content.digest, files=content.files)
    assert isinstance(content, Stored)
    if content.sha256:
        sums.note(content.digest, content.sha256)
    facts = SourceFacts(path=content.source.location, bytes=content.bytes, blake3=content.digest)
    return facts.model_copy(update={"member": content.member}) if content.member else facts
