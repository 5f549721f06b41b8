"""PACE 2016 graphs (`.gr`): `c` comments, `p tw VERTICES EDGES`, then `U V`. Undirected; ids start at 1.

https://pacechallenge.org/2016/treewidth/
"""

import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.ingest.fields import ends
from pipeline.ingest.formats.format import EdgeList, TextFormat, first_line
from pipeline.ingest.formats.rows import Declared, LineLayout, tables
from pipeline.ingest.formats.text import Text, problem


def read(text: Text, graph: GraphConfig, _weight: pa.DataType) -> EdgeList:
    """Read a PACE file, header first."""
    vertices, edges = problem(text, text.header(b"c"), b"p tw", 2)
    rows = LineLayout(ends(low=1, high=vertices), header=b"p", comment=b"c")
    declared = Declared(edges, text.line)
    return EdgeList(
        tables(text, rows, graph.limits.edges, declared), None, False, first_id=1, declared_vertices=vertices,
        rows=edges, largest={"src": vertices, "dst": vertices},
    )  # fmt: skip


FORMAT = TextFormat(read, matches=first_line(rb"p\s+tw\b"))
