"""The condensation on the GPU: components are numbered by rank, the arcs between them sorted as keys, once a direction."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.answers import Condensation
from kernels.cuda import load
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.scc import scc

_GRID = (2048,), (256,)


def condense(graph: Graph) -> Condensation:
    """Condense a graph of CuPy arrays; beside the answer it takes about 24 bytes an arc."""
    row, num_rows = graph.rows_by_id.dtype, np.int64(graph.num_vertices)
    labels = scc(graph).labels
    counts, nodes, names = (cupy.empty(graph.num_vertices, row) for _ in range(3))
    if graph.num_vertices:
        _run("mark_names", row, labels, graph.rows_by_id, num_rows, counts)
        cupy.cumsum(counts, dtype=row, out=counts)
        names = names[: int(counts[-1])]
        _run("number_nodes", row, labels, graph.ranks, counts, num_rows, nodes, names)
    del labels, counts
    num_nodes = np.int64(len(names))
    keys = cupy.empty(graph.num_arcs, np.int64)
    _run("list_arcs", row, graph.out.offsets, graph.out.indices, nodes, num_rows, num_nodes, keys)
    keys.sort()
    is_first = cupy.empty(len(keys), np.bool_)
    _run("mark_arcs", row, keys, np.int64(len(keys)), is_first)
    keys = keys[is_first]
    del is_first
    children = _rows_of(keys, num_nodes, row)
    keys.sort()
    return Condensation(nodes, names, children, _rows_of(keys, num_nodes, row))


def _rows_of(keys: Array, num_nodes: np.int64, row: np.dtype[Any]) -> Csr:
    """CSR of sorted keys, which become those of the reversed arcs."""
    far, offsets = cupy.empty(len(keys), row), cupy.zeros(int(num_nodes) + 1, OFFSET)
    _run("split_keys", row, keys, np.int64(len(keys)), num_nodes, far, offsets[1:])
    cupy.cumsum(offsets, out=offsets)
    return Csr(offsets, far, None)


def _run(name: str, row: np.dtype[Any], *arguments: Any) -> None:
    load("reachability/condensation.cu", ROW=row).get_function(name)(*_GRID, arguments)
