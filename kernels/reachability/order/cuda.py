"""Topological orders on the GPU (order.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Condensation
from kernels.gpu.deep import most_rounds, require_shallow
from kernels.gpu.loader import launch, to_host
from kernels.graph import Array, Csr
from kernels.reachability.constants import CONTROL_WORDS, SWEEP_THREADS

_SOURCE = "reachability/order/order.cu"
_QUEUED, _DEEP = 0, 1  # words of Control


def find_order(out: Csr, into: Csr, row: np.dtype[Any]) -> Array | None:
    """Return the nodes in an order in which every arc leads to a later node, or None if there is a cycle. Raises Deep."""
    num_nodes = len(out.offsets) - 1
    order, waiting = cupy.empty(num_nodes, row), cupy.empty(num_nodes, row)
    control, size = cupy.zeros(CONTROL_WORDS, np.int64), np.int64(num_nodes)
    launch(_SOURCE, "start_order", SWEEP_THREADS, num_nodes, into.offsets, size, waiting, order, ROW=row)
    launch(_SOURCE, "queue_roots", SWEEP_THREADS, num_nodes, waiting, size, order, control, ROW=row)
    arguments = out.offsets, out.indices, size, waiting, order, np.int64(most_rounds(out)), control
    launch(_SOURCE, "order_nodes", SWEEP_THREADS, num_nodes, *arguments, ROW=row)
    words = to_host(control)
    require_shallow(words[_DEEP])
    return order if words[_QUEUED] == num_nodes else None


def order_of(condensation: Condensation) -> Array:
    """Return a topological order of the nodes; ValueError if there is a cycle. Raises Deep."""
    # `condense` keeps the order of a graph that has one; no other order is kept, so that its memory is free after labelling.
    order: Array | None = condensation.derived.get(order_of, lambda: None)
    if order is None:
        order = find_order(condensation.children, condensation.parents, condensation.names.dtype)
    if order is None:
        raise ValueError("label: the condensation has a cycle")
    return order
