"""Afforest on all cores (Sutton, Ben-Nun, Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling, 2018).

Each row is first united with two neighbours, which already joins most of a giant component. The arcs of rows in it are then
skipped: an arc that leaves the giant component is read from its other endpoint.

Threads unite trees at the same time by Rem's method with atomic exchanges (Patwary, Refsnes, Manne, Multi-core Spanning Forest
Algorithms using the Disjoint-set Data Structure, IPDPS 2012). A parent is never larger than its child.
"""

import numpy as np

from kernels.answers import Components
from kernels.arrays import frozen
from kernels.components.naming import smallest_ids
from kernels.cpu.atomics import compare_and_swap
from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.parallel import over_items, ranges, ranges_of_rows
from kernels.graph import Array, Graph

_NEIGHBOURS = 2  # arcs of each row that are united before the giant component is known
_SAMPLE = 1 << 10  # rows that are read to find it
_NONE, _ALL = -1, np.iinfo(np.int64).max


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on NumPy arrays."""
    out, into = ((frozen(csr.offsets), frozen(csr.indices)) for csr in (graph.out, graph.into))
    rows, parts = ranges(graph.num_vertices), ranges_of_rows(graph.out.offsets)
    parent = np.empty_like(graph.rows_by_id)
    over_items(rows, lambda part: _begin(parent, part))
    over_items(rows, lambda part: _unite_arcs(out, parent, _NONE, 0, _NEIGHBOURS, part))
    over_items(rows, lambda part: _flatten(parent, part))
    giant = _most_frequent(parent[:: len(parent) // _SAMPLE + 1])
    over_items(parts, lambda part: _unite_arcs(out, parent, giant, _NEIGHBOURS, _ALL, part))
    if not graph.symmetric:
        over_items(ranges_of_rows(graph.into.offsets), lambda part: _unite_arcs(into, parent, giant, 0, _ALL, part))
    over_items(rows, lambda part: _flatten(parent, part))
    return Components(smallest_ids(graph, parent))


def _most_frequent(values: Array) -> int:
    distinct, counts = np.unique(values, return_counts=True)
    return int(distinct[counts.argmax()]) if len(values) else _NONE


@njit(cache=True, nogil=True)
def _begin(parent: Array, part: tuple[int, int]) -> None:
    for row in range(*part):
        parent[row] = row


@njit(cache=True, nogil=True)
def _unite_arcs(arcs: tuple[Array, Array], parent: Array, giant: int, first: int, last: int, part: tuple[int, int]) -> None:
    """Unite the rows of a range with the heads of their arcs number `first` to `last - 1`, but not those whose parent is `giant`.

    Rows that other threads hang below `giant` meanwhile are in its component, too.
    """
    offsets, indices = arcs
    for row in range(*part):
        if parent[row] != giant:
            for arc in range(offsets[row] + first, offsets[row] + min(last, offsets[row + 1] - offsets[row])):
                _unite(parent, row, indices[arc])


@njit(cache=True, **UNCOUNTED)
def _unite(parent: Array, near: int, far: int) -> None:
    """Join the trees of `near` and `far`, while other threads join trees."""
    while True:
        higher, lower = parent[near], parent[far]
        if higher == lower:
            return
        if higher < lower:
            near, far, higher, lower = far, near, lower, higher
        is_hung = compare_and_swap(parent, near, higher, lower)
        if higher != near:
            near = higher  # what was its parent, and is not below `lower` yet
        elif is_hung:
            return


@njit(cache=True, nogil=True)
def _flatten(parent: Array, part: tuple[int, int]) -> None:
    """Replace the parents of a range by the roots, while other threads do so in other ranges."""
    for row in range(*part):
        root = parent[row]
        while parent[root] != root:
            root = parent[root]
        parent[row] = root
