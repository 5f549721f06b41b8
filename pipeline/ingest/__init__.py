"""Ingest: turn a source file into a Parquet edge list, streamed and checked against its own header and the limits.

A source is located (`source`), decompressed (`decompress`) and opened (`opening`) as the format that is detected
(`formats.detect`). The format's module yields tables, which `edges` reads and `writer` writes.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput, Changed
from pipeline.ingest.feed import SHOWN, Feed, find
from pipeline.ingest.source import Source, identify, locate, reading
from pipeline.redaction import quoted
from pipeline.signals import beside as in_background
from pipeline.store.digests import LARGE, Remembered, Sums
from pipeline.store.edges import EdgeArrays, HeldEdges
from pipeline.store.manifest import Folder, make

if TYPE_CHECKING:
    from pipeline.ingest.formats.osm.updates import ChangedExtract

log = logging.getLogger(__name__)
DIGESTS = "sources.json"  # those of the files that step `edges` was made from


def ingest(
    graph: "GraphConfig | ChangedExtract",
    work: Path,
    held: HeldEdges | None = None,
    copy: bool = False,
    before_reading: Callable[[], object] = bool,
    reject: float = 0,
) -> Folder:
    """Read a source file into the folder `work/edges`, unless the folder already holds this content.

    Args:
        graph: The source, its format and its limits; or an OpenStreetMap extract and its changes, which name another folder.
        work: The folder of the run's steps.
        held: Gets the edges as they are read, if they fit into memory, for the layout in this process.
        copy: Whether a Parquet source on this machine is copied, too, because workers elsewhere read the edge list.
        reject: How many bad rows, or which share of all rows, are written to table `rejected` instead of refusing the source.
        before_reading: Called before the source is read, unless the folder already holds its content.

    Returns:
        `part-00000.parquet`, ..., of a million edges each: `src`, `dst` int64 and, if the source has it, `weight`, in the
            source's order with repeats and self-loops; an undirected edge is one row. An uncompressed Parquet file that is here
            is checked, but not copied: fact `refers_to` has its path and columns. `coordinates.parquet` if given or in the
            file: `vertex` int64, `x`, `y` float64. docs/architecture.md lists the facts.

    Raises:
        BadInput: The file does not exist, is not a graph, contradicts its own header or the stated SHA-256, or exceeds a limit.
        OSError: The file cannot be read now; a retry may succeed.
    """
    extract, graph = (None, graph) if isinstance(graph, GraphConfig) else (graph, graph.graph)
    source, tables_beside = find(graph.source), {"coordinates": graph.coordinates, "nodes": graph.nodes}
    beside = {name: locate(file) for name, file in tables_beside.items() if file}
    sources: dict[str, Source | Feed] = {"source": source, **beside}
    path, sums = work / (extract.folder if extract else "edges"), held.sums if held else Sums()
    remembered = Remembered(work / DIGESTS)
    meanwhile = None if extract or graph.sha256 or path.exists() else _digested_meanwhile(source, sums, remembered)
    known = {
        name: _identify(one, graph.sha256 if name == "source" else None, remembered)
        for name, one in sources.items()
        if not (meanwhile and name == "source")
    }
    for name, digest in known.items():
        if isinstance(one := sources[name], Source) and one.local and one.unwritten is not None:
            sums.begin(digest, one.local, one.unwritten)
    kept: list[EdgeArrays] = []

    @cache
    def identities() -> dict[str, str]:
        """What tells the contents apart. A source that was written since the run began is refused if it is digested meanwhile.

        The digest then does not show whether all was read before or after that.
        """
        if not meanwhile:
            return known
        digest = meanwhile.result()
        if not source.unwritten:
            raise Changed(source.url, "changed while it was read")
        return {"source": digest, **known}

    def digest_of(name: str) -> str | None:
        """The digest of a local file, which must still be the same after the file has been read."""
        return identities()[name] if name in sources and sources[name].is_local else None

    of_changes = extract.inputs(source.url, known["source"]) if extract else {}

    def write_all(folder: Path) -> dict[str, Any]:
        from pipeline.ingest.edges import EdgeReader, declared_by, write_beside

        before_reading()
        reading = EdgeReader(graph, source, partial(digest_of, "source"), held, sums, copy, reject)
        if "nodes" in beside and graph.node_columns.declare:
            reading.declared = partial(declared_by, graph, beside["nodes"], digest_of("nodes"))
        reading.changes = extract.read() if extract else None
        facts = reading.write(folder)
        if extract:
            extract.save(folder, reading.changes)
        kept.extend([reading.arrays] if reading.arrays else [])
        expected = {name: digest for name in beside if (digest := digest_of(name))}
        return facts.model_copy(update=write_beside(graph, beside, expected, folder, facts, sums)).stored()

    # What else identifies a source is among the inputs.
    shown = {name: one.locations if isinstance(one, Feed) else one.location for name, one in sources.items()}
    parameters = (
        graph.model_dump(mode="json", exclude={"name", "parallel"})
        | shown
        | {"copy": copy}
        | ({"reject": reject} if reject else {})
    )
    edges = make(path, "edges", identities if meanwhile else known | of_changes, parameters, write_all)
    remembered.save()
    if held:
        held.sources[edges.digest] = source.unwritten
    if held and kept:
        held.keep(edges, *kept)
    return edges


def _digested_meanwhile(source: Source | Feed, sums: Sums, remembered: Remembered) -> Future[str] | None:
    """Begin to digest a large file of this machine, which is read for the first time; None for any other source.

    None also for a file that was just written, because its times would not show another write.
    """
    if not isinstance(source, Source) or source.local is None or not source.unwritten or (source.size or 0) < LARGE:
        return None
    digest = in_background(partial(_identify, source, None, remembered))
    sums.begin_with(digest, source.local, source.unwritten)
    return digest


def _identify(source: Source | Feed, sha256: str | None, remembered: Remembered) -> str:
    """A string that changes with the content, see `pipeline.ingest.source.identify`; logs which files of several are ignored.

    A local file is not read again if it has not been written since its digest was `remembered`.
    """
    if isinstance(source, Source):
        if source.local is None or sha256 is not None:
            return identify(source, sha256)
        with reading(source):
            return remembered.digest_of(source.local)
    if sha256 is not None:
        raise BadInput(source.url, "is a source of several files; graph.sha256 is that of one file")
    if ignored := source.ignored:
        names = f"{', '.join(ignored[:SHOWN])}{', ...' if ignored[SHOWN:] else ''}"
        log.info("%s: %d files are read; %d that are hidden, unfinished or empty are ignored: %s",
                 source.url, len(source.parts), len(ignored), quoted(names))  # fmt: skip
    return source.digest
