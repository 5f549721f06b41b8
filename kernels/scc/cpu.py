"""Tarjan's search with one number per row.

Pearce, A Space-Efficient Algorithm for Finding Strongly Connected Components, Information Processing Letters 116 (2016);
without recursion.
"""

import numpy as np

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.components.naming import smallest_ids
from kernels.cpu.compiled import njit
from kernels.graph import Array, Graph


def components(graph: Graph) -> Components:
    """Answer `kernels.scc.scc` on NumPy arrays of a directed graph."""
    # A row without out-arcs or without in-arcs is a component of its own, and its arcs need not be read.
    both = (np.diff(graph.out.offsets) > 0) & (np.diff(graph.into.offsets) > 0)
    component = np.where(both, -1, np.arange(graph.num_vertices)).astype(graph.rows_by_id.dtype)
    _search(frozen(graph.out.offsets), frozen(graph.out.indices), component)
    return Components(smallest_ids(graph, component))


@njit(cache=True, nogil=True)
def _search(offsets: Array, indices: Array, component: Array) -> None:
    """Give every row of component -1 its component, named by one of its rows."""
    rows = len(component)
    low = np.zeros_like(component)  # 0 if unseen; then the number, in order of discovery, of the earliest row known to be reached
    path = np.empty_like(component)  # rows being searched
    held = np.empty_like(component)  # rows searched whose component is not complete
    # for each row of the path: its next arc, and whether it is the first row of its component as far as is known
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
                head = indices[arc]
                if component[head] < 0:
                    if low[head] == 0:
                        break
                    if low[head] < lowest:
                        lowest, close = low[head], False
                arc += 1
            low[row] = lowest
            if arc < end:
                arcs[depth], closes[depth] = arc, close
                depth += 1
                seen += 1
                path[depth], arcs[depth], closes[depth], low[head] = head, offsets[head], True, seen
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
