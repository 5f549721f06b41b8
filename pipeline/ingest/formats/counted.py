"""Counted edges (`.edges`): `VERTICES ARCS`, then `SRC DST WEIGHT`, ascending by SRC, without comments. Ids start at 0.

Anastasopoulos, Megrampian: Mapping graphs on the graphics card (Athens, 2016); `benchmarks.published.edges` writes such a file.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pipeline.config.graph import GraphConfig
from pipeline.errors import BadInput
from pipeline.ingest.fields import Field, ends
from pipeline.ingest.formats.format import EdgeList, TextFormat
from pipeline.ingest.formats.rows import Declared, LineLayout, tables
from pipeline.ingest.formats.text import Text, problem


def read(text: Text, graph: GraphConfig, weight: pa.DataType) -> EdgeList:
    """Read a file of counted edges, header first."""
    vertices, arcs = problem(text, text.header(), b"", 2)
    kind = None if graph.columns.weight is False else weight
    layout = LineLayout((*ends(high=vertices - 1), Field("weight", kind, decimals=True)))
    arcs_read = tables(text, layout, graph.limits.edges, Declared(arcs, text.line))
    return EdgeList(
        _ascending(text.file, arcs_read), kind, first_id=0, declared_vertices=vertices, rows=arcs,
        largest={"src": max(vertices - 1, 0), "dst": max(vertices - 1, 0)},
    )  # fmt: skip


# Only on request: a file of another format may begin with two integers, too, and Network Repository's `.edges` are `konect`.
FORMAT = TextFormat(read)


def _ascending(file: str, arcs: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same tables. Raises BadInput at the first arc whose tail is smaller than that of the arc before."""
    row, last = 0, 0
    for table in arcs:
        src = table["src"].to_numpy()
        falls = np.flatnonzero(np.diff(src, prepend=last) < 0)
        if len(falls):
            place = int(falls[0])
            before = int(src[place - 1]) if place else last
            raise BadInput(file, f"arc {row + place}, from 0: src {src[place]} comes after {before}; arcs have to ascend by src")
        row, last = row + len(src), int(src[-1]) if len(src) else last
        yield table
