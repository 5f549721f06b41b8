"""Degrees of a graph on the GPU, which decide between the two methods of each search."""

import cupy

from kernels.graph import Array, Graph

_FEW_ARCS = 8  # mean out-degree of the rows with arcs up to which paths are taken to be long ...
_SMALL_ROW = 1024  # ... unless a row has more arcs, because one warp, or in shortest paths one lane, walks a row


def has_long_paths(graph: Graph) -> bool:
    """Whether paths have many arcs: rows have few out-arcs, and none has many."""
    return are_long(*degrees_of(graph.out.offsets))


def degrees_of(offsets: Array) -> tuple[int, int, int]:
    """Number of arcs, number of rows with arcs, and largest degree."""
    degrees = cupy.diff(offsets)
    return int(degrees.sum()), int(cupy.count_nonzero(degrees)), int(degrees.max()) if len(degrees) else 0


def are_long(num_arcs: int, with_arcs: int, largest: int) -> bool:
    """As `has_long_paths`, from what `degrees_of` returns."""
    return num_arcs <= _FEW_ARCS * with_arcs and largest <= _SMALL_ROW
