"""Degrees of a graph on the GPU, which decide with which of two methods each search begins."""

import cupy

from kernels.graph import Csr, Graph

_FEW_ARCS = 8  # mean out-degree of the rows with arcs up to which paths are taken to be long ...
_SMALL_ROW = 1024  # ... unless a row has more arcs, because one warp, or in shortest paths one lane, walks a row


def has_long_paths(graph: Graph) -> bool:
    """Whether paths may have many arcs: rows have few out-arcs, and none has many arcs, out or in."""
    return are_long(*degrees_of(graph.out, graph.into))


def degrees_of(out: Csr, into: Csr) -> tuple[int, int, int]:
    """Number of arcs, number of rows with out-arcs, and largest degree, out or in."""
    degrees = cupy.diff(out.offsets)
    largest = (degrees if csr is out else cupy.diff(csr.offsets) for csr in (out, into))
    return int(degrees.sum()), int(cupy.count_nonzero(degrees)), max(int(one.max()) if len(one) else 0 for one in largest)


def are_long(num_arcs: int, with_arcs: int, largest: float) -> bool:
    """As `has_long_paths`, from what `degrees_of` returns."""
    return num_arcs <= _FEW_ARCS * with_arcs and largest <= _SMALL_ROW
