"""The condensation on the GPU: components are numbered in id order, and their arcs are sorted as keys, once per direction."""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Condensation
from kernels.gpu.deep import unless_deep
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.reachability.order.cuda import find_order, order_of
from kernels.scc import scc

_SOURCE, _THREADS = "reachability/condensation/condensation.cu", 512


def condense(graph: Graph) -> Condensation:
    """Answer `kernels.reachability.condense` on CuPy arrays."""
    return unless_deep(_condense, "kernels.reachability.condensation.cpu:condense", graph)


def _condense(graph: Graph) -> Condensation:
    """Condense a graph of CuPy arrays; in addition to the answer it takes about 26 bytes per arc.

    If the rows have a topological order, every row is a component; otherwise the components are searched. Raises Deep.
    """
    row, num_rows = graph.rows_by_id.dtype, np.int64(graph.num_vertices)
    order = None if graph.symmetric else find_order(graph.out, graph.into, row)
    labels = scc(graph).labels if order is None else cupy.arange(graph.num_vertices, dtype=row)
    nodes, names = _numbered(graph, labels)
    del labels
    num_nodes = np.int64(len(names))
    keys = cupy.empty(graph.num_arcs, np.int64)
    arcs = graph.out.offsets, graph.out.indices, nodes, num_rows, num_nodes
    launch(_SOURCE, "list_arcs", _THREADS, graph.num_vertices, *arcs, keys, ROW=row)
    keys.sort()
    is_first = cupy.empty(len(keys), np.bool_)
    launch(_SOURCE, "mark_arcs", _THREADS, len(keys), keys, np.int64(len(keys)), is_first, ROW=row)
    keys = keys[is_first]
    del is_first
    children = _rows_of(keys, num_nodes, row)
    keys.sort()
    condensation = Condensation(nodes, names, children, _rows_of(keys, num_nodes, row))
    if order is not None:
        condensation.derived.put(order_of, nodes[order])
    return condensation


def _numbered(graph: Graph, labels: Array) -> tuple[Array, Array]:
    """The node of each row, and the name of each node."""
    row, num_rows = graph.rows_by_id.dtype, np.int64(graph.num_vertices)
    counts, nodes, names = (cupy.empty(graph.num_vertices, row) for _ in range(3))
    if graph.num_vertices:
        launch(_SOURCE, "mark_names", _THREADS, graph.num_vertices, labels, graph.rows_by_id, num_rows, counts, ROW=row)
        cupy.cumsum(counts, dtype=row, out=counts)
        names = names[: int(counts[-1])]
        numbering = labels, graph.positions, counts, num_rows, nodes, names
        launch(_SOURCE, "number_nodes", _THREADS, graph.num_vertices, *numbering, ROW=row)
    return nodes, names


def _rows_of(keys: Array, num_nodes: np.int64, row: np.dtype[Any]) -> Csr:
    """CSR of sorted keys, which become those of the reversed arcs."""
    heads, offsets = cupy.empty(len(keys), row), cupy.zeros(int(num_nodes) + 1, OFFSET)
    launch(_SOURCE, "split_keys", _THREADS, len(keys), keys, np.int64(len(keys)), num_nodes, heads, offsets[1:], ROW=row)
    cupy.cumsum(offsets, out=offsets)
    return Csr(offsets, heads, None)
