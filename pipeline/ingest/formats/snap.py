"""SNAP and KONECT text: comments, then lines `SRC DST`, `SRC DST VALUE` or, in KONECT, `SRC DST VALUE TIME`.

Fields are separated by tabs or spaces. The values may be weights, times or signs, so they are read as weights on request only
(`weight = 3` in `[graph.columns]`), or where KONECT's header says that they are.

SNAP's comments start with `#`. The first that starts with "Undirected" or "Directed" states the direction; without one the graph
is directed. "# Nodes: N Edges: M" declares M lines, whose edges have at most N vertices. https://snap.stanford.edu/data/

KONECT's comments, which Network Repository's `.edges` have, too, start with `%`. The first may be `% DIRECTION WEIGHTS`, and the
second `% LINES ...`. http://konect.cc/
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.fields import STRINGS, Field, ends
from pipeline.ingest.formats.format import EdgeList, TextFormat, choose, first_line
from pipeline.ingest.formats.rows import Declared, LineLayout, tables
from pipeline.ingest.formats.text import Text
from pipeline.ingest.values.numbers import USUAL
from pipeline.ingest.values.order import OrderValues
from pipeline.ingest.values.rejects import Rejects
from pipeline.texts import shown

log = logging.getLogger(__name__)
_DIRECTION = re.compile(rb"#+\s*(un)?directed\b", re.IGNORECASE)
_COUNTS = re.compile(rb"#+\s*(?:[a-z-]+:\s*[0-9]{1,18}[\s,;]*)+", re.IGNORECASE)
_COUNT = re.compile(rb"\b(nodes|edges):\s*([0-9]+)", re.IGNORECASE)
_KONECT = re.compile(rb"%+\s*(sym|asym|bip)\s+(\w+)\b", re.IGNORECASE)
_LINES = re.compile(rb"%+\s*([0-9]{1,18})(?:\s+[0-9]+){1,3}\s*")
_WEIGHTED = (b"posweighted", b"multiposweighted", b"weighted", b"multiweighted")  # KONECT's words for weights in the third column
_MANY = 100  # lines from which a number is equal to theirs by no accident


@dataclass(frozen=True)
class _Stated:
    """What the comments before the first edge state."""

    directed: bool | None = None
    weighted: bool = False
    lines: Declared | None = None
    vertices: int | None = None


def read(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read a SNAP file; its first edge decides how many columns there are."""
    stated = _Stated()
    for line in _comments(text, b"#"):
        if stated.directed is None and (match := _DIRECTION.match(line)):
            stated = replace(stated, directed=match[1] is None)
        for name, count in _COUNT.findall(line) if _COUNTS.fullmatch(line) else ():
            if name.lower() == b"edges":
                stated = replace(stated, lines=Declared(int(count), text.line))
            else:
                stated = replace(stated, vertices=int(count))
    return _edges(text, graph, weight, stated, b"#", columns=3)


def read_konect(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read a file of KONECT or Network Repository; its first edge decides how many columns there are."""
    stated = _Stated()
    for number, line in enumerate(_comments(text, b"%")):
        if number == 0 and (match := _KONECT.match(line)):
            direction, values = match[1].lower(), match[2].lower()
            _require_graph(text, line, direction, values)
            stated = _Stated(direction == b"asym", values in _WEIGHTED)
        elif number == 1 and stated.directed is not None and (counts := _LINES.fullmatch(line)):
            stated = replace(stated, lines=Declared(int(counts[1]), text.line))
    return _edges(text, graph, weight, stated, b"%", columns=4)


def _comments(text: Text, mark: bytes) -> Iterator[bytes]:
    """The comments before the first edge."""
    while (line := text.peek_line()) is not None and (not line or line.startswith(mark)):
        text.readline()
        if line:
            yield line


def _require_graph(text: Text, line: bytes, direction: bytes, values: bytes) -> None:
    """Raise BadInput for KONECT's files that are no graph of one kind of vertices with edges that stay."""
    remedy = "; write a file without this line"
    if direction == b"bip":
        reason = "a bipartite graph, whose left and right vertices have the same numbers; give them different ones"
        raise BadInput(text.file, f"{shown(line)} states {reason}{remedy}", text.line)
    if values == b"dynamic":
        reason = "a dynamic graph, whose edges are added and removed; keep those of one time"
        raise BadInput(text.file, f"{shown(line)} states {reason}{remedy}", text.line)


def _edges(text: Text, graph: GraphConfig, weight: pa.DataType, stated: _Stated, comment: bytes, columns: int) -> EdgeList:
    """The edges behind the comments, in at most so many columns."""
    first = (text.peek_line() or b"").split()[:columns]
    names = [str(number) for number in range(1, (max(len(first), 2) if first else columns) + 1)]
    configured, line = graph.columns.in_partition({}), text.line + 1
    if configured.have_directions or configured.speed:
        raise BadInput(text.file, "graph.columns.oneway, reverse_weight and speed apply to CSV, TSV and Parquet files only")
    if stated.weighted and configured.weight is None and "3" in names:
        configured = configured.model_copy(update={"weight": "3"})
        log.info("%s: its header states weights, which are read from the third column", text.file)
    chosen = choose(text.file, names, configured, line, numbered=True)
    named = graph.ids == "string"
    src, dst = ends(named, hint=STRINGS if graph.ids == "auto" else "")
    fields = {
        chosen.names["src"]: src,
        chosen.names["dst"]: dst,
        chosen.names.get("weight"): Field("weight", weight, decimals=True),
    }
    order = None
    if by := chosen.names.get("order"):
        order = OrderValues.of(first[int(by) - 1] if first else b"", USUAL)
        fields[by] = Field("order", order.type, meanings=order)
    rows = LineLayout(tuple(fields.get(name, Field(f"column {name}")) for name in names), comment=comment)
    rejects = Rejects()
    edges = tables(text, rows, graph.limits.edges, stated.lines, rejects)
    if graph.format == "auto" and not named:
        _require_no_sizes(text, line, comment)
        edges = _without_header(text.file, "snap" if comment == b"#" else "konect", line, first, edges, rejects)
    return EdgeList(
        edges, weight if chosen.weighted else None, stated.directed is not False, stated.directed is not None,
        rows=stated.lines.arcs if stated.lines else None, columns=chosen, declared_vertices=stated.vertices, rejects=rejects,
        named=named, order=order.type if order else None,
    )  # fmt: skip


def _require_no_sizes(text: Text, line: int, comment: bytes) -> None:
    """Raise BadInput for a first line of two numbers before one of more: sizes, as in simple lists and METIS files."""
    lines = (one.split() for one in text.head[:_NEAR].split(b"\n")[:-1] if not one.lstrip().startswith(comment))
    first, second = [*islice(filter(None, lines), 2), [], []][:2]
    if len(first) == 2 and len(second) == 3 and all(word.isdigit() for word in (*first, *second[:2])):
        reason = 'looks like a header, VERTICES EDGES, before lines of more fields: state format = "edges" or "metis" (--format)'
        raise BadInput(text.file, reason, line)


def _without_header(
    file: str, name: str, line: int, first: list[bytes], edges: Iterator[pa.Table], rejects: Rejects
) -> Iterator[pa.Table]:
    """The same edges. Raises BadInput at their end if the first line, `first`, has the form of a header and their number."""
    sizes = [int(word) for word in first if word.isdigit() and len(word) <= len(str(2**63))]
    further, largest = -1, 0
    for table in edges:
        yield table
        others = table[1:] if further < 0 else table
        further += len(table)
        if len(others) and len(sizes) == len(first):
            largest = max(largest, pc.max(others["src"]).as_py(), pc.max(others["dst"]).as_py())
    further += len(rejects.rows)
    if len(sizes) == len(first) and (form := _header_form(sizes, further, largest)):
        remedy = f'{form[1]}, or, if it is an edge, state format = "{name}" (--format {name})'
        raise BadInput(file, f"looks like a header, {form[0]}, which {further} lines follow: {remedy}", line)


def _header_form(sizes: list[int], further: int, largest: int) -> tuple[str, str] | None:
    """The header that a first line of these numbers is, if `further` lines with ids up to `largest` follow, and a remedy."""
    if further < 1 or sizes[0] < 2 or (largest > sizes[0] and further < _MANY):
        return None
    if sizes[1] == further:
        return "VERTICES EDGES", "remove it"
    if len(sizes) == 3 and sizes[2] == further and (sizes[0] == sizes[1] or further >= _MANY):
        return "ROWS COLUMNS ENTRIES", "remove it, or add the first line of a Matrix Market file"
    if sizes[0] == further and 2 * sizes[1] == len(sizes) * further:
        return "VERTICES EDGES FORM of METIS", 'state format = "metis" (--format metis)'
    return None


_NEAR = 2**16  # bytes from the begin that may have the first lines
_FIRST = first_line(rb"#|-?\d+[ \t]+-?\d+([ \t]+[-+.\w]+)?")
_OPTIONS = frozenset({"columns", "header", "ids", "encoding"})
FORMAT = TextFormat(read, matches=_FIRST, options=_OPTIONS, in_parts=True)
KONECT = TextFormat(read_konect, matches=first_line(rb"%(?!%MatrixMarket)"), options=_OPTIONS, in_parts=True)
