"""Sums over the triangles at each row of a graph, by the functions of its backend."""

from typing import Any

import numpy as np

from kernels.arrays import on_gpu
from kernels.graph import Array, Csr, Graph
from kernels.triangles.lists import arcs_of


def backend_of(arcs: Graph | Csr, kernel: str) -> Any:
    """The module with `labelled`, `list_neighbours` and `add_triangles` for these arrays; raises TypeError if there is none."""
    if on_gpu(arcs, kernel):
        from kernels.triangles import cuda

        return cuda
    from kernels.triangles import cpu

    return cpu


def count(graph: Graph, kernel: str, directed: bool) -> tuple[Array, Array]:
    """The sums, and the number of neighbours of each row, both int64 [V].

    Args:
        directed: A triangle counts at a corner as often as arcs lead between the other two, and otherwise once.
    """
    backend = backend_of(graph, kernel)
    arcs = arcs_of(graph)
    order = backend.labelled(arcs, np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype, like=graph.ids))
    lists, neighbours = backend.list_neighbours(arcs, order, directed)
    sums = np.zeros_like(neighbours)
    backend.add_triangles(lists, lists, sums)
    by_label = sums * 2 if directed and graph.symmetric else sums
    of_rows = np.empty_like(sums), np.empty_like(neighbours)
    of_rows[0][order], of_rows[1][order] = by_label, neighbours
    return of_rows
