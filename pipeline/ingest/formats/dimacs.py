"""The 9th DIMACS Implementation Challenge's files: graphs (`.gr`), bare arc lines, and coordinates (`.co`).

`c` comments, `p sp VERTICES ARCS`, then `a SRC DST WEIGHT`; `p aux sp co VERTICES`, then `v ID X Y`. Ids start at 1.
http://www.diag.uniroma1.it/challenge9/format.shtml
"""

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


FORMAT = TextFormat(read, ("gr",), first_line(rb"p\s+sp\b"))
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
