"""Reachability: whether a path leads from one row to another, by an index of interval labels (GRAIL) and other cuts.

Read `labels/cpu.py` (how an index is made), then `queries/cpu.py` (how it answers). `condensation/` and `order/` come before
the labels; `paths/` finds a path for each yes.

The graph is condensed to a directed acyclic graph (DAG) whose nodes are the strong components. The nodes' labels are a function
of the graph and a seed. The labels of two nodes decide most queries; a search that the labels prune decides the others.

Labels by method "tree", the default
    G(i) is the DAG if dimension i is even, and the reversed DAG if it is odd (a "backward" dimension). The level of a node in
    G(i) is the number of arcs on the longest path that ends there: `level` in the DAG, `height` in the reversed DAG.

    * Keys. mix(x) is splitmix64: x += 0x9E3779B97F4A7C15; x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
      x = (x ^ x >> 27) * 0x94D049BB133111EB; x ^ x >> 31, modulo 2^64. key(i, a, b) = mix(mix(mix(mix(seed) ^ i) ^ a) ^ b).
    * Parents. The candidates for the parent of v are the tails u of its in-arcs in G(i) that are one level before v. The parent
      is the candidate with the smallest key(i, u, v), ties by the smaller u; in dimension 0 it is the smallest u. A node of
      level 0 is a root.
    * Siblings. Let c[0] < ... < c[k-1] be the heads of all out-arcs of u in G(i), and h = key(i, u, C) for C nodes. They are
      visited in the order c[(r + j) mod k], or c[(r - j) mod k] if h is odd, for j = 0, 1, ..., starting at r = (h >> 1) mod k.
      The subtrees of u are those of the heads whose parent is u. In dimension 0 heads are visited in ascending order. Roots are
      visited in the same way, as if they were the heads of a virtual node C.
    * Numbers. The nodes are numbered from 1 to C in the post-order of the forest. `low` and `post` are the smallest and the
      largest number of a node and of all nodes that it reaches in G(i).

Labels by method "dfs", the thesis's
    Every dimension labels the DAG. The forest is that of a depth-first search from the roots, which visits the heads c of the
    out-arcs of u in the order of key(i, u, c), then c, and the roots c in the order of key(i, C, c), then c; in dimension 0 in
    ascending order. `post` then is the node's own number.

Labels by both methods
    * `first` and `last` are the smallest and the largest number in the node's subtree, for every dimension.
    * Supports, 64 nodes. Let L be 1 + the largest level and S = min(64, L). Band s consists of the nodes with level * S // L = s.
      Its 64 // S nodes with the largest (in-degree + 1) * (out-degree + 1), ties by the smaller node, are the supports
      s * (64 // S), ..., in this order. If a band has fewer nodes, the rest of its share is NO_ROW.

A query (u, v) of two nodes is decided by
    * SAME: yes, because u = v.
    * FILTER: no, because level[u] >= level[v], or height[u] <= height[v], or the interval of v is not inside that of u in some
      dimension (u's not inside v's in a backward one), or a support reaches u but not v, or v reaches a support that u does not.
    * POSITIVE_CUT: yes, because first[u] <= last[v] <= last[u] in dimension 0, or u reaches a support that reaches v.
    * SEARCH: a search, if none of these holds.

References: Yıldırım, Chaoji, Zaki: GRAIL: Scalable Reachability Index for Large Graphs. PVLDB 3(1), 2010 (intervals, levels,
positive cut). Caiazza: Data-parallel implementation of the GRAIL index on many-core architectures. Politecnico di Torino, 2019
(five passes). Hanauer, Schulz, Trummer: O'Reach: Even Faster Reachability in Large Graphs. SEA 2021 (supports, labels of both
directions).
"""

from collections.abc import Sequence

from kernels.answers import Condensation, Labels, ReachabilityIndex, Reached
from kernels.arrays import is_cupy, on_gpu, require_numpy
from kernels.graph import Array, Graph
from kernels.reachability.constants import FILTER, NUM_SUPPORTS, POSITIVE_CUT, SAME, SEARCH
from kernels.reachability.definitions import METHODS, PeakBytes, require_arguments
from kernels.reachability.footprint import memory_on_cpu, memory_on_gpu

__all__ = [
    "FILTER",
    "METHODS",
    "NUM_SUPPORTS",
    "POSITIVE_CUT",
    "SAME",
    "SEARCH",
    "PeakBytes",
    "condense",
    "label",
    "memory",
    "reach",
    "reach_by_search",
    "reachability",
]


def reachability(graph: Graph, dimensions: int = 3, seed: int = 0, method: str | None = None) -> ReachabilityIndex:
    """Build the index of a graph: `condense`, then `label`; raises what these raise.

    Example, with the graph of `kernels.graph.Graph`:
        >>> reachability(graph).condensation.num_nodes
        3
    """
    condensation = condense(graph)
    return ReachabilityIndex(condensation, label(condensation, dimensions, seed, method))


def condense(graph: Graph) -> Condensation:
    """Shrink every strong component to a node."""
    if on_gpu(graph, "condense"):
        from kernels.reachability.condensation.cuda import condense as make
    else:
        from kernels.reachability.condensation.cpu import condense as make
    return make(graph)


def label(
    condensation: Condensation, dimensions: int = 3, seed: int = 0, method: str | None = None, only: Sequence[int] | None = None
) -> Labels:
    """Label the nodes of a condensation.

    Args:
        dimensions: Interval labels per node, at least 1.
        seed: From 0 to 2^64 - 1. The labels of every dimension except 0 depend on it.
        method ({"tree", "dfs"}, or None): None means "tree".
        only: On the CPU: label only these dimensions; the caller puts the parts together. None labels all.

    Raises ValueError if the method, the number of dimensions or the seed is not valid, or if the condensation has a cycle.
    """
    method = method or METHODS[0]
    require_arguments("label", dimensions, seed, method)
    if is_cupy(condensation.children):
        from kernels.reachability.labels.cuda import label as label_on_gpu

        if only is not None:
            raise ValueError("label: on a GPU all dimensions are labelled together")
        return label_on_gpu(condensation, dimensions, seed, method)
    from kernels.reachability.labels.cpu import label as label_on_cpu

    return label_on_cpu(condensation, range(dimensions) if only is None else only, seed, method)


def reach(index: ReachabilityIndex, src: Array, dst: Array) -> Reached:
    """Answer whether row `src[q]` reaches row `dst[q]`, for every q; a row reaches itself.

    Args:
        src, dst (integers [Q]): Rows of the graph.

    Raises:
        IndexError: If an entry is not a row of the graph.
        TypeError: If the rows are not integers.
        ValueError: If the lengths differ.

    Example, with the graph of `kernels.graph.Graph`:
        >>> reach(reachability(graph), np.array([0, 2]), np.array([2, 0])).reachable.tolist()
        [True, False]
    """
    if is_cupy(index.condensation.children):
        from kernels.reachability.queries.cuda import answer as answer_on_gpu

        return answer_on_gpu(index, src, dst)
    from kernels.reachability.queries.cpu import answer as answer_on_cpu

    return answer_on_cpu(index, src, dst)


def reach_by_search(index: ReachabilityIndex, src: Array, dst: Array) -> Array:
    """Answer as `reach`, bool [Q], by breadth-first searches that read no label; the arrays are NumPy's. For comparisons."""
    require_numpy(index.condensation.children, "reach_by_search")
    from kernels.reachability.queries.cpu import answer_by_search

    return answer_by_search(index, src, dst)


def memory(num_vertices: int, num_arcs: int, dimensions: int = 3, method: str | None = None, *, gpu: bool = False) -> PeakBytes:
    """Bound the memory that an index of a graph takes, before it is built, as if every component were a single vertex.

    On a GPU it is device memory, in addition to the graph's arrays.
    """
    bound = memory_on_gpu if gpu else memory_on_cpu
    return bound(num_vertices, num_arcs, dimensions, method or METHODS[0])
