"""From an answer, whose arrays speak of rows, to its table, which speaks of external ids, and back, for each form of answer.

Rows and ids are translated where the graph's arrays are; a table is in this machine's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from kernels.answers import Components, Forest, Paths, Ranks, ReachabilityIndex
from kernels.cuda import to_host
from kernels.graph import ID, NO_ROW, UNREACHED, Array, Graph
from pipeline.errors import ProofFailed
from pipeline.stored_index import StoredIndex


@dataclass(frozen=True)
class Form:
    """How the answers of some stages lie in a table.

    Attributes
    ----------
    batch : callable
        `batch(graph, answer, schema)`: the answer as the rows of its table, sorted.
    read : callable
        `read(graph, table)`: the answer that such rows hold. Raises ProofFailed where they hold none. A table of form LABELS has
        a part of its answer alone, so it takes the stored index too, and returns that: `read(graph, table, index)`.
    """

    batch: Callable[[Any, Any, pa.Schema], pa.RecordBatch]
    read: Callable[..., Any]


class Ids(Protocol):
    """The vertices of a graph or of a stored index: `ids` and `rows_by_id` as `Graph` has them."""

    @property
    def ids(self) -> Array:
        """External id of each row."""

    @property
    def rows_by_id(self) -> Array:
        """The rows in ascending order of their ids."""

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""


def rows_of(graph: Ids, ids: Array) -> Array:
    """Rows of external ids (int64), where the graph's arrays are; NO_ROW for one that the graph does not have."""
    ids = np.asarray(ids, like=graph.ids)
    if not graph.num_vertices:
        return np.full_like(ids, NO_ROW, graph.rows_by_id.dtype)
    places = np.searchsorted(graph.ids, ids, sorter=graph.rows_by_id)
    rows = graph.rows_by_id[np.minimum(places, graph.num_vertices - 1)]
    rows[graph.ids[rows] != ids] = NO_ROW
    return rows


def _path_batch(graph: Graph, paths: Paths, schema: pa.Schema) -> pa.RecordBatch:
    distance = to_host(paths.distance[graph.rows_by_id])
    predecessor = paths.predecessor[graph.rows_by_id]
    columns = [
        pa.array(np.full(graph.num_vertices, int(graph.ids[paths.source]), ID)),
        _column(graph.ids[graph.rows_by_id]),
        pa.array(distance, mask=distance == UNREACHED),
        pa.array(to_host(graph.ids[predecessor]), mask=to_host(predecessor == NO_ROW)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _read_paths(graph: Graph, table: pa.Table) -> Paths:
    _require_vertices(graph, table)
    source = table["source"][0].as_py()
    distance, predecessor = table["distance"], table["predecessor"]
    length = _array(graph, distance.fill_null(pa.scalar(UNREACHED, distance.type)))
    if int((length < 0).sum()) != distance.null_count:
        raise ProofFailed(f"source {source}: a distance is negative")
    before = np.full_like(graph.rows_by_id, NO_ROW)
    before[_array(graph, predecessor.is_valid())] = _existing_rows(graph, predecessor.drop_null())
    (row,) = _existing_rows(graph, table["source"][:1]).tolist()
    return Paths(row, _by_row(graph, length), _by_row(graph, before))


def _forest_batch(graph: Graph, forest: Forest, schema: pa.Schema) -> pa.RecordBatch:
    weights = forest.weights.astype(schema.field("weight").type.to_pandas_dtype(), copy=False)
    columns = [graph.ids[forest.src], graph.ids[forest.dst], weights, graph.ids[forest.labels[forest.src]]]
    return pa.RecordBatch.from_arrays([_column(column) for column in columns], schema=schema)


def _read_forest(graph: Graph, table: pa.Table) -> Forest:
    src, dst, tree = (_existing_rows(graph, table[column]) for column in ("src", "dst", "labels"))
    weights = _array(graph, table["weight"])
    stored = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    labels = np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype, like=graph.ids)
    labels[src] = tree
    labels[dst] = tree
    if not (labels[src] == tree).all() or not (labels[dst] == tree).all():
        raise ProofFailed("mst: the edges of a tree have different labels")
    narrowed = weights.astype(stored)
    if not (narrowed == weights).all():
        raise ProofFailed("mst: a weight is not the graph's")
    return Forest(src, dst, narrowed, labels)


def _component_batch(graph: Graph, components: Components, schema: pa.Schema) -> pa.RecordBatch:
    columns = [graph.ids[graph.rows_by_id], graph.ids[components.labels[graph.rows_by_id]]]
    return pa.RecordBatch.from_arrays([_column(column) for column in columns], schema=schema)


def _read_components(graph: Graph, table: pa.Table) -> Components:
    _require_vertices(graph, table)
    return Components(_by_row(graph, _existing_rows(graph, table["labels"])))


def _rank_batch(graph: Graph, ranks: Ranks, schema: pa.Schema) -> pa.RecordBatch:
    columns = [graph.ids[graph.rows_by_id], ranks.ranks[graph.rows_by_id]]
    return pa.RecordBatch.from_arrays([_column(column) for column in columns], schema=schema)


def _read_ranks(graph: Graph, table: pa.Table) -> Array:
    """The ranks alone, float64 [V]: a table does not say how they were found."""
    _require_vertices(graph, table)
    return _by_row(graph, _array(graph, table["pagerank"]))


def _label_batch(graph: Ids, index: ReachabilityIndex, schema: pa.Schema) -> pa.RecordBatch:
    node = index.condensation.node[graph.rows_by_id]
    labels = index.labels
    columns = [graph.ids[graph.rows_by_id], graph.ids[index.condensation.names[node]], labels.level[node]]
    for low, post in zip(labels.low, labels.post, strict=True):
        columns += [low[node], post[node]]
    arrays = [pa.array(to_host(column), field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _read_labels(graph: Graph, table: pa.Table, stored: StoredIndex) -> ReachabilityIndex:
    if not (np.array_equal(stored.ids, graph.ids) and np.array_equal(stored.rows_by_id, graph.rows_by_id)):
        raise ProofFailed("reachability: the vertices of the index are not the graph's")
    shown = pa.Table.from_batches([_label_batch(graph, stored.index, table.schema)])
    for column in table.schema.names:
        if not shown[column].equals(table[column]):
            raise ProofFailed(f"reachability: column {column} is not what the index has")
    return stored.index


PATHS = Form(_path_batch, _read_paths)
FOREST = Form(_forest_batch, _read_forest)
COMPONENTS = Form(_component_batch, _read_components)
RANKS = Form(_rank_batch, _read_ranks)
LABELS = Form(_label_batch, _read_labels)


def _require_vertices(graph: Graph, table: pa.Table) -> None:
    if not np.array_equal(_array(graph, table["vertex"]), graph.ids[graph.rows_by_id]):
        raise ProofFailed("the vertex column is not the graph's vertices, each once, ascending")


def _existing_rows(graph: Graph, column: pa.ChunkedArray) -> Array:
    """Rows of a column of external ids. Raises ProofFailed for one that the graph does not have."""
    ids = _array(graph, column)
    rows = rows_of(graph, ids)
    for wrong in ids[rows == NO_ROW][:1]:
        raise ProofFailed(f"vertex {wrong} is not in the graph")
    return rows


def _by_row(graph: Graph, ascending: Array) -> Array:
    """Put values that stand in the order of external ids into row order."""
    values = np.empty_like(ascending)
    values[graph.rows_by_id] = ascending
    return values


def _column(array: Array) -> pa.Array:
    return pa.array(to_host(array))


def _array(graph: Graph, column: pa.ChunkedArray) -> Array:
    """A column without nulls, where the graph's arrays are."""
    return np.asarray(column.to_numpy(), like=graph.ids)
