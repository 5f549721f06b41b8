"""Matrix Market coordinate files (`.mtx`): a banner, `%` comments, `ROWS COLUMNS ENTRIES`, then `ROW COLUMN [VALUE]`, from 1.

An entry (i, j) is the arc i to j; a symmetric matrix stores one triangle and is an undirected graph.
https://math.nist.gov/MatrixMarket/formats.html
"""

from __future__ import annotations

import pyarrow as pa

from pipeline.config.run import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.edge_list import EdgeList
from pipeline.ingest.rows import Declared, Field, Rows, tables
from pipeline.ingest.text import Text, problem, shown

_VALUES = {b"pattern": None, b"integer": pa.int64(), b"real": pa.float64()}
_SYMMETRIES = (b"general", b"symmetric")


def read(text: Text, graph: GraphConfig, _weight: pa.DataType) -> EdgeList:
    """Read a square coordinate matrix."""
    values, symmetry = _banner(text)
    height, width, entries = problem(text, text.header(b"%"), b"", 3)
    if height != width:
        raise BadInput(text.file, f"a matrix of {height} rows and {width} columns is no graph; it must be square", text.line)
    ids = Field("src", pa.int64(), 1, height), Field("dst", pa.int64(), 1, height)
    weight = _VALUES[values]
    rows = Rows((*ids, Field("weight", weight)) if weight else ids, comment=b"%")
    declared = Declared(entries, text.line)
    return EdgeList(tables(text, rows, graph.limits.edges, declared), weight, symmetry == b"general", 1, height)


def _banner(text: Text) -> tuple[bytes, bytes]:
    line = text.readline() or b""
    words = line.lower().split()
    if words[:2] != [b"%%matrixmarket", b"matrix"] or len(words) != 5:
        raise BadInput(text.file, f'{shown(line)} where "%%MatrixMarket matrix coordinate VALUES SYMMETRY" is due', 1)
    for word, allowed in zip(words[2:], ((b"coordinate",), tuple(_VALUES), _SYMMETRIES), strict=True):
        if word not in allowed:
            raise BadInput(text.file, f"{shown(word)} matrices are not read; the choice is {b', '.join(allowed).decode()}", 1)
    return words[3], words[4]
