"""How large a graph is, before it is read: as its file states, or from the beginning of its text."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.decimals import places_of
from pipeline.config.formats import OF_ROADS
from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks, is_plain
from pipeline.ingest.feed import Feed, find
from pipeline.ingest.feed.joining import opened_feed
from pipeline.ingest.feed.partitions import completed, in_partition
from pipeline.ingest.formats import FORMATS
from pipeline.ingest.formats.detect import binary_format, detect
from pipeline.ingest.formats.format import EdgeList, FileFormat, in_the_right_way
from pipeline.ingest.formats.parquet import is_parquet
from pipeline.ingest.formats.parquet.distinct import distinct_ids
from pipeline.ingest.formats.text import Text
from pipeline.ingest.source import Source, stored
from pipeline.ingest.values.encodings import beginning
from pipeline.store.edges import LARGEST_GROUP

_BINARY_EDGE = 10  # bytes of an edge in a binary file that does not say how many it has, or is compressed or remote, so not read
_STATED, _COUNTED, _ESTIMATED = "as the file states", "counted", "estimated from the beginning of the file"


@dataclass(frozen=True)
class GraphSizes:
    """Sizes of a graph."""

    edges: int
    vertices: int
    weight: int  # bytes of a stored weight; 0 without weights
    floats: bool  # whether weights are floats that are not counted as integers, as far as the beginning of the file shows
    directed: bool
    named: bool  # whether ids are strings
    copied: bool  # whether a run stores the edge list, too
    origin: str  # of `edges`, for people
    roads: bool = False  # whether they are streets, whose turns may matter to paths
    group: int = 0  # rows that a core reads at a time, if the file states it

    @property
    def exact(self) -> bool:
        """Whether the number of edges is exact, because the file is refused otherwise."""
        return self.origin != _ESTIMATED


def sizes_of(graph: GraphConfig, reject: float = 0, look: bool = True) -> GraphSizes:
    """The sizes of a graph; if a text file does not state its edges, the first block is read.

    Args:
        reject: How many bad rows, or which share, the run leaves out.
        look: Whether rows of a Parquet file are read to estimate its vertices; otherwise they are as many as its footer allows.

    Raises:
        BadInput: The source does not exist, or does not begin like a graph, or its size is unknown because it is remote.
    """
    source = find(graph.source)
    return in_the_right_way(graph, source.url, partial(_sizes, source, reject, look))


def _sizes(source: Source | Feed, reject: float, look: bool, graph: GraphConfig, weight: pa.DataType) -> GraphSizes:
    """Of a source of several files the first is looked at, and of Parquet the footers of all."""
    file = source if isinstance(source, Source) else source.parts[0].source
    with stored(file) as content:
        on_disk = file.local if is_plain(content) else None
        first = next(chunks(content, graph.limits), b"")
        name = binary_format(first) if graph.format == "auto" else graph.format
        if name and isinstance(entry := FORMATS[name], FileFormat):
            if isinstance(source, Feed) and source.is_local:
                with opened_feed(source, graph, weight) as opened:
                    return _of_binary(graph, opened.edges, source.size or 0)
            read = entry.read(on_disk, file.url, graph) if on_disk else EdgeList(iter(()), pa.int64())
            sized = replace(_of_binary(graph, read, source.size or 0), roads=name in OF_ROADS)
            if not look or not on_disk or file is not source or not is_parquet(on_disk, file.url):
                return sized
            return _looked_at(sized, on_disk, read)
        whole = content.total is not None and content.bytes >= content.total and file is source
        first = beginning(first, graph.encoding)
        text = Text(content.file, iter([first if whole else first[: first.rfind(b"\n") + 1] or first]), graph.limits)
        entry = FORMATS[name or detect(text.head, content.file, graph)]
        assert not isinstance(entry, FileFormat)
        of_file = graph if file is source else in_partition(file.url, graph)
        read = completed(file.url, entry.read(text, of_file, weight), weight, of_file)
        if read.rejects:
            read.rejects.limit = reject
        if read.rows is not None and read.declared_vertices and file is source:
            return _sized(graph, read, read.rows, read.declared_vertices, _STATED)
        if source.size is None:
            raise BadInput(source.url, "is remote and does not state how many edges it has")
        ids, rows, weights = _sample(read)
        edges = (read.rows if file is source else 0) or (rows if whole else int(rows * source.size / content.bytes))
        most = pc.max(ids).as_py() + 1 if len(ids) and pa.types.is_integer(ids.type) else 2 * edges
        vertices = read.declared_vertices or (len(ids) if whole else min(most, int(len(ids) / max(rows, 1) * edges)))
        stated = read.rows is not None and file is source
        origin = _STATED if stated else _COUNTED if whole else _ESTIMATED
        return replace(_sized(graph, read, edges, vertices, origin), floats=is_rounded(weights))


def _of_binary(graph: GraphConfig, read: EdgeList, size: int) -> GraphSizes:
    """The sizes of a binary file of `size` bytes, from what it states."""
    edges = size // _BINARY_EDGE if read.rows is None else read.rows
    most = max((int(read.largest[end]) for end in ("src", "dst") if end in read.largest), default=edges) + 1
    vertices = min(most, 2 * edges) if read.declared_vertices is None else read.declared_vertices
    return _sized(graph, read, edges, vertices, _ESTIMATED if read.rows is None else _STATED)


def _looked_at(sized: GraphSizes, path: Path, read: EdgeList) -> GraphSizes:
    """The sizes of a Parquet file with its row groups, and with vertices by a look at some rows: many ids may have no edge."""
    ends = [read.columns.names[end] for end in ("src", "dst") if end in read.largest] if read.columns else []
    try:
        metadata = pq.read_metadata(path)
        group = max((metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)), default=0)
        sized = replace(sized, group=min(group, LARGEST_GROUP))
        if len(ends) == 2 and read.declared_vertices is None and sized.edges:
            above = max(int(read.largest[end]) for end in ("src", "dst")) + 1
            sized = replace(sized, vertices=distinct_ids([path], (ends[0], ends[1]), sized.edges, above))
    except (OSError, pa.ArrowException):  # which reading the source reports
        pass
    return sized


def is_rounded(weights: pa.ChunkedArray | None) -> bool:
    """Whether sums of these weights are rounded: they are floats with too many decimals to be counted."""
    if weights is None or not pa.types.is_floating(weights.type):
        return False
    return weights.type != pa.float64() or places_of(weights.drop_null().to_numpy()) is None


def _sample(read: EdgeList) -> tuple[pa.Array, int, pa.ChunkedArray | None]:
    """The ids in the first block of a text, each once, its edges, and their weights."""
    tables: list[pa.Table] = []
    try:
        tables.extend(read.tables)
    except BadInput:  # fewer edges than the header declares, because there are more blocks
        if not tables:
            raise
    edges = pa.concat_tables(tables)
    ids = pc.unique(pa.chunked_array([*edges["src"].chunks, *edges["dst"].chunks], edges["src"].type))
    return ids, len(edges), edges["weight"] if "weight" in edges.column_names else None


def _sized(graph: GraphConfig, read: EdgeList, edges: int, vertices: int, origin: str) -> GraphSizes:
    width = 0 if read.weight is None else 8 if pa.types.is_floating(read.weight) and read.weight.bit_width == 64 else 4
    directed = read.directed if graph.directed is None else graph.directed
    floats = read.weight is not None and pa.types.is_floating(read.weight)
    return GraphSizes(edges, vertices, width, floats, directed, read.named, not read.rereadable, origin)
