"""V-graphs: a segment for each vertex and, in the place of a neighbour's number, a pointer to the reverse arc in its segment.

Blelloch: Vector Models for Data-Parallel Computing (1990); Martinho: Marrow-Graph (2021), section 2.4.
"""

from typing import NamedTuple

import numpy as np

from kernels.graph import Array, Csr
from kernels.library.dynamic.arrays import keys_of, offsets_of, owners_of, sorted_keys


class VGraph(NamedTuple):
    """A symmetric graph."""

    degrees: Array  # int64 [V]: the segment descriptor
    pointers: Array  # int64 [A]: place of each arc's reverse; its own inverse
    weights: Array | None  # [A]


def v_graph_of(csr: Csr) -> VGraph:
    """The V-graph of a CSR, in its order of arcs; raises ValueError if an arc has no reverse."""
    tails, heads = owners_of(csr.offsets), csr.indices.astype(np.int64)
    forward, places = sorted_keys(keys_of(tails, heads))
    backward, reverse = sorted_keys(keys_of(heads, tails))
    if bool((forward != backward).any()):
        raise ValueError("v_graph_of: an arc has no reverse")
    pointers = np.empty(len(tails), np.int64, like=tails)
    pointers[places] = reverse.astype(np.int64)
    return VGraph(np.diff(csr.offsets), pointers, csr.weights)


def csr_of(graph: VGraph) -> Csr:
    """The CSR of a V-graph: the neighbour is the vertex whose segment has the reverse arc."""
    offsets = offsets_of(graph.degrees)
    return Csr(offsets, owners_of(offsets)[graph.pointers].astype(np.int32), graph.weights)
