"""Tarjan's search with one number a row.

Pearce, A Space-Efficient Algorithm for Finding Strongly Connected Components, Information Processing Letters 116 (2016);
without recursion.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.cpu.naming import smallest_ids
from kernels.graph import Graph
from kernels.wcc.cpu import components as weak_components


def components(graph: Graph) -> Components:
    """Answer `kernels.scc.scc` on NumPy arrays."""
    if graph.symmetric:
        return weak_components(graph)
    # A row without arcs one way is a component of its own, and its arcs need not be read.
    both = (np.diff(graph.out.offsets) > 0) & (np.diff(graph.into.offsets) > 0)
    component = np.where(both, -1, np.arange(graph.num_vertices)).astype(graph.rows_by_id.dtype)
    _search(frozen(graph.out.offsets), frozen(graph.out.indices), component)
    return Components(smallest_ids(graph, component))


@njit(cache=True, nogil=True)
def _search(offsets, indices, component):  # type: ignore[no-untyped-def]
    """Give every row of component -1 its component, named by one of its rows."""
    rows = len(component)
    low = np.zeros_like(component)  # 0 unseen; then the place in the search of the earliest row known to be reached
    path, held = np.empty_like(component), np.empty_like(component)  # rows being searched; rows done that wait for theirs
    # of a path's row: the next arc; still its component's first
    arcs, closes = np.empty(rows, np.int64), np.empty(rows, np.bool_)
    num_held = 0
    seen = 0
    for start in range(rows):
        if low[start] != 0 or component[start] >= 0:
            continue
        depth = 0
        path[0], arcs[0], closes[0] = start, offsets[start], True
        seen += 1
        low[start] = seen
        while depth >= 0:
            row = path[depth]
            arc, end = arcs[depth], offsets[row + 1]
            lowest, close = low[row], closes[depth]
            while arc < end:
                far = indices[arc]
                if component[far] < 0:
                    if low[far] == 0:
                        break
                    if low[far] < lowest:
                        lowest, close = low[far], False
                arc += 1
            low[row] = lowest
            if arc < end:
                arcs[depth], closes[depth] = arc, close
                depth += 1
                seen += 1
                path[depth], arcs[depth], closes[depth], low[far] = far, offsets[far], True, seen
                continue
            depth -= 1
            if not close:
                held[num_held] = row
                num_held += 1
                continue
            component[row] = row
            while num_held and low[held[num_held - 1]] >= lowest:
                num_held -= 1
                component[held[num_held]] = row
