"""Vertices that a table of nodes declares: they are in the graph, also without an edge.

Those of a source with string ids get names like all others. Integer ids are followed by a self-loop for each, which the layout
drops, and with it nothing but the edge.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import BadInput
from pipeline.ingest.formats.format import EdgeList


def with_vertices(file: str, edges: EdgeList, ids: pa.Array) -> EdgeList:
    """An edge list and the vertices `ids` (int64). Raises BadInput for one beyond those that the file declares itself."""
    if edges.first_id is not None:
        last = edges.first_id + (edges.declared_vertices or 0) - 1
        if len(ids) and (beyond := ids.filter(pc.or_(pc.less(ids, edges.first_id), pc.greater(ids, last)))):
            raise BadInput(file, f"declares the vertices {edges.first_id}..{last}, but the nodes declare {beyond[0]}")
        return edges
    alone = loops(ids, edges.weight)
    if edges.order is not None:
        alone = alone.append_column("order", pa.nulls(len(ids), edges.order))
    rows = chain(_wide(edges.tables), [alone])
    return replace(edges, tables=rows, rows=None, largest={}, rereadable=False, alone=len(ids))


def loops(ids: pa.Array, weight: pa.DataType | None) -> pa.Table:
    """A self-loop of weight 0 for each id."""
    weights = {} if weight is None else {"weight": pa.array(np.zeros(len(ids), np.int8)).cast(weight)}
    return pa.table({"src": ids, "dst": ids} | weights)


def _wide(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Tables whose ids have 64 bits, as those that follow them."""
    for table in tables:
        yield pa.table(
            {name: table[name].cast(pa.int64()) if name in ("src", "dst") else table[name] for name in table.schema.names}
        )
