"""Edges of a graph as undirected ones, and the arcs of a flow network."""

import numpy as np

from graphmill import Array, Csr, Graph
from kernels.arrays import require_row


def edges_of(graph: Graph) -> tuple[Array, Array, Array]:
    """Edges ascending by (weight, smaller row, larger row), each once: of every arc its edge's number, and the edges' rows."""
    tails, heads, weights = _tails(graph), graph.out.indices.astype(np.int64), graph.out.weights
    low, high = np.minimum(tails, heads), np.maximum(tails, heads)
    keys = _keys(low * graph.num_vertices + high, weights, graph.num_vertices**2)
    order, begins = np.arange(len(heads), like=heads), np.zeros(len(heads), np.bool_, like=heads)
    for key in keys:
        order = order[np.argsort(key[order], kind="stable")]
    begins[:1] = True
    for key in keys:
        begins[1:] |= key[order[1:]] != key[order[:-1]]
    ranks = np.empty(len(heads), np.int64, like=heads)
    ranks[order] = np.cumsum(begins) - 1
    first = order[np.flatnonzero(begins)]
    return ranks, low[first], high[first]


def _keys(pairs: Array, weights: Array | None, size: int) -> list[Array]:
    """What edges are sorted by, the last key first: weights, then `pairs` of rows, numbers below `size`; one key if it fits."""
    if weights is None:
        return [pairs]
    if weights.dtype.kind != "f" and len(weights) and (int(weights.max()) + 1) * size < 2**63:
        return [weights.astype(np.int64) * size + pairs]
    return [pairs, weights]


def network_of(graph: Graph) -> tuple[Graph, Array, Array]:
    """A flow network: the graph with every arc's reverse, the capacities of its arcs, int64 [2 A], and each arc's reverse arc.

    An arc's capacity is its weight, or 1; that of a reverse is 0. Raises ValueError if a weight is not an integer.
    """
    weights, tails, heads = graph.out.weights, _tails(graph), graph.out.indices.astype(np.int64)
    if weights is not None and len(broken := weights[~((weights == np.floor(weights)) & (weights < 2.0**63))]):
        raise ValueError(f"the weight {broken[0]} is not an integer that int64 holds, and capacities are")
    count, size = len(heads), graph.num_vertices
    given = np.zeros(count, np.int64, like=heads) + 1 if weights is None else weights.astype(np.int64)
    capacities = np.concatenate([given, np.zeros(count, np.int64, like=heads)])
    near, far = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    order = np.argsort(near * size + far, kind="stable")
    places = np.empty(2 * count, np.int64, like=heads)
    places[order] = np.arange(2 * count, like=heads)
    reverse = np.concatenate([places[count:], places[:count]])[order]
    offsets = np.zeros(size + 1, np.int64, like=heads)
    np.cumsum(np.bincount(near, minlength=size), out=offsets[1:])
    arcs = Csr(offsets, far[order].astype(graph.out.indices.dtype), None)
    return Graph(graph.ids, graph.rows_by_id, arcs, arcs, directed=True), capacities[order], reverse


def ends_of(graph: Graph, source: int, target: int) -> tuple[int, int]:
    """Two rows between which something flows. Raises ValueError if they are the same one."""
    source, target = require_row(graph, source), require_row(graph, target)
    if source == target:
        raise ValueError(f"source and target are the same row, {source}")
    return source, target


def _tails(graph: Graph) -> Array:
    arcs = np.arange(graph.num_arcs, dtype=np.int64, like=graph.ids)
    return np.searchsorted(graph.out.offsets, arcs, side="right").astype(np.int64) - 1
