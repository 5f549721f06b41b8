"""Neighbours on the GPU (neighbours.cu): a pass counts those of each row, and a second one lists them."""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import launch, pointer
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.neighbours.constants import THREADS


def collect(graph: Graph) -> Csr:
    """Answer `kernels.neighbours.neighbours` on CuPy arrays."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    into: tuple[Any, ...] = (graph.into.offsets, graph.into.indices)
    sides = (graph.out.offsets, graph.out.indices, *((pointer(None),) * 2 if graph.symmetric else into))

    def run(name: str, places: Array, *listed: Array) -> None:
        given = *sides, graph.positions, np.int64(num_rows), places, *listed
        launch("neighbours/neighbours.cu", name, THREADS, 32 * num_rows, *given, ROW=row)

    counts = cupy.zeros(num_rows + 1, OFFSET)
    run("count_neighbours", counts)
    offsets = cupy.cumsum(counts) - counts
    if graph.symmetric and int(offsets[-1]) == graph.num_arcs:
        return Csr(graph.out.offsets, graph.out.indices, None)
    listed = cupy.empty(int(offsets[-1]), row)
    run("list_neighbours", offsets, listed)
    return Csr(offsets, listed, None)
