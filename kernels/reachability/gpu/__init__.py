"""The reachability index on the GPU: the same labels, answers and decisions as the CPU's, to the byte."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from kernels.answers import Condensation, Labels, ReachabilityIndex, Reached
from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.reachability.gpu import condensation as cuda_condensation
from kernels.reachability.gpu import labels as cuda_labels
from kernels.reachability.gpu import queries as cuda_queries


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


def on_host(value: Any) -> Any:
    """The same index, or what it is made of, with NumPy's arrays."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: on_host(getattr(value, field.name)) for field in fields(value)})
    return to_host(value)
