"""A spanning forest with roots: the parent and the depth of each vertex. The root of a tree is its smallest vertex.

On the CPU leaves are removed until only roots are left; each has its parent at the other end of its only edge. On a GPU all
tours around the trees are ranked at once. A tree has one path from its root to each vertex, so the answer is unique.
"""

import numpy as np

from kernels.arrays import frozen, is_cupy_array
from kernels.cpu.parallel import cores, elementwise, over_items, ranges
from kernels.graph import NO_ROW, Array
from kernels.records import dataclass

BYTES_PER_VERTEX = {"cpu": 88, "gpu": 160}  # of memory that rooting a forest and checking it take at most
_WORTH_ATOMICS = 4  # cores; atomic operations take 2.5 times the processor time of one thread alone (measured on two)
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


def root_forest(src: Array, dst: Array, labels: Array, num_vertices: int) -> RootedForest:
    """Root the forest of the edges `src`, `dst`, whose trees are `labels` (index width [E]), where these arrays are.

    The edges must have no cycle; of other edges some answer is returned, which `wrong_vertex` refuses.
    """
    find = _by_tours if is_cupy_array(src) else _by_leaves
    parent, edge, depth = find(src, dst, labels, num_vertices)
    root = np.arange(num_vertices, dtype=src.dtype, like=src)
    if len(src):
        root = elementwise(lambda root, edge: np.where(edge == NO_ROW, root, labels.take(edge)), root, edge, dtype=src.dtype)
    return RootedForest(parent, edge, depth, root)


def _by_leaves(src: Array, dst: Array, labels: Array, num_vertices: int) -> tuple[Array, Array, Array]:
    """`parent`, `edge` and `depth` of a `RootedForest` on all cores, or on one of a few, leaf by leaf."""
    from kernels.forest.rooting import count, descend, peel, root_alone  # imports Numba

    parent, edge = (np.full(num_vertices, NO_ROW, src.dtype) for _ in range(2))
    degree, link, is_root = np.zeros_like(parent), np.zeros_like(parent), np.zeros(num_vertices, np.bool_)
    if cores() < _WORTH_ATOMICS:
        order, depth = np.empty_like(parent), np.zeros_like(parent)
        root_alone(frozen(src), frozen(dst), frozen(labels), is_root, degree, link, order, parent, edge, depth)
        return parent, edge, depth
    depth = np.full_like(parent, NO_ROW)
    ends, of_edges, of_vertices = (frozen(src), frozen(dst)), ranges(len(src)), ranges(num_vertices)
    over_items(of_edges, lambda part: count(*ends, frozen(labels), *part, is_root, degree, link))
    over_items(of_vertices, lambda part: peel(*ends, is_root, *part, degree, link, parent, edge))
    over_items(of_vertices, lambda part: descend(parent, *part, depth))
    return parent, edge, depth


def _by_tours(src: Array, dst: Array, labels: Array, num_vertices: int) -> tuple[Array, Array, Array]:
    """`parent`, `edge` and `depth` of a `RootedForest` on the GPU.

    Euler tours of the trees (Tarjan and Vishkin, 1985): the arc behind (u, v) is the one that follows (v, u) around v. A tour
    ends before the first arc of its root. An arc that comes before its reverse leads to a deeper vertex.
    """
    parent, edge, depth = (np.full_like(src, NO_ROW, shape=(num_vertices,)) for _ in range(3))
    depth[...] = 0
    arcs, edges = 2 * len(src), len(src)
    if not arcs:
        return parent, edge, depth
    tails = np.concatenate([src, dst])
    order = np.argsort(tails)
    ends = np.cumsum(np.bincount(tails, minlength=num_vertices))
    begins = np.concatenate([ends[:1] * 0, ends[:-1]])
    index = np.dtype(np.int32) if arcs < 2**31 - 1 else np.dtype(np.int64)
    around = np.concatenate([order[1:], order[:1]]).astype(index)  # by place in `order`: the next arc around the same tail
    filled = ends > begins
    around[ends[filled] - 1] = order[begins[filled]]
    reverse = (np.arange(arcs, dtype=index, like=src) + edges) % arcs
    behind = np.empty_like(around, shape=arcs + 1)
    behind[reverse[order]] = around
    behind[arcs] = arcs  # behind the last arc of a tour
    is_root = np.zeros_like(filled)
    is_root[labels] = True
    behind[reverse[order[ends[is_root & filled] - 1]]] = arcs
    del order, ends, begins, filled, around, reverse, is_root
    left = _sums_of_rest(np.ones_like(behind), behind)
    down = left[:edges] > left[edges:arcs]
    step = np.where(np.concatenate([down, ~down, down[:1]]), 1, -1).astype(index)
    rest = _sums_of_rest(step, behind)
    below = np.where(down, dst, src)
    parent[below], edge[below] = np.where(down, src, dst), np.arange(edges, dtype=src.dtype, like=src)
    depth[below] = 1 - np.where(down, rest[:edges], rest[edges:arcs])
    return parent, edge, depth


def _sums_of_rest(values: Array, behind: Array) -> Array:
    """Sums of the values from each item of a list to its end, by doubling distances (Wyllie, 1979); the last item is an end."""
    values[-1] = 0
    for _ in range(len(behind).bit_length()):
        values = values + values[behind]
        behind = behind[behind]
    return values


def wrong_vertex(forest: RootedForest, src: Array, dst: Array, labels: Array) -> int:
    """The first vertex for which a rule of RULES does not hold, or -1; `labels` [E] has the edges' trees.

    Every edge has to be that of one vertex: then there are E vertices with parents, and V - E roots, one for each tree.
    """
    wrong = _first_wrong_of_gpu(forest, src, dst, labels) if is_cupy_array(src) else _first_wrong(forest, src, dst, labels)
    # Each vertex below another one names an edge that ends at both; two vertices that name one edge would be each other's parent.
    if wrong >= 0 or int(np.count_nonzero(forest.parent != NO_ROW)) == len(src):
        return wrong
    return 0


def _first_wrong(forest: RootedForest, src: Array, dst: Array, labels: Array) -> int:
    from kernels.forest.checking import first_wrong  # imports Numba

    arrays = tuple(map(frozen, (forest.parent, forest.edge, forest.depth, forest.root, src, dst, labels)))
    firsts = over_items(ranges(len(forest.parent)), lambda part: first_wrong(*arrays, *part))
    return next((vertex for vertex in firsts if vertex >= 0), -1)


def _first_wrong_of_gpu(forest: RootedForest, src: Array, dst: Array, labels: Array) -> int:
    vertices = np.arange(len(forest.parent), dtype=forest.parent.dtype, like=forest.parent)

    def right(vertex: Array, parent: Array, edge: Array, depth: Array, root: Array) -> Array:
        is_root = parent == NO_ROW
        alone: Array = is_root & (edge == NO_ROW) & (depth == 0) & (root == vertex)
        if not len(src):
            return alone
        at = np.where(is_root, 0, edge)
        above = np.where(is_root, 0, parent)
        one, other = src.take(at), dst.take(at)
        joined = ((one == vertex) & (other == above)) | ((other == vertex) & (one == above))
        below = (edge >= 0) & joined & (depth == forest.depth.take(above) + 1)
        below &= (root == forest.root.take(above)) & (root == labels.take(at))
        is_right: Array = np.where(is_root, alone, below)
        return is_right

    is_right = elementwise(right, vertices, forest.parent, forest.edge, forest.depth, forest.root, dtype=np.bool_)
    return -1 if is_right.all() else int(is_right.argmin())


def edges_above(above: Array, src: Array, dst: Array) -> Array:
    """The number of the edge between each vertex and the one `above` it, index width [V]; NO_ROW where there is no such edge."""
    edges = np.full_like(above, NO_ROW)
    if not is_cupy_array(src):
        from kernels.forest.checking import name_edges

        arrays = frozen(above), frozen(src), frozen(dst)
        over_items(ranges(len(src)), lambda part: name_edges(*arrays, *part, edges))
        return edges
    for lower, upper in ((src, dst), (dst, src)):
        numbers = np.flatnonzero(above[lower] == upper).astype(edges.dtype)
        edges[lower[numbers]] = numbers
    return edges
