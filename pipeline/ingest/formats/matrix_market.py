"""Matrix Market coordinate files (`.mtx`): a banner, `%` comments, `ROWS COLUMNS ENTRIES`, then `ROW COLUMN [VALUE]`.

Ids start at 1. An entry (i, j) is the arc from i to j. A symmetric matrix stores one triangle and is an undirected graph.
https://math.nist.gov/MatrixMarket/formats.html
"""

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.fields import Field, ends
from pipeline.ingest.formats.format import EdgeList, TextFormat, first_line
from pipeline.ingest.formats.rows import Declared, LineLayout, tables
from pipeline.ingest.formats.text import Text, problem
from pipeline.texts import shown

_VALUES = {b"pattern": None, b"integer": pa.int64(), b"real": pa.float64()}
_SYMMETRIES = (b"general", b"symmetric")


def read(text: Text, graph: GraphConfig, _weight: pa.DataType) -> EdgeList:
    """Read a square coordinate matrix."""
    values, symmetry = _banner(text)
    height, width, entries = problem(text, text.header(b"%"), b"", 3)
    if height != width:
        raise BadInput(text.file, f"a matrix of {height} rows and {width} columns is not a graph; it must be square", text.line)
    ids = ends(low=1, high=height)
    weight = None if graph.columns.weight is False else _VALUES[values]
    rows = LineLayout((*ids, Field("weight", weight)) if _VALUES[values] else ids, comment=b"%")
    edges = tables(text, rows, graph.limits.edges, Declared(entries, text.line))
    return EdgeList(
        edges, weight, symmetry == b"general", True, first_id=1, declared_vertices=height,
        rows=entries, largest={"src": height, "dst": height},
    )  # fmt: skip


def _banner(text: Text) -> tuple[bytes, bytes]:
    line = text.readline() or b""
    words = line.lower().split()
    if words[:2] != [b"%%matrixmarket", b"matrix"] or len(words) != 5:
        raise BadInput(text.file, f'expected "%%MatrixMarket matrix coordinate VALUES SYMMETRY", found {shown(line)}', 1)
    for word, allowed in zip(words[2:], ((b"coordinate",), tuple(_VALUES), _SYMMETRIES), strict=True):
        if word not in allowed:
            raise BadInput(text.file, f"{shown(word)} matrices are not supported, only {b', '.join(allowed).decode()}", 1)
    return words[3], words[4]


FORMAT = TextFormat(read, ("mtx",), first_line(rb"(?i:%%MatrixMarket)\b"))
