"""A spanning forest with roots: the parent and the depth of each vertex. The root of a tree is its smallest vertex.

A breadth-first search over the edges, from each vertex in ascending order that no search before has reached. A tree has one path
from its root to each vertex, so the answer is unique.
"""

from dataclasses import dataclass

import numpy as np

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import elementwise
from kernels.graph import NO_ROW, Array

BYTES_PER_VERTEX = 72  # of memory that rooting a forest and checking it take at most
RULES = (
    "each edge of the forest connects one vertex with its parent, and has its weight",
    "a vertex is one deeper than its parent, in the same tree",
    "a vertex without a parent has depth 0 and names its tree",
)


@dataclass(frozen=True)
class RootedForest:
    """Vertices are positions in the ascending order of external ids."""

    parent: Array  # index width [V]: NO_ROW for a root
    edge: Array  # index width [V]: the number of the edge to the parent; NO_ROW for a root
    depth: Array  # index width [V]: edges from the root
    root: Array  # index width [V]: the smallest vertex of the tree


def root_forest(src: Array, dst: Array, num_vertices: int) -> RootedForest:
    """Root the forest of the edges `src`, `dst` (index width [E]), which have no cycle, on the CPU."""
    offsets = np.zeros(num_vertices + 1, np.int64)
    for ends in (src, dst):
        offsets[1:] += np.bincount(ends, minlength=num_vertices)
    np.cumsum(offsets, out=offsets)
    edges = np.empty(2 * len(src), src.dtype)
    _list_edges(src, dst, offsets, edges)
    parent, edge, depth, root = (np.full(num_vertices, NO_ROW, src.dtype) for _ in range(4))
    _search(src, dst, offsets, edges, (parent, edge, depth, root))
    return RootedForest(parent, edge, depth, root)


def wrong_vertex(forest: RootedForest, src: Array, dst: Array, labels: Array) -> int:
    """The first vertex for which a rule of RULES does not hold, or -1; `labels` [E] has the edges' trees.

    Every edge has to be that of one vertex: then there are E vertices with parents, and V - E roots, one for each tree.
    """
    vertices = np.arange(len(forest.parent), dtype=forest.parent.dtype)

    def right(vertex: Array, parent: Array, edge: Array, depth: Array, root: Array) -> Array:
        is_root = parent == NO_ROW
        alone: Array = is_root & (edge == NO_ROW) & (depth == 0) & (root == vertex)
        if not len(src):
            return alone
        at = np.where(is_root, 0, edge)
        above = np.where(is_root, 0, parent)
        joined = ((src[at] == vertex) & (dst[at] == above)) | ((dst[at] == vertex) & (src[at] == above))
        below = (edge >= 0) & joined & (depth == forest.depth[above] + 1) & (root == forest.root[above]) & (root == labels[at])
        found: Array = np.where(is_root, alone, below)
        return found

    found = elementwise(right, vertices, forest.parent, forest.edge, forest.depth, forest.root, dtype=np.bool_)
    if not found.all():
        return int(found.argmin())
    # Each vertex below another one names an edge that ends at both; two vertices that name one edge would be each other's parent.
    return -1 if int(np.count_nonzero(forest.parent != NO_ROW)) == len(src) else 0


@njit(cache=True, nogil=True)
def _list_edges(src: Array, dst: Array, offsets: Array, edges: Array) -> None:
    """List the edges of each vertex, from `offsets` on; `ends` counts."""
    ends = offsets[:-1].copy()
    for edge in range(len(src)):
        for vertex in (src[edge], dst[edge]):
            edges[ends[vertex]] = edge
            ends[vertex] += 1


@njit(cache=True, nogil=True)
def _search(src: Array, dst: Array, offsets: Array, edges: Array, found: tuple[Array, Array, Array, Array]) -> None:
    """Fill the columns of a RootedForest, which have NO_ROW everywhere."""
    parent, edge, depth, root = found
    queue = np.empty_like(parent)
    for first in range(len(parent)):
        if depth[first] >= 0:
            continue
        depth[first], root[first], queue[0], begin, end = 0, first, first, 0, 1
        while begin < end:
            vertex = queue[begin]
            begin += 1
            for place in range(offsets[vertex], offsets[vertex + 1]):
                number = edges[place]
                if number == edge[vertex]:
                    continue
                other = src[number] + dst[number] - vertex
                parent[other], edge[other] = vertex, number
                depth[other], root[other] = depth[vertex] + 1, first
                queue[end] = other
                end += 1
