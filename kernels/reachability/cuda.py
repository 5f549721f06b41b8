"""The reachability index on the GPU: the same labels, answers and decisions as the CPU's, to the byte."""

from __future__ import annotations

from kernels.answers import Condensation, Labels, ReachabilityIndex, Reached
from kernels.graph import Array, Graph
from kernels.reachability import cuda_condensation, cuda_labels, cuda_queries


def condense(graph: Graph) -> Condensation:
    """Answer `kernels.reachability.condense` on CuPy arrays."""
    return cuda_condensation.condense(graph)


def label(condensation: Condensation, dimensions: int, seed: int, method: str) -> Labels:
    """Answer `kernels.reachability.label` on CuPy arrays."""
    return cuda_labels.label(condensation, dimensions, seed, method)


def reach(index: ReachabilityIndex, src: Array, dst: Array, search: str | None) -> Reached:
    """Answer `kernels.reachability.reach` on CuPy arrays."""
    if search is not None:
        raise ValueError(f"reach: no search {search!r} for these arrays")
    return cuda_queries.reach(index, src, dst)
