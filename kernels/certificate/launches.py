"""What the certificates on the GPU share: a launch of one kernel, and how the first broken places come back."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.certificate.rules import Broken, label_astray, label_greater, outside, require_form
from kernels.gpu import loader as cuda
from kernels.graph import Array, Graph

_THREADS = 512  # as in the sources


def launch(source: str, name: str, work: int, arguments: tuple[Any, ...], **types: np.dtype[Any]) -> None:
    """Launch a kernel of `kernels/SOURCE` with a thread for each of `work` items, or as many as the GPU holds."""
    cuda.launch(source, name, _THREADS, work, *arguments, **types)


def require_device_form(name: str, array: Any, length: int, dtype: np.dtype[Any]) -> Array:
    """`array` without gaps, or Broken unless it is a CuPy array of this length and type."""
    return cupy.ascontiguousarray(require_form(name, array, length, dtype, cupy.ndarray))


def require_row_labels(graph: Graph, labels: Array, no_row: int, astray: int, greater: int) -> None:
    """Raise Broken for the first row whose label is no row, astray or greater, each counted back from V (labels.cuh)."""
    if no_row:
        raise Broken(outside("labels", labels, graph.num_vertices - no_row, graph.num_vertices))
    if astray:
        raise Broken(label_astray(graph, labels, graph.num_vertices - astray))
    if greater:
        raise Broken(label_greater(graph, labels, graph.num_vertices - greater))


def require_labels_form(graph: Graph, labels: Any) -> Array:
    """`labels`, or Broken unless they are a CuPy array of a row number for each vertex."""
    return require_device_form("labels", labels, graph.num_vertices, graph.rows_by_id.dtype)
