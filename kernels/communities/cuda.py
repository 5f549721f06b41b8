"""Communities on the GPU: one cooperative launch (communities.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Components
from kernels.communities.constants import CONTROL_WORDS, LARGE_ROW, MIDDLE_ROW, SMALL_ROW, THREADS
from kernels.gpu.loader import launch, minus_ones, pointer
from kernels.graph import Array, Csr, Graph


def solve(graph: Graph) -> Components:
    """Answer `kernels.communities.communities` on CuPy arrays."""
    num_rows, row, into = graph.num_vertices, graph.rows_by_id.dtype, None if graph.symmetric else graph.into
    tabled, slots, counts = tables_of(graph.out, graph.into)
    positions, num_slots = graph.positions, max(1, int(slots[-1]))
    labels, preferred = positions.copy(), cupy.empty(num_rows, row)
    leads, moves = minus_ones(num_rows, np.int32), cupy.zeros(num_rows, np.uint8)
    tables, votes = cupy.empty(num_slots, row), cupy.empty(num_slots, np.uint32)
    sides: tuple[Any, ...] = graph.out.offsets, graph.out.indices
    sides += (pointer(into.offsets), pointer(into.indices)) if into else (pointer(None), pointer(None))
    state = positions, labels, preferred, leads, moves, tables, votes, cupy.zeros(CONTROL_WORDS, np.uint32)
    launch(
        "communities/communities.cu",
        "propagate",
        THREADS,
        None,
        *sides,
        np.int64(max(graph.out.used_rows, graph.into.used_rows)),
        tabled,
        slots,
        *counts,
        *state,
        ROW=row,
    )
    return Components(_named(graph, labels))


def tables_of(out: Csr, into: Csr) -> tuple[Array, Array, tuple[np.int64, ...]]:
    """Rows that need a table, those of more than LARGE_ROW arcs first, and then those of more than MIDDLE_ROW arcs.

    Returns them, where the slots of those of more than LARGE_ROW arcs begin in global memory, and how many rows there are up to
    the end of each kind.
    """
    degrees = cupy.diff(out.offsets)
    if into is not out:
        degrees = degrees + cupy.diff(into.offsets)
    limits = SMALL_ROW, MIDDLE_ROW, LARGE_ROW, np.iinfo(np.int64).max
    kinds = [cupy.flatnonzero((degrees > limits[i]) & (degrees <= limits[i + 1])) for i in (2, 1, 0)]
    slots = np.concatenate([np.zeros_like(degrees[:1], shape=(1,)), np.cumsum(2 * degrees[kinds[0]])])
    ends = tuple(np.cumsum([len(kind) for kind in kinds], dtype=np.int64))
    return np.concatenate(kinds).astype(out.indices.dtype), slots, ends


def _named(graph: Graph, labels: Array) -> Array:
    """Of each row, the row of smallest external id with its label."""
    by_position = labels[graph.rows_by_id]
    order = cupy.argsort(by_position, kind="stable")  # positions, by label
    by_label = by_position[order]
    starts = cupy.flatnonzero(np.concatenate([cupy.ones(len(by_label[:1]), np.bool_), by_label[1:] != by_label[:-1]]))
    first = cupy.empty_like(labels)
    first[by_label[starts]] = graph.rows_by_id[order[starts]]
    named: Array = first[labels]
    return named
