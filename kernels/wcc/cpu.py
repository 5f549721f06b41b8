"""Afforest (Sutton, Ben-Nun, Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling, IPDPS 2018).

Each row is first united with two neighbours, which already gathers most of a giant component. The rows in it are then
skipped: an arc that leaves it is read from its other end.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Components
from kernels.backend import frozen
from kernels.graph import Graph
from kernels.labels import smallest_ids
from kernels.union_find import flatten, unite

_NEIGHBOURS = 2  # arcs of each row that are united before the giant component is known


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on NumPy arrays."""
    parent = np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype)
    if graph.num_arcs:
        out, into = ((frozen(csr.offsets), frozen(csr.indices)) for csr in (graph.out, graph.into))
        _unite(*out, parent, 0, _NEIGHBOURS, np.ones(graph.num_vertices, np.bool_))
        outside = parent != np.bincount(parent).argmax()
        _unite(*out, parent, _NEIGHBOURS, graph.num_arcs, outside)
        if not graph.symmetric:
            _unite(*into, parent, 0, graph.num_arcs, outside)
    return Components(smallest_ids(graph, parent))


@njit(cache=True, nogil=True)
def _unite(offsets, indices, parent, first, last, active):  # type: ignore[no-untyped-def]
    """Unite each active row with the ends of its arcs number `first` to `last`; flatten the trees."""
    for row in range(len(parent)):
        if active[row]:
            for arc in range(offsets[row] + first, min(offsets[row] + last, offsets[row + 1])):
                unite(parent, row, indices[arc])
    flatten(parent)
