"""SNAP text: `#` comments, then lines `SRC DST` or `SRC DST WEIGHT`, separated by tabs or spaces.

The first comment that starts with "Undirected" or "Directed" states the direction; without one the graph is directed.
The comment "# Nodes: N Edges: M" declares M lines.
https://snap.stanford.edu/data/
"""

import re

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.ingest.formats.format import EdgeList, TextFormat, first_line
from pipeline.ingest.formats.rows import Declared, Field, Rows, tables
from pipeline.ingest.formats.text import Text

_DIRECTION = re.compile(rb"#+\s*(un)?directed\b", re.IGNORECASE)
_COUNTS = re.compile(rb"#+\s*nodes:\s*[0-9]+\s+edges:\s*([0-9]{1,18})\s*", re.IGNORECASE)


def read(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read edge lines; the first one decides whether there are weights."""
    directed: bool | None = None
    declared: Declared | None = None
    while (line := text.peek_line()) is not None and (not line or line.startswith(b"#")):
        text.readline()
        if directed is None and (found := _DIRECTION.match(line)):
            directed = found[1] is None
        if counts := _COUNTS.fullmatch(line):
            declared = Declared(int(counts[1]), text.line)
    weighted = line is not None and len(line.split()) > 2
    ids = Field("src", pa.int64()), Field("dst", pa.int64())
    rows = Rows((*ids, Field("weight", weight, decimals=True)) if weighted else ids, comment=b"#")
    return EdgeList(tables(text, rows, graph.limits.edges, declared), weight if weighted else None, directed is not False)


FORMAT = TextFormat("snap", read, matches=first_line(rb"#|-?\d+[ \t]+-?\d+([ \t]+[-+.\w]+)?"))
