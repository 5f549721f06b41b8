"""Formats that list vertices with names, then edges: GraphML, GML, Pajek. Their ids are strings; vertices need no edge.

They are read here, in one pass and by line, because NetworkX takes about 1 KB of memory for an edge, merges Pajek's vertices of
one name, and reads its `*Arcs` and `*Edges` as one kind.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.fields import Field, explain
from pipeline.ingest.formats.format import EdgeList, ReadColumns
from pipeline.ingest.formats.rows import too_many
from pipeline.ingest.formats.text import Text

_BATCH = 2**14  # edges
_UNWEIGHTED = "; weight = false in [graph.columns] (--no-weight) ignores weights"


@dataclass(frozen=True)
class Edge:
    """An edge as a file has it: the names of its ends, or their numbers, and its weight as text, if it has one."""

    src: str | int
    dst: str | int
    weight: str | None
    line: int


@dataclass
class Listed:
    """What a file says before its first edge; a reader fills it while edges are iterated."""

    directed: bool | None = None  # None: the file does not say it
    vertices: Callable[[], Iterable[str]] | None = None  # the names of all vertices, once all edges were read
    numbers: tuple[int, int] | None = None  # instead of names: the first id, and how many there are
    attributes: tuple[str, ...] = ()  # of edges, but their weight


def edge_list(text: Text, graph: GraphConfig, kind: pa.DataType, listed: Listed, edges: Iterator[Edge]) -> EdgeList:
    """The edge list of a file, which is read up to its first edge; the first edge decides whether all have weights.

    Raises:
        BadInput: A key of columns is given that names none, or the attribute of the weights is absent.
    """
    columns = graph.columns
    if columns.src or columns.dst or columns.have_directions:
        raise BadInput(text.file, "graph.columns has other columns than weight, which do not apply to this format")
    first = next(edges, None)
    if columns.weight and first and first.weight is None:
        raise BadInput(text.file, f"the edge has no attribute {columns.weight!r} (graph.columns.weight)", first.line)
    weighted = columns.weight is not False and first is not None and first.weight is not None
    named = listed.numbers is None
    names = {"src": "source", "dst": "target"} | ({"weight": columns.weight or "weight"} if weighted else {})
    return EdgeList(
        _tables(text, graph, chain([first] if first else [], edges), kind if weighted else None, named),
        kind if weighted else None,
        listed.directed is True,
        listed.directed is not None,
        first_id=listed.numbers[0] if listed.numbers else None,
        declared_vertices=listed.numbers[1] if listed.numbers else None,
        columns=ReadColumns(names, listed.attributes) if listed.attributes else None,
        named=named,
        vertices=listed.vertices if named else None,
    )


def _tables(text: Text, graph: GraphConfig, edges: Iterator[Edge], kind: pa.DataType | None, named: bool) -> Iterator[pa.Table]:
    rows: list[Edge] = []
    weight = Field("weight", kind, decimals=True)
    ignored = graph.columns.weight is False
    for seen, edge in enumerate(edges, 1):
        if seen > graph.limits.edges:
            raise too_many(text.file, edge.line, graph.limits.edges, None)
        if not ignored and (edge.weight is None) != (kind is None):
            has, had = ("no", "some") if edge.weight is None else ("a", "none")
            raise BadInput(text.file, f"the edge has {has} weight, but edges before it have {had}{_UNWEIGHTED}", edge.line)
        if kind is not None and edge.weight is not None and (fault := explain(edge.weight.encode(), weight)):
            raise BadInput(text.file, fault.reason, edge.line)
        rows.append(edge)
        if len(rows) == _BATCH:
            yield _table(rows, kind, named)
            rows = []
    yield _table(rows, kind, named)


def _table(rows: list[Edge], kind: pa.DataType | None, named: bool) -> pa.Table:
    of_ends = pa.large_string() if named else pa.int64()
    columns = {"src": pa.array([row.src for row in rows], of_ends), "dst": pa.array([row.dst for row in rows], of_ends)}
    if kind is not None:
        number = int if pa.types.is_integer(kind) else float
        columns["weight"] = pa.array([number(row.weight or "") + 0 for row in rows], kind)
    return pa.table(columns)
