"""Reachability: whether a path leads from one row to another, by an index of interval labels (GRAIL) and other cuts.

The graph is condensed to a directed acyclic graph (DAG) of its strong components, the nodes. Nodes have labels that are a
function of the graph and a seed; the labels of two nodes decide most queries, and a search that labels prune decides the rest.

Labels, method "tree", the default
    G(i) is the DAG where dimension i is even, and the reversed DAG where it is odd ("backward"). The level of a node in G(i) is
    the number of arcs on the longest path that ends there: `level` in the DAG, `height` in the reversed one.

    * Keys. mix(x) is splitmix64: x += 0x9E3779B97F4A7C15; x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
      x = (x ^ x >> 27) * 0x94D049BB133111EB; x ^ x >> 31, modulo 2^64. key(i, a, b) = mix(mix(mix(mix(seed) ^ i) ^ a) ^ b).
    * The parent of v is, among the tails u of its in-arcs in G(i) that lie on the level before v's, the one of the smallest
      key(i, u, v), then the smallest u; in dimension 0 the smallest u. A node of level 0 is a root.
    * Siblings. Let c[0] < ... < c[k-1] be all heads of u's out-arcs in G(i), and h = key(i, u, C) for C nodes. They are visited
      in the order c[(r + j) mod k], or c[(r - j) mod k] where h is odd, for j = 0, 1, ..., from r = (h >> 1) mod k. Those whose
      parent is u are its subtrees. In dimension 0 they are visited as they ascend. Roots are visited so too, as if they were
      the heads of a virtual node C.
    * The forest's post-order numbers the nodes from 1 to C. `low` and `post` are the smallest and the largest number of a node
      and of all that it reaches in G(i).

Labels, method "dfs", the thesis
    Every dimension labels the DAG. The forest is that of a depth-first search from the roots, which visits the heads c of u's
    out-arcs by key(i, u, c), then c, and the roots c by key(i, C, c), then c; in dimension 0 as they ascend. `post` is then the
    node's own number.

Both
    * `first` and `last` are the smallest and the largest number in the node's subtree, of every dimension.
    * Supports, 64 nodes. Let L be 1 + the largest level and S = min(64, L). Band s holds the nodes of level * S // L = s. Its
      64 // S nodes of largest (in-degree + 1) * (out-degree + 1), ties by the smaller node, are, in this order, the supports
      from s * (64 // S) on; a band of fewer nodes leaves the rest of its share NO_ROW.

A query (u, v) of two nodes is decided
    * SAME: yes, u = v.
    * FILTER: no, since level[u] >= level[v], or height[u] <= height[v], or v's interval is not inside u's in some dimension (u's
      not inside v's in a backward one), or a support reaches u and not v, or v reaches a support that u does not reach.
    * POSITIVE_CUT: yes, since first[u] <= last[v] <= last[u] in dimension 0, or u reaches a support that reaches v.
    * SEARCH: by a search, where none of these holds.

References
----------
Yıldırım, Chaoji, Zaki: GRAIL: Scalable Reachability Index for Large Graphs. PVLDB 3(1), 2010 (intervals, levels, positive cut).
Caiazza: Data-parallel implementation of the GRAIL index on many-core architectures. Politecnico di Torino, 2019 (five passes).
Hanauer, Schulz, Trummer: O'Reach: Even Faster Reachability in Large Graphs. SEA 2021 (supports, labels of both directions).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kernels.answers import Condensation, Labels, ReachabilityIndex, Reached
from kernels.arrays import is_cupy, require_numpy
from kernels.graph import Array, Graph

SAME, FILTER, POSITIVE_CUT, SEARCH = range(4)
METHODS = ("tree", "dfs")
NUM_SUPPORTS = 64
LARGEST_LISTED = 2_000  # components


class Memory(NamedTuple):
    """Bytes beside the graph's own arrays, at the peak of building an index and at that of answering queries with it.

    A query takes 2 bytes more for its answer.
    """

    build: int
    queries: int


def reachability(graph: Graph, dimensions: int = 3, seed: int = 0, method: str | None = None) -> ReachabilityIndex:
    """Build the index of a graph: `condense`, then `label`, with their errors."""
    condensation = condense(graph)
    return ReachabilityIndex(condensation, label(condensation, dimensions, seed, method))


def condense(graph: Graph) -> Condensation:
    """Shrink every strong component to a node.

    Raises
    ------
    TypeError
        If the graph's arrays belong to a backend without this kernel.
    """
    if is_cupy(graph):
        from kernels.reachability import gpu as cuda

        return cuda.condense(graph)
    require_numpy(graph, "condense")
    from kernels.reachability.condensation import condense as condense_rows

    return condense_rows(graph)


def label(
    condensation: Condensation, dimensions: int = 3, seed: int = 0, method: str | None = None, only: Sequence[int] | None = None
) -> Labels:
    """Label the nodes of a condensation.

    Parameters
    ----------
    dimensions : int
        Interval labels a node, at least 1.
    seed : int
        From 0 to 2^64 - 1: the labels of every dimension but 0 depend on it.
    method : {"tree", "dfs"}, or None
        "tree" unless given.
    only : sequence of int, or None
        On the CPU: label these of the dimensions alone, for whoever puts the parts together. None labels all.

    Raises
    ------
    ValueError
        If there is no such method, number of dimensions or seed, or if the condensation has a cycle.
    """
    method = method or METHODS[0]
    if method not in METHODS:
        raise ValueError(f"label: no method {method!r}; there are {', '.join(METHODS)}")
    if dimensions < 1:
        raise ValueError(f"label: {dimensions} dimensions, where 1 is the least")
    if not 0 <= seed < 2**64:
        raise ValueError(f"label: seed {seed} is not in 0..{2**64 - 1}")
    if is_cupy(condensation.children):
        from kernels.reachability import gpu as cuda

        if only is not None:
            raise ValueError("label: on a GPU all dimensions are labelled together")
        return cuda.label(condensation, dimensions, seed, method)
    from kernels.reachability.labels import label as label_nodes

    return label_nodes(condensation, range(dimensions) if only is None else only, seed, method)


def reach(index: ReachabilityIndex, src: Array, dst: Array, search: str | None = None) -> Reached:
    """Answer whether row `src[q]` reaches row `dst[q]`, for every q; a row reaches itself.

    Parameters
    ----------
    src, dst : integers [Q]
        Rows of the graph.
    search : {"dfs", "pruned-dfs", "pruned-bfs", "exceptions"}, or None
        On the CPU: answer as the thesis does, by a depth-first search alone, by a search that the intervals prune and no other
        cut, or by the intervals and the list of `exceptions`. None takes every cut, and the fastest search for what is left.

    Raises
    ------
    IndexError
        If an entry is no row of the graph.
    ValueError
        If the lengths differ, if there is no such search for the index's arrays, or as `exceptions` does.
    """
    if is_cupy(index.condensation.children):
        from kernels.reachability import gpu as cuda

        return cuda.reach(index, src, dst, search)
    from kernels.reachability.queries import reach as answer

    return answer(index, src, dst, search)


def exceptions(index: ReachabilityIndex) -> Array:
    """List the pairs (u, v) of nodes of which the intervals alone would say that u reaches v, and it does not.

    Returns
    -------
    int64 [E, 2]
        Ascending.

    Raises
    ------
    TypeError
        If the index's arrays are not NumPy's.
    ValueError
        If there are more than LARGEST_LISTED nodes.
    """
    require_numpy(index.condensation.children, "exceptions")
    from kernels.reachability.exception_lists import exceptions as listed

    return listed(index)


def memory(num_vertices: int, num_arcs: int, dimensions: int = 3, method: str | None = None, *, gpu: bool = False) -> Memory:
    """Bound the memory that an index of a graph takes, before it is built, as if no component had a second vertex.

    On a GPU it is device memory, beside the graph's arrays.
    """
    if gpu:
        from kernels.reachability.gpu import footprint as cuda_memory

        return cuda_memory.memory(num_vertices, num_arcs, dimensions, method or METHODS[0])
    from kernels.reachability.footprint import memory as bound

    return bound(num_vertices, num_arcs, dimensions, method or METHODS[0])
