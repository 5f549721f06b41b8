"""Union-find by Rem (Dijkstra, A Discipline of Programming, 1976): fast in practice (Patwary, Blair, Manne, SEA 2010).

`parent` starts as `arange(V)`, and a parent is never larger than its child. The root is therefore the smallest vertex of its
tree, and one ascending pass finds every vertex's root.
"""

from kernels.cpu.compiled import njit
from kernels.graph import Array


@njit(cache=True, nogil=True)
def unite(parent: Array, near: int, far: int) -> bool:
    """Join the trees of `near` and `far`; return whether they were different."""
    while parent[near] != parent[far]:
        if parent[near] < parent[far]:
            near, far = far, near
        higher = parent[near]
        parent[near] = parent[far]
        if higher == near:
            return True
        near = higher
    return False


@njit(cache=True, nogil=True)
def root_of(parent: Array, vertex: int) -> int:
    """The root of a vertex, with path halving."""
    while parent[vertex] != vertex:
        parent[vertex] = parent[parent[vertex]]
        vertex = parent[vertex]
    return vertex


@njit(cache=True, nogil=True)
def flatten(parent: Array) -> None:
    """Replace every parent by the root."""
    for vertex in range(len(parent)):
        parent[vertex] = parent[parent[vertex]]


@njit(cache=True, nogil=True)
def number_trees(parent: Array) -> None:
    """Replace every parent by the number of its tree: 0, 1, ... by the tree's smallest vertex."""
    trees = 0
    for vertex in range(len(parent)):
        if parent[vertex] == vertex:
            parent[vertex] = trees
            trees += 1
        else:
            parent[vertex] = parent[parent[vertex]]
