"""From an answer, whose arrays speak of rows, to its table, which speaks of external ids, and back, for each form of answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.answers import Components, Forest, Paths
from kernels.graph import ID, NO_ROW, UNREACHED, Array, Graph
from pipeline.errors import ProofFailed


@dataclass(frozen=True)
class Form:
    """How the answers of some stages lie in a table.

    Attributes
    ----------
    batch : callable
        `batch(graph, answer, schema)`: the answer as the rows of its table, sorted.
    read : callable
        `read(graph, table)`: the answer that such rows hold. Raises ProofFailed where they hold none.
    """

    batch: Callable[[Graph, Any, pa.Schema], pa.RecordBatch]
    read: Callable[[Graph, pa.Table], Any]


def rows_of(graph: Graph, ids: Array) -> Array:
    """Rows of external ids (int64); NO_ROW for one that the graph does not have."""
    if not graph.num_vertices:
        return np.full(len(ids), NO_ROW, graph.rows_by_id.dtype)
    places = np.searchsorted(graph.ids, ids, sorter=graph.rows_by_id)
    rows = graph.rows_by_id[np.minimum(places, graph.num_vertices - 1)]
    rows[graph.ids[rows] != ids] = NO_ROW
    return rows


def _path_batch(graph: Graph, paths: Paths, schema: pa.Schema) -> pa.RecordBatch:
    distance = paths.distance[graph.rows_by_id]
    predecessor = paths.predecessor[graph.rows_by_id]
    columns = [
        pa.array(np.full(graph.num_vertices, graph.ids[paths.source], ID)),
        pa.array(graph.ids[graph.rows_by_id]),
        pa.array(distance, mask=distance == UNREACHED),
        pa.array(graph.ids[predecessor], mask=predecessor == NO_ROW),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _read_paths(graph: Graph, table: pa.Table) -> Paths:
    _require_vertices(graph, table)
    source = table["source"][0].as_py()
    distance, predecessor = table["distance"], table["predecessor"]
    length = _numpy(table, "distance", null=UNREACHED)
    if (length < 0).sum() != distance.null_count:
        raise ProofFailed(f"source {source}: a distance is negative")
    before = np.full(table.num_rows, NO_ROW, graph.rows_by_id.dtype)
    before[predecessor.is_valid().to_numpy()] = _existing_rows(graph, predecessor.drop_null().to_numpy())
    (row,) = _existing_rows(graph, np.array([source], ID))
    return Paths(int(row), _by_row(graph, length), _by_row(graph, before))


def _forest_batch(graph: Graph, forest: Forest, schema: pa.Schema) -> pa.RecordBatch:
    weights = forest.weights.astype(schema.field("weight").type.to_pandas_dtype(), copy=False)
    columns = [graph.ids[forest.src], graph.ids[forest.dst], weights, graph.ids[forest.labels[forest.src]]]
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=schema)


def _read_forest(graph: Graph, table: pa.Table) -> Forest:
    src, dst, tree = (_existing_rows(graph, _numpy(table, column)) for column in ("src", "dst", "labels"))
    weights = _numpy(table, "weight")
    stored = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    labels = np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype)
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
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=schema)


def _read_components(graph: Graph, table: pa.Table) -> Components:
    _require_vertices(graph, table)
    return Components(_by_row(graph, _existing_rows(graph, _numpy(table, "labels"))))


PATHS = Form(_path_batch, _read_paths)
FOREST = Form(_forest_batch, _read_forest)
COMPONENTS = Form(_component_batch, _read_components)


def _require_vertices(graph: Graph, table: pa.Table) -> None:
    if not np.array_equal(_numpy(table, "vertex"), graph.ids[graph.rows_by_id]):
        raise ProofFailed("the vertex column is not the graph's vertices, each once, ascending")


def _numpy(table: pa.Table, column: str, null: int | None = None) -> Array:
    values = table[column]
    return (values if null is None else values.fill_null(pa.scalar(null, values.type))).to_numpy()


def _existing_rows(graph: Graph, ids: Array) -> Array:
    """Rows of external ids. Raises ProofFailed for one that the graph does not have."""
    rows = rows_of(graph, ids)
    for wrong in ids[rows == NO_ROW][:1]:
        raise ProofFailed(f"vertex {wrong} is not in the graph")
    return rows


def _by_row(graph: Graph, ascending: Array) -> Array:
    """Put values that stand in the order of external ids into row order."""
    values = np.empty_like(ascending)
    values[graph.rows_by_id] = ascending
    return values
