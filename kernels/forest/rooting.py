"""Loops that root a forest. Vertices are positions; arrays are those of `kernels.forest.rooted`."""

from kernels.cpu.atomics import add, compare_and_swap, exclusive_or
from kernels.cpu.compiled import njit
from kernels.graph import NO_ROW, Array


@njit(cache=True, nogil=True)
def root_alone(
    src: Array, dst: Array, labels: Array, is_root: Array, degree: Array, link: Array, order: Array, parent: Array, edge: Array,
    depth: Array,
) -> None:  # fmt: skip
    """Root a forest with one thread, which takes a third of the processor time of the others: it needs no atomic operations.

    A vertex is removed before its parent, so depths, 0 at first, are filled in the opposite `order`.
    """
    removed = 0
    for number in range(len(src)):
        is_root[labels[number]] = True
        for vertex in (src[number], dst[number]):
            degree[vertex] += 1
            link[vertex] ^= number
    for first in range(len(parent)):
        vertex = first
        while degree[vertex] == 1 and not is_root[vertex]:
            number = link[vertex]
            above = src[number] + dst[number] - vertex
            parent[vertex], edge[vertex] = above, number
            order[removed] = vertex
            removed += 1
            degree[vertex] = 0
            degree[above] -= 1
            link[above] ^= number
            vertex = above
    for place in range(removed - 1, -1, -1):
        depth[order[place]] = depth[parent[order[place]]] + 1


@njit(cache=True, nogil=True)
def count(src: Array, dst: Array, labels: Array, begin: int, end: int, is_root: Array, degree: Array, link: Array) -> None:
    """Count the edges of each vertex, and add their numbers up by exclusive or: of one edge, this is its number."""
    for number in range(begin, end):
        if not is_root[labels[number]]:  # most edges have the same label: threads that all write to it wait for each other
            is_root[labels[number]] = True
        for vertex in (src[number], dst[number]):
            add(degree, vertex, 1)
            exclusive_or(link, vertex, number)


@njit(cache=True, nogil=True)
def peel(
    src: Array, dst: Array, is_root: Array, begin: int, end: int, degree: Array, link: Array, parent: Array, edge: Array
) -> None:
    """Remove a leaf that is not a root as long as there is one: the other end of its only edge is its parent.

    The thread that sets a leaf's degree to 0 removes it. If both ends of an edge were removed, neither was a root, which the
    edges of a forest exclude; the smaller one then becomes a root, so that no vertex is above itself.
    """
    for first in range(begin, end):
        vertex = first
        while degree[vertex] == 1 and not is_root[vertex] and compare_and_swap(degree, vertex, 1, 0):
            number = link[vertex]
            above = src[number] + dst[number] - vertex
            parent[vertex], edge[vertex] = above, number
            exclusive_or(link, above, number)
            if add(degree, above, -1) < 1 and vertex < above:
                parent[vertex] = edge[vertex] = NO_ROW
            vertex = above


@njit(cache=True, nogil=True)
def descend(parent: Array, begin: int, end: int, depth: Array) -> None:
    """Fill the depths of vertices and of those above them; several threads may write the same depth."""
    for first in range(begin, end):
        vertex, deep = first, 0
        while depth[vertex] < 0 and parent[vertex] >= 0:
            vertex = parent[vertex]
            deep += 1
        deep += max(depth[vertex], 0)
        vertex = first
        while depth[vertex] < 0:
            depth[vertex] = deep
            deep -= 1
            vertex = parent[vertex] if deep >= 0 else vertex
