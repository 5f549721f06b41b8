"""SNAP text: `#` comments, then lines `SRC DST` or `SRC DST VALUE`, separated by tabs or spaces.

The values may be weights, times or signs, so they are read as weights on request only: `weight = 3` in `[graph.columns]`.

The first comment that starts with "Undirected" or "Directed" states the direction; without one the graph is directed.
The comment "# Nodes: N Edges: M" declares M lines.
https://snap.stanford.edu/data/
"""

import re

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.ingest.formats.columns import choose
from pipeline.ingest.formats.format import EdgeList, TextFormat, first_line
from pipeline.ingest.formats.rows import Declared, Field, Rows, tables
from pipeline.ingest.formats.text import Text

_DIRECTION = re.compile(rb"#+\s*(un)?directed\b", re.IGNORECASE)
_COUNTS = re.compile(rb"#+\s*nodes:\s*[0-9]+\s+edges:\s*([0-9]{1,18})\s*", re.IGNORECASE)


def read(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read edge lines; the first one decides how many columns there are."""
    directed: bool | None = None
    declared: Declared | None = None
    while (line := text.peek_line()) is not None and (not line or line.startswith(b"#")):
        text.readline()
        if directed is None and (found := _DIRECTION.match(line)):
            directed = found[1] is None
        if counts := _COUNTS.fullmatch(line):
            declared = Declared(int(counts[1]), text.line)
    names = ["1", "2", "3"] if line is None or len(line.split()) > 2 else ["1", "2"]
    chosen = choose(text.file, names, graph.columns, text.line + 1, numbered=True)
    fields = {
        chosen.names["src"]: Field("src", pa.int64()),
        chosen.names["dst"]: Field("dst", pa.int64()),
        chosen.names.get("weight"): Field("weight", weight, decimals=True),
    }
    rows = Rows(tuple(fields.get(name, Field(f"column {name}")) for name in names), comment=b"#")
    edges = tables(text, rows, graph.limits.edges, declared)
    return EdgeList(
        edges, weight if chosen.weighted else None, directed is not False, directed is not None,
        rows=declared.arcs if declared else None, columns=chosen,
    )  # fmt: skip


_FIRST = first_line(rb"#|-?\d+[ \t]+-?\d+([ \t]+[-+.\w]+)?")
FORMAT = TextFormat("snap", read, matches=_FIRST, options=frozenset({"columns", "header"}))
