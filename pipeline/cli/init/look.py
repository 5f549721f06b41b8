"""Look at the beginning of a graph file, or of the first of several: format, columns, direction and first edge."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from kernels.decimals import places_of
from pipeline.cli.init import columns
from pipeline.cli.init.beside import OF_LDBC, Beside, look_beside
from pipeline.cli.init.columns import Sample
from pipeline.cli.init.forms import Written, encoding_of
from pipeline.config.expect import MOST_REJECTED
from pipeline.config.formats import OF_ROADS
from pipeline.config.graph import GraphConfig
from pipeline.config.roads import OsmConfig
from pipeline.errors import BadInput
from pipeline.ingest.decompress import chunks, is_plain
from pipeline.ingest.feed import Feed, find
from pipeline.ingest.feed.joining import opened_feed
from pipeline.ingest.feed.partitions import keys_of
from pipeline.ingest.formats.detect import OfAnotherForm, binary_format, detect
from pipeline.ingest.formats.format import TABLES, EdgeList, in_the_right_way
from pipeline.ingest.formats.overture import is_overture
from pipeline.ingest.formats.text import Text
from pipeline.ingest.opening import opened
from pipeline.ingest.source import Source, Stored, stored
from pipeline.ingest.values.encodings import as_utf8
from pipeline.ingest.writer import edges_schema
from pipeline.report.wording import counted

_ROWS = 2**17  # at most, in which parallel ones are counted


@dataclass(frozen=True)
class Seen:
    """What the beginning of a file shows; `graph` is the configuration, completed by it."""

    graph: GraphConfig
    format: str
    sample: Sample | None  # of a file with columns
    first: dict[str, object]  # the first edge: `src`, `dst` and, if there are weights, `weight`
    directed: bool
    stated: bool  # whether the configuration or the file states the direction
    named: bool  # whether the ids are strings
    placed: bool  # whether the file or the configuration has coordinates
    bytes: int | None  # of the files, if they are known before they are read
    compressed: bool
    reasons: dict[str, str]  # why columns were chosen that the configuration does not state, by their roles
    files: int  # of the source
    keys: list[str]  # of the first file's partition
    beside: Beside  # what the tables of nodes and coordinates show
    notes: tuple[str, ...] = ()  # what was found and not used, and why
    sums: str = ""  # what becomes of sums of the first weights, if these are floats

    @property
    def is_of_roads(self) -> bool:
        """Whether a profile reads the file."""
        return self.format in OF_ROADS

    @property
    def unused(self) -> dict[str, str]:
        """The columns that are not read, each with what it holds."""
        used = {str(name) for name in self.graph.columns.model_dump().values()}
        kinds = (self.sample.kinds if self.sample else {}) | dict.fromkeys(self.keys, "a partition's key")
        return {name: kind for name, kind in kinds.items() if name not in used}


def look(graph: GraphConfig) -> Seen:
    """Read the first edges of a graph's source. Keys that `graph` states are not guessed. Raises BadInput for another file."""
    whole = find(graph.source)
    source, feed = (whole.parts[0].source, whole) if isinstance(whole, Feed) else (whole, None)
    with stored(source) as content:
        compressed = not is_plain(content)
        text, graph, notes = _text(content, chunks(content, graph.limits), graph)
        name, sample, reasons = _format(text, graph), None, dict[str, str]()
        if name == "parquet" and graph.format == "auto" and source.local and is_overture(source.local):
            name = "overture"
        if name in TABLES:
            if name == "parquet" and (compressed or source.local is None):
                raise BadInput(source.url, "is remote or compressed Parquet; init reads local, uncompressed Parquet")
            local = source.local if name == "parquet" else None
            sample = columns.of_parquet(local, source.url) if local else columns.of_text(text.head, name == "tsv")
            guess = columns.guess(source.url, sample, graph)
            guessed, reasons = {"columns": guess.columns, "format": name, "speed": guess.speed}, guess.reasons
            read_with: dict[str, object] = {
                "header": sample.header and graph.header,
                "delimiter": graph.delimiter or sample.delimiter,
            }
            read_with |= _written(graph, sample.written) if name != "parquet" else {}
            notes += guess.notes
            graph = graph.model_copy(update=guessed | (read_with if name != "parquet" else {}))
    if name == "snap" and graph.columns.weight is None and OF_LDBC.search(source.name) and _has_numbers(text.head):
        graph = graph.model_copy(update={"columns": graph.columns.model_copy(update={"weight": "3"})})
        notes += ("weights are the numbers in column 3, as in LDBC's files of edges (guessed)",)
    if name in OF_ROADS:  # its first edge is known when all of it was read
        graph, why = _with_profile(graph)
        edges, rows = (
            EdgeList(iter(()), pa.int64(), states_direction=True, coordinates=iter(()), named=name == "overture"),
            edges_schema(None).empty_table(),
        )
        notes = (*notes, *why)
    else:
        edges, rows = in_the_right_way(graph, whole.url, partial(_first, whole))
    first: dict[str, object] = rows.slice(0, 1).to_pylist()[0] if len(rows) else {}
    if edges.rejects and (bad := edges.rejects.rows):
        how = f"{edges.rejects.place(bad[0])}: {bad[0].reason}; [reject] limit leaves such rows out"
        notes += (f"{len(bad):,} of the first {edges.rejects.read:,} rows are bad: {how}",)
    stated = graph.directed is not None or edges.states_direction
    directed = edges.directed if graph.directed is None else graph.directed
    if (repeated := _repeated(rows, directed)) and graph.parallel is None:
        of = f"{repeated:,} of the first {len(rows):,} edges have the ends of an earlier one"
        notes += (f"{of}; the lightest of such edges stays, unless --parallel states another rule",)
    beside = look_beside(graph, bool(edges.coordinates))
    placed = bool(edges.coordinates or beside.graph.coordinates)
    keys = [*keys_of(source.url)] if feed and graph.partitions else []
    return Seen(
        beside.graph, name, sample, first, directed, stated, edges.named, placed, whole.size, compressed, reasons,
        len(feed.parts) if feed else 1, keys, beside, notes,
        _sums_of(rows["weight"] if "weight" in rows.column_names else None),
    )  # fmt: skip


def _with_profile(graph: GraphConfig) -> tuple[GraphConfig, tuple[str, ...]]:
    """The configuration with a profile, and how to choose another one."""
    if graph.osm.profile:
        return graph, ()
    note = "the profile is taken for car; --profile bicycle and --profile foot are others"
    return graph.model_copy(update={"osm": OsmConfig(profile="car")}), (note,)


def _has_numbers(head: bytes) -> bool:
    """Whether each line of the beginning of a text has three fields, the third of which is a number."""
    rows = [line.split() for line in head.splitlines()[:-1] or head.splitlines()]
    try:
        return bool(rows) and all(len(row) == 3 and float(row[2]) >= 0 for row in rows)
    except ValueError:
        return False


def _text(content: Stored, stream: Iterator[bytes], graph: GraphConfig) -> tuple[Text, GraphConfig, tuple[str, ...]]:
    """The text of a file, the configuration with its encoding, and why it is this one."""
    first, notes = next(stream, b""), tuple[str, ...]()
    if graph.encoding is None and not binary_format(first) and (encoding := encoding_of(first[: graph.limits.header])):
        graph = graph.model_copy(update={"encoding": encoding})
        notes = (f"the encoding is taken for {encoding}, because the text is not UTF-8; --encoding states another",)
    whole = chain([first], stream)
    file = content.file
    return Text(file, as_utf8(file, whole, graph.encoding) if graph.encoding else whole, graph.limits), graph, notes


def _written(graph: GraphConfig, how: Written) -> dict[str, object]:
    """The keys of numbers that are not stated, unless they are as usual."""
    form, stated = how.form, graph.model_fields_set
    keys = {"decimal": form.decimal, "thousands": form.thousands or None, "null": tuple(sorted(form.nulls))}
    usual = GraphConfig.model_fields
    return {key: value for key, value in keys.items() if key not in stated and value != usual[key].default}


def _format(text: Text, graph: GraphConfig) -> str:
    """The format, also of a table whose columns do not have the default names."""
    if graph.format != "auto":
        return graph.format
    try:
        return detect(text.head, text.file, graph)
    except OfAnotherForm:
        raise
    except BadInput:
        line = text.head.strip().partition(b"\n")[0]
        if b"\0" not in text.head and any(character.encode() in line for character in columns.DELIMITERS):
            return "csv"
        raise


def _first(source: Source | Feed, graph: GraphConfig, weight: pa.DataType) -> tuple[EdgeList, pa.Table]:
    """The edge list, and its first rows."""
    with opened_feed(source, graph, weight) if isinstance(source, Feed) else opened(source, graph, weight) as read:
        edges = read.edges
        if edges.rejects:
            edges.rejects.limit = MOST_REJECTED  # bad rows do not hide the others
        return edges, next((table.slice(0, _ROWS) for table in edges.tables if len(table)), pa.table({}))


def _repeated(rows: pa.Table, directed: bool) -> int:
    """How many rows have the ends of an earlier one; in an undirected graph, also the other way round."""
    if not len(rows):
        return 0
    src, dst = rows["src"], rows["dst"]
    if not directed:
        ascends = pc.less(src, dst)
        src, dst = pc.if_else(ascends, src, dst), pc.if_else(ascends, dst, src)
    return len(rows) - len(pa.table({"src": src, "dst": dst}).group_by(["src", "dst"]).aggregate([]))


def _sums_of(weights: pa.ChunkedArray | None) -> str:
    if weights is None or not pa.types.is_floating(weights.type):
        return ""
    places = places_of(weights.drop_null().to_numpy()) if weights.type == pa.float64() else None
    if places is None:
        return "not counted in units, so sums are rounded"
    return f"{counted(places, 'decimal')} in the first rows, counted in units, so sums are exact"
