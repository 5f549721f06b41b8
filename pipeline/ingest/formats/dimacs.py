"""Files of the DIMACS Implementation Challenges: graphs (`.gr`), bare arc lines, coordinates (`.co`), colourings, flows.

`c` comments, `p sp VERTICES ARCS`, then `a SRC DST WEIGHT`; `p aux sp co VERTICES`, then `v ID X Y`. Ids start at 1.
http://www.diag.uniroma1.it/challenge9/format.shtml
`p edge VERTICES EDGES`, also `p col`, perhaps `n ID VALUE`, then `e U V`: colouring and cliques (2nd Challenge).
`p max VERTICES ARCS`, `n ID s` and `n ID t`, then `a SRC DST CAPACITY`: maximum flow (1st Challenge).
"""

import re
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.config.graph import GraphConfig
from pipeline.config.model import LARGEST
from pipeline.errors import BadInput
from pipeline.ingest.fields import Field, ends
from pipeline.ingest.formats.format import EdgeList, TextFormat, first_line
from pipeline.ingest.formats.rows import Declared, LineLayout, tables
from pipeline.ingest.formats.text import Text, problem
from pipeline.texts import shown

_COMMENT = re.compile(rb"c(\s|$)")
_VALUE = rb"-?\d+(?:\.\d+)?"
_UNIT = "millionths of a degree"
_HINT = f": a `.co` file has whole {_UNIT}; degrees with decimals belong into a CSV file with the columns vertex, x and y"
_DEGREES = tuple(
    Field(name, pa.int64(), -most * 10**6, most * 10**6, hint=_HINT, unit=_UNIT) for name, most in (("x", 180), ("y", 90))
)


def read(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read a `.gr` file, header first."""
    line = text.header(b"c")
    if line.startswith(b"a "):
        raise BadInput(
            text.file, 'an arc before the header "p sp VERTICES ARCS"; format = "arcs" reads files without one', text.line
        )
    vertices, arcs = problem(text, line, b"p sp", 2)
    declared = Declared(arcs, text.line)
    edges = _arcs(text, graph, weight, (1, vertices), declared)
    return replace(edges, first_id=1, declared_vertices=vertices, rows=arcs, largest={"src": vertices, "dst": vertices})


def read_arcs(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read arc lines without a header; the ids may start anywhere."""
    return _arcs(text, graph, weight, (0, LARGEST))


def read_edge(text: Text, graph: GraphConfig, _weight: pa.DataType) -> EdgeList:
    """Read a colouring or clique problem: undirected edges without weights; the values of vertices are counted."""
    line = text.header(b"c")
    name = b"p col" if line.split()[:2] == [b"p", b"col"] else b"p edge"
    vertices, edges = problem(text, line, name, 2)
    declared = Declared(edges, text.line)
    values = sum(1 for _ in _of_vertices(text, vertices, _VALUE, "n ID VALUE"))
    rows = LineLayout(ends(low=1, high=vertices), tag=b"e", header=b"p", comment=b"c")
    return EdgeList(
        tables(text, rows, graph.limits.edges, declared), None, False, first_id=1, declared_vertices=vertices, rows=edges,
        largest={"src": vertices, "dst": vertices}, stated={"values of vertices": values} if values else {},
    )  # fmt: skip


def read_max(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read a maximum-flow problem: arcs with capacities; `stated` has its source and sink."""
    vertices, arcs = problem(text, text.header(b"c"), b"p max", 2)
    declared = Declared(arcs, text.line)
    stated: dict[str, int] = {}
    for vertex, what in _of_vertices(text, vertices, rb"[st]", "n ID s, or n ID t"):
        name = {b"s": "source", b"t": "sink"}[what]
        if name in stated:
            raise BadInput(text.file, f"a second {name}, {vertex}; the first is {stated[name]}", text.line)
        if vertex in stated.values():
            raise BadInput(text.file, f"vertex {vertex} is both source and sink", text.line)
        stated[name] = vertex
    edges = _arcs(text, graph, weight, (1, vertices), declared)
    largest = {"src": vertices, "dst": vertices}
    return replace(edges, first_id=1, declared_vertices=vertices, rows=arcs, largest=largest, stated=stated)


def _of_vertices(text: Text, vertices: int, value: bytes, form: str) -> Iterator[tuple[int, bytes]]:
    """The vertices of lines `n ID ...` before the arcs, and what the lines say of them; the lines are consumed."""
    line_of_vertex = re.compile(rb"n\s+([1-9]\d{0,18})\s+(%s)" % value)
    while (line := text.peek_line()) is not None and (not line or line[:1] in b"cn"):
        text.readline()
        if not line or _COMMENT.match(line):
            continue
        if not (match := line_of_vertex.fullmatch(line)):
            raise BadInput(text.file, f'expected "{form}", found {shown(line)}', text.line)
        if int(match[1]) > vertices:
            raise BadInput(text.file, f"vertex {int(match[1])} is not in 1..{vertices}", text.line)
        yield int(match[1]), match[2]


FORMAT = TextFormat(read, ("gr",), first_line(rb"p\s+sp\b"))
EDGE = TextFormat(read_edge, ("col", "clq"), first_line(rb"p\s+(edge|col)\b"))
MAX = TextFormat(read_max, ("max",), first_line(rb"p\s+max\b"))
ARCS = TextFormat(read_arcs, in_parts=True)  # only on request: a `.gr` file that lost its header must not pass


def coordinates(text: Text, limit: int) -> tuple[int, Iterator[pa.Table]]:
    """Read a `.co` file: the number of vertices, and tables of `vertex` int64, `x` and `y` float64 in degrees."""
    line = text.header(b"c")
    (vertices,) = problem(text, line, b"p aux sp co", 1)
    rows = LineLayout((Field("vertex", pa.int64(), 1, vertices, is_id=True), *_DEGREES), tag=b"v", header=b"p", comment=b"c")
    return vertices, map(_to_degrees, tables(text, rows, limit, Declared(vertices, text.line)))


def _arcs(
    text: Text, graph: GraphConfig, weight: pa.DataType, ids: tuple[int, int], declared: Declared | None = None
) -> EdgeList:
    kind = None if graph.columns.weight is False else weight
    fields = *ends(low=ids[0], high=ids[1]), Field("weight", kind, decimals=True)
    rows = LineLayout(fields, tag=b"a", header=b"p", comment=b"c")
    return EdgeList(tables(text, rows, graph.limits.edges, declared), kind)


def _to_degrees(table: pa.Table) -> pa.Table:
    degrees = {name: pc.divide(table[name], 1e6) for name in ("x", "y")}
    return pa.table({"vertex": table["vertex"], **degrees})
