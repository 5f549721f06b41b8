"""Afforest (Sutton, Ben-Nun, Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling, IPDPS 2018).

Each row is first united with two neighbours, which already joins most of a giant component. The arcs of rows in it are then
skipped: an arc that leaves the giant component is read from its other endpoint.
"""

import numpy as np

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.components.naming import smallest_ids
from kernels.components.union_find import flatten, unite
from kernels.cpu.compiled import njit
from kernels.graph import Array, Graph

_NEIGHBOURS = 2  # arcs of each row that are united before the giant component is known
_SAMPLE = 1 << 10  # rows that are read to find it


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on NumPy arrays."""
    out, into = ((frozen(csr.offsets), frozen(csr.indices)) for csr in (graph.out, graph.into))
    parent = np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype)
    _join(out, into, graph.symmetric, parent)
    return Components(smallest_ids(graph, parent))


@njit(cache=True, nogil=True)
def _join(out: tuple[Array, Array], into: tuple[Array, Array], symmetric: bool, parent: Array) -> None:
    """Let the parent of every row of a component be the same row."""
    _unite_arcs(out, parent, np.ones(len(parent), np.bool_), 0, _NEIGHBOURS)
    count, giant = np.zeros_like(parent), 0
    for row in range(0, len(parent), len(parent) // _SAMPLE + 1):
        count[parent[row]] += 1
        if count[parent[row]] > count[giant]:
            giant = parent[row]
    outside = parent != giant
    _unite_arcs(out, parent, outside, _NEIGHBOURS, len(out[1]))
    if not symmetric:
        _unite_arcs(into, parent, outside, 0, len(into[1]))


@njit(cache=True, nogil=True)
def _unite_arcs(arcs: tuple[Array, Array], parent: Array, active: Array, first: int, last: int) -> None:
    """Unite each active row with the heads of its arcs number `first` to `last - 1`."""
    offsets, indices = arcs
    for row in range(len(parent)):
        if active[row]:
            for arc in range(offsets[row] + first, min(offsets[row] + last, offsets[row + 1])):
                unite(parent, row, indices[arc])
    flatten(parent)
