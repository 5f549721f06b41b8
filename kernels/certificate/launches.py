"""Launches of the certificates' kernels, and the rules that all of them check on the GPU."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.certificate.constants import THREADS
from kernels.certificate.rules import Broken, label_astray, label_greater, outside, require_form
from kernels.gpu import loader as cuda
from kernels.graph import Array, Csr, Graph


def launch(source: str, name: str, work: int, arguments: tuple[Any, ...], **types: Any) -> None:
    """Launch a kernel of `kernels/SOURCE` with a thread for each of `work` items, or as many as the GPU holds."""
    cuda.launch(source, name, THREADS, work, *arguments, **types)


def require_device_form(name: str, array: Any, length: int, dtype: np.dtype[Any]) -> Array:
    """`array`, contiguous, or Broken unless it is a CuPy array of this length and type."""
    contiguous: Array = cupy.ascontiguousarray(require_form(name, array, length, dtype, cupy.ndarray))
    return contiguous


def require_row_labels(graph: Graph, labels: Array, no_row: int, astray: int, greater: int) -> None:
    """Raise Broken for the first row, counted back from V (labels.cuh), whose label is not a row, is astray or is greater."""
    if no_row:
        raise Broken(outside("labels", labels, graph.num_vertices - no_row, graph.num_vertices))
    if astray:
        raise Broken(label_astray(graph, labels, graph.num_vertices - astray))
    if greater:
        raise Broken(label_greater(graph, labels, graph.num_vertices - greater))


def require_labels_form(graph: Graph, labels: Any) -> Array:
    """`labels`, or Broken unless they are a CuPy array of a row number for each vertex."""
    return require_device_form("labels", labels, graph.num_vertices, graph.rows_by_id.dtype)


def work_of(csr: Csr) -> int:
    """Items of a pass over rows and arcs."""
    return len(csr.offsets) + len(csr.indices)


def first_noted(back: Any, csr: Csr) -> int:
    """The arc that a kernel noted, counted back from the number of arcs (`note_first` in arcs.cuh); -1 if it noted none."""
    return len(csr.indices) - int(back) if int(back) else -1
