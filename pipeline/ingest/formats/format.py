"""The declaration of a format, the result of its reader, and which columns of a file are the ends and weights of edges."""

import logging
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar

import pyarrow as pa

from pipeline.config.graph import Columns, GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest.fields import Decimals, OtherForm
from pipeline.ingest.formats.text import Text
from pipeline.ingest.values.oneway import Directions, arcs_of
from pipeline.ingest.values.rejects import Rejects
from pipeline.ingest.values.travel_times import SpeedCounts, times_of
from pipeline.store.edges import EdgeArrays
from pipeline.store.facts.roads import RoadFacts
from pipeline.store.names import VertexNames
from pipeline.suggestions import did_you_mean

log = logging.getLogger(__name__)
T = TypeVar("T")
HEAD = 2**12  # bytes of a file from which a binary format is known; a shorter file is known from all of its bytes
TABLES = ("csv", "tsv", "parquet")  # formats whose columns have names; nodes and coordinates may have them, too
# With a header line, and without; None: there is no such column unless it is named.
_DEFAULTS = {
    "src": ("src", "1"), "dst": ("dst", "2"), "weight": ("weight", ""), "oneway": (None, None), "reverse_weight": (None, None),
    "speed": (None, None), "order": (None, None),
}  # fmt: skip


@dataclass(frozen=True)
class ReadColumns:
    """`names` in the file of `src`, `dst` and, if they are read, `weight` and the further roles; `ignored`: the others.

    `constants` are those of these that the file's partition states instead: a key for each, and its value.
    """

    names: Mapping[str, str]
    ignored: Sequence[str]
    constants: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def weighted(self) -> bool:
        """Whether the file has weights."""
        return "weight" in self.names

    @property
    def have_directions(self) -> bool:
        """Whether a row is the arcs that its values say."""
        return not {*self.names, *self.constants}.isdisjoint(("oneway", "reverse_weight"))


class ForGpu(Protocol):
    """Columns of a file that a GPU decodes."""

    @property
    def worthwhile(self) -> bool:
        """Whether that is possible here, and fast."""

    def put(self, arrays: EdgeArrays) -> dict[str, int] | None:
        """Fill arrays on the GPU; the largest values of columns of integers, or None if `tables` have to be read instead."""


@dataclass(frozen=True)
class EdgeList:
    """An edge list that is read while its tables are iterated."""

    # `src`, `dst` int64, or large_string if `named`, and `weight` unless it is None; in the source's order. Raises BadInput.
    tables: Iterator[pa.Table]
    weight: pa.DataType | None
    directed: bool = True  # what the file or the format states
    states_direction: bool = False  # whether the file itself states it
    # first_id, declared_vertices: where the file declares its vertices, these are `first_id..first_id + declared_vertices - 1`;
    # without `first_id`, only their number.
    first_id: int | None = None
    declared_vertices: int | None = None
    rows: int | None = None  # edges, if the file states it; the tables have as many, or iterating them raises BadInput
    # The largest values of columns of integers, as far as the file states them; they may be wrong.
    largest: Mapping[str, int] = field(default_factory=dict)
    columns: ReadColumns | None = None  # those of a file that has columns
    directions: Directions | None = None  # how many rows are open in which directions, if they say it; complete with `tables`
    speeds: SpeedCounts | None = None  # of rows whose weights are travel times; complete with `tables`
    alone: int = 0  # how many rows at the end are self-loops that are there for their vertices only
    rejects: Rejects | None = None  # gets bad rows, if the format can leave them out and the run allows some
    named: bool = False  # whether `src` and `dst` are strings
    order: pa.DataType | None = None  # of the column `order`, which says which of parallel rows comes first, if there is one
    # What the file says besides, which is not in the tables: figures by their names; complete with `tables`.
    stated: Mapping[str, int] = field(default_factory=dict)
    # The ids of all vertices that the file lists, if they are strings: also of those without edges. Called after `tables`.
    vertices: Callable[[], Iterable[str]] | None = None
    rereadable: bool = False  # whether the file can be read again in the place of a copy
    for_gpu: ForGpu | None = None  # decodes all rows of a `rereadable` file in the place of `tables`
    # Of vertices, each at most once, if the file has some and ids are integers: `vertex` int64, and `x`, `y` float64, degrees of
    # longitude and latitude. Iterated after `tables`. Raises BadInput.
    coordinates: Iterator[pa.Table] | None = None
    # Of a road network, what is known of its streets as `pipeline.tables.streets` describes it, iterated after `coordinates`;
    # and `prove(folder)`, which checks the stored edge list against the source, and returns the facts. It raises ProofFailed.
    streets: Iterator[pa.Table] | None = None
    prove: Callable[[Path], RoadFacts] | None = None
    names: VertexNames | None = None  # of vertices whose ids the reader has numbered, so that those of the tables are integers
    measure: str | None = None  # what the weights measure, if the format says it


def as_arcs(edges: EdgeList) -> EdgeList:
    """The same edges as directed arcs, if the columns of their rows say in which directions they are open.

    If a partition states a column, the tables lack it; `pipeline.ingest.feed.partitions.completed` adds it first.
    """
    if not edges.columns or edges.columns.constants or not edges.columns.have_directions:
        return edges
    seen = Directions()
    arcs = replace(edges, tables=arcs_of(edges.tables, seen), rows=None, largest={}, rereadable=False)
    return replace(arcs, directed=True, states_direction=True, directions=seen)


def with_times(edges: EdgeList, graph: GraphConfig) -> EdgeList:
    """The same edges with travel times as weights, if a column of their rows has speeds."""
    if not (edges.columns and "speed" in edges.columns.names):
        return edges
    seen = SpeedCounts()
    timed = replace(edges, tables=times_of(edges.tables, graph, seen), weight=pa.int64(), rereadable=False, speeds=seen)
    return replace(timed, largest={end: most for end, most in edges.largest.items() if end in ("src", "dst")})


def in_the_right_way(graph: GraphConfig, file: str, read: Callable[[GraphConfig, pa.DataType], T]) -> T:
    """`read(graph, weight)`, with integers as weights and, unless the graph states them, as ids; again where the file has others.

    Args:
        read: Reads the file; `weight` is int64 or float64. What it wrote when it raised Decimals or OtherForm is void.
        file: The source's name in the log.
    """
    weight = pa.int64()
    while True:
        try:
            return read(graph, weight)
        except Decimals:
            log.info("%s: a weight has decimals, reading the file again", file)
            weight = pa.float64()
        except OtherForm as found:
            log.warning("%s: %s; all ids are read as strings (graph.ids and --ids state the type)", file, found)
            graph = graph.model_copy(update={"ids": "string"})


@dataclass(frozen=True)
class Head:
    """The beginning of a text file, from which its format is detected."""

    lines: list[bytes]  # the first three lines that are not blank, stripped
    first: bytes  # the first of them that is not a `c` comment; empty if there is none
    columns: Columns  # the configured column names


def first_line(pattern: bytes) -> Callable[[Head], bool]:
    """Return a function that matches the first line that is not a `c` comment."""
    compiled = re.compile(pattern)
    return lambda head: compiled.match(head.first) is not None


@dataclass(frozen=True)
class TextFormat:
    """A format of lines."""

    # `read(text, graph, weight)` returns an EdgeList; `weight` is int64, or float64 after `fields.Decimals` was raised.
    read: Callable[[Text, GraphConfig, pa.DataType], EdgeList]
    suffixes: tuple[str, ...] = ()  # without the dot. They decide only if no format's `matches` does.
    # Whether a file that begins like this has the format; None if that cannot be detected.
    matches: Callable[[Head], bool] | None = None
    # Of "columns", "header", "delimiter", "ids", "encoding", "decimal", "thousands", "null" and "osm" of a graph's configuration,
    # those that apply.
    options: frozenset[str] = frozenset()
    in_parts: bool = False  # whether a graph may be in several files: none has a header that declares its vertices


@dataclass(frozen=True)
class FileFormat:
    """A binary format that needs random access."""

    # `read(path, file, graph)` returns an EdgeList; `file` is the source's name in error messages. `path` exists while the tables
    # are iterated; its name says nothing. OpenStreetMap's has a further argument: changes that are applied to the source.
    read: Callable[..., EdgeList]
    suffixes: tuple[str, ...]  # without the dot
    matches: Callable[[bytes], bool]  # whether a file whose first HEAD bytes, or more, are these has the format
    options: frozenset[str] = frozenset()  # as of a TextFormat
    in_parts: bool = False  # as of a TextFormat


def choose(file: str, present: Sequence[str], columns: Columns, line: int | None = None, numbered: bool = False) -> ReadColumns:
    """Find the configured columns among those of a file.

    Args:
        present: Names of the file's columns; their numbers from "1" if they are `numbered`, because the file has no header line.
        line: Of the header.

    Raises:
        BadInput: A column is missing, or its name occurs twice.
    """
    names, constants = dict[str, str](), dict[str, tuple[str, str]]()
    for role, default in _DEFAULTS.items():
        stated = getattr(columns, role)
        name = default[numbered] if stated is None else stated
        if name is None or name is False:
            continue
        if role == "weight" and stated is None and name not in (*present, *columns.partition):
            continue
        if name in columns.partition:
            if name in present:
                both = f"a column {name!r}, and its partition states {name}={columns.partition[name]}"
                raise BadInput(file, f"has {both}; partitions = false below [graph] reads the column", line)
            if role == "order":
                raise BadInput(
                    file, f"graph.columns.order names the key {name} of its partition; files are in that order already"
                )
            constants[role] = name, columns.partition[name]
            continue
        if present.count(name) > 1:
            raise BadInput(file, f"{present.count(name)} columns are named {name!r}", line)
        if name not in present:
            existing = ", ".join(map(repr, present))[:200] + (": they have no names, but numbers" if numbered else "")
            option = "order-by" if role == "order" else role.replace("_", "-")
            how = did_you_mean(name, present) or f"; name the column in graph.columns.{role} or with --{option}"
            if len(present) == 1 and (between := next((mark for mark in ";\t|" if mark in present[0]), None)):
                how = f"; if {between!r} separates the columns, say so in graph.delimiter or with --delimiter"
            raise BadInput(file, f"no column {name!r} among {existing}{how}", line)
        names[role] = name
    if {"src", "dst"} <= constants.keys():
        raise BadInput(file, "its partition states both src and dst; one of them must be a column", line)
    _require_weights(file, names, constants, line)
    others = [name for name in (*present, *columns.partition) if name not in names.values()]
    return ReadColumns(names, [name for name in others if name not in dict(constants.values())], constants)


def _require_weights(file: str, names: Container[str], constants: Container[str], line: int | None) -> None:
    """Raise BadInput if `reverse_weight` or `speed` is read, but not as a column beside one of `weight`, or both are."""
    if "reverse_weight" in names and "speed" in names:
        raise BadInput(file, "graph.columns has both speed, of lengths, and reverse_weight; leave one of both out", line)
    for role, needed in (("reverse_weight", "weights"), ("speed", "lengths")):
        if role in constants or (role in names and "weight" in constants):
            raise BadInput(file, f"its partition states weight or {role}; with {role}, both must be columns", line)
        if role in names and "weight" not in names:
            reason = f"graph.columns.{role} is given, but no column of {needed}; name it in graph.columns.weight or with --weight"
            raise BadInput(file, reason, line)


def check_count(file: str, count: int, limits: Limits, line: int | None = None) -> None:
    """Raise BadInput if a file has more columns than the limit."""
    if count > limits.columns:
        raise BadInput(file, f"has {count} columns, the limit is {limits.columns} (graph.limits.columns)", line)
