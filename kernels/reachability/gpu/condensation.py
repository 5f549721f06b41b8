"""The condensation on the GPU: components are numbered by rank, the arcs between them sorted as keys, once a direction."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.answers import Condensation
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.reachability.gpu.labels import topological_order
from kernels.reachability.gpu.launch import launch
from kernels.scc import scc


def condense(graph: Graph) -> Condensation:
    """Condense a graph of CuPy arrays; beside the answer it takes about 26 bytes an arc.

    Where a topological order covers all rows, there is no cycle to look for; else the components are.
    """
    row, num_rows = graph.rows_by_id.dtype, np.int64(graph.num_vertices)
    order = None if graph.symmetric else topological_order(graph.out, graph.into, row)
    labels = scc(graph).labels if order is None else cupy.arange(graph.num_vertices, dtype=row)
    counts, nodes, names = (cupy.empty(graph.num_vertices, row) for _ in range(3))
    if graph.num_vertices:
        launch("condensation", "mark_names", graph.num_vertices, row, labels, graph.rows_by_id, num_rows, counts)
        cupy.cumsum(counts, dtype=row, out=counts)
        names = names[: int(counts[-1])]
        launch("condensation", "number_nodes", graph.num_vertices, row, labels, graph.positions, counts, num_rows, nodes, names)
    del labels, counts
    num_nodes = np.int64(len(names))
    keys = cupy.empty(graph.num_arcs, np.int64)
    launch(
        "condensation",
        "list_arcs",
        graph.num_vertices,
        row,
        graph.out.offsets,
        graph.out.indices,
        nodes,
        num_rows,
        num_nodes,
        keys,
    )
    keys.sort()
    is_first = cupy.empty(len(keys), np.bool_)
    launch("condensation", "mark_arcs", len(keys), row, keys, np.int64(len(keys)), is_first)
    keys = keys[is_first]
    del is_first
    children = _rows_of(keys, num_nodes, row)
    keys.sort()
    condensation = Condensation(nodes, names, children, _rows_of(keys, num_nodes, row))
    if order is not None:
        vars(condensation)["_order"] = nodes[order]
    return condensation


def _rows_of(keys: Array, num_nodes: np.int64, row: np.dtype[Any]) -> Csr:
    """CSR of sorted keys, which become those of the reversed arcs."""
    far, offsets = cupy.empty(len(keys), row), cupy.zeros(int(num_nodes) + 1, OFFSET)
    launch("condensation", "split_keys", len(keys), row, keys, np.int64(len(keys)), num_nodes, far, offsets[1:])
    cupy.cumsum(offsets, out=offsets)
    return Csr(offsets, far, None)
