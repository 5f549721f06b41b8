"""Loops on all cores that check a rooted forest. Vertices are positions; arrays are those of `kernels.forest.rooted`."""

from kernels.cpu.compiled import njit
from kernels.graph import NO_ROW, Array


@njit(cache=True, nogil=True)
def name_edges(above: Array, src: Array, dst: Array, begin: int, end: int, edges: Array) -> None:
    """Write the numbers of edges at the vertices whose `above` is the other end."""
    for number in range(begin, end):
        one, other = src[number], dst[number]
        if above[one] == other:
            edges[one] = number
        if above[other] == one:
            edges[other] = number


@njit(cache=True, nogil=True)
def first_wrong(
    parent: Array, edge: Array, depth: Array, root: Array, src: Array, dst: Array, labels: Array, begin: int, end: int
) -> int:  # fmt: skip
    """The first vertex of `begin..end-1` for which a rule does not hold, or -1."""
    for vertex in range(begin, end):
        above, number = parent[vertex], edge[vertex]
        if above == NO_ROW:
            if number != NO_ROW or depth[vertex] != 0 or root[vertex] != vertex:
                return vertex
            continue
        if not (0 <= above < len(parent) and 0 <= number < len(src)):
            return vertex
        one, other = src[number], dst[number]
        if not ((one == vertex and other == above) or (other == vertex and one == above)):
            return vertex
        if depth[vertex] != depth[above] + 1 or root[vertex] != root[above] or root[vertex] != labels[number]:
            return vertex
    return -1
