"""The declaration of a format, and the result of its reader."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from pipeline.config.graph import Columns, GraphConfig
from pipeline.ingest.fields import Decimals, OtherForm
from pipeline.ingest.formats.columns import ReadColumns
from pipeline.ingest.formats.text import Text

log = logging.getLogger(__name__)
T = TypeVar("T")
HEAD = 2**12  # bytes of a file from which a binary format is known; a shorter file is known from all of its bytes


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
    named: bool = False  # whether `src` and `dst` are strings
    rereadable: bool = False  # whether the file can be read again in the place of a copy
    # Of vertices, each at most once, if the file has some and ids are integers: `vertex` int64, and `x`, `y` float64, degrees of
    # longitude and latitude. Iterated after `tables`. Raises BadInput.
    coordinates: Iterator[pa.Table] | None = None


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
    # Of "columns", "header", "delimiter" and "ids" of a graph's configuration, those that apply.
    options: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FileFormat:
    """A binary format that needs random access."""

    # `read(path, file, graph)` returns an EdgeList; `file` is the source's name in error messages. `path` exists while the tables
    # are iterated; its name says nothing.
    read: Callable[[Path, str, GraphConfig], EdgeList]
    suffixes: tuple[str, ...]  # without the dot
    matches: Callable[[bytes], bool]  # whether a file whose first HEAD bytes, or more, are these has the format
    options: frozenset[str] = frozenset()  # as of a TextFormat
