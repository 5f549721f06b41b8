"""The second count of triangles, of a graph or of the rows of a rank; the arrays are NumPy's or CuPy's.

Nothing is shared with the kernel that the certificate checks. The last places of the order are hubs, of which most triangles of a
skewed graph have two or three; these are found by the common bits of rows of bits (`hubs.py`), without a look at each triangle.
All others are found one by one.
"""

from math import isqrt
from typing import NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import Array, Graph
from kernels.triangles.certificate.neighbourhoods import divided
from kernels.triangles.certificate.order import SideLists, numbers_of_arcs, ordered
from kernels.triangles.constants import MOST_HUBS


class Recount(NamedTuple):
    """What was counted."""

    sums: Array  # int64 [n]: over the triangles of each row
    neighbours: Array  # int64 [n]
    triangles: int
    total: int  # the sum of the triangles' edges, each as its arcs count: what `sums` add up to


def recount_graph(graph: Graph, directed: bool) -> Recount:
    """Count again: a triangle counts at a corner once or, with `directed`, as often as arcs connect the other two."""
    sides = (graph.out,) if graph.symmetric else (graph.out, graph.into)
    order = ordered(numbers_of_arcs(sides), graph.rows_by_id)
    first_hub = graph.num_vertices - hubs_of(graph.num_vertices, graph.num_arcs)
    earlier, later = divided(sides, order, first_hub, directed)
    neighbours = earlier.ends - earlier.begins + later.ends - later.begins
    sums = np.zeros_like(neighbours)
    of_hubs = add_triangles_of_hubs(earlier, later, first_hub, sums)
    of_others = add_triangles(earlier, later, later, first_hub, sums)
    triangles, total = (sum(counts) for counts in zip(of_hubs, of_others, strict=True))
    times = times_of(directed and graph.symmetric)
    return Recount(times * sums[order.places], neighbours[order.places], triangles, times * total)


def times_of(mutual: bool) -> int:
    """How often each edge counts if all count alike."""
    return 2 if mutual else 1


def hubs_of(rows: int, arcs: int) -> int:
    """How many places at the end are hubs: a power of two above the root of the arcs, so that their bits are not much longer."""
    return min(rows, MOST_HUBS, 1 << isqrt(arcs).bit_length())


def add_triangles_of_hubs(earlier: SideLists, later: SideLists, first_hub: int, sums: Array) -> tuple[int, int]:
    """Add to `sums`, int64 [n], the triangles that have two places from `first_hub` on, or three.

    Returns:
        Their number, and what they add to all sums.
    """
    if first_hub == len(sums):
        return 0, 0
    if is_cupy_array(sums):
        from kernels.triangles.certificate.cuda import add_of_hubs
    else:
        from kernels.triangles.certificate.hubs import add as add_of_hubs
    counted: tuple[int, int] = add_of_hubs(earlier, later, first_hub, sums)
    return counted


def add_triangles(earlier: SideLists, later: SideLists, lists: SideLists, first_hub: int, sums: Array) -> tuple[int, int]:
    """Add the triangles of a place before `first_hub`, an earlier neighbour whose list is known, and a later neighbour of both.

    Args:
        lists: The later neighbours of the earlier ones.

    Returns:
        As `add_triangles_of_hubs`.
    """
    if is_cupy_array(sums):
        from kernels.triangles.certificate.cuda import add
    else:
        from kernels.triangles.certificate.cpu import add
    counted: tuple[int, int] = add(earlier, later, lists, first_hub, sums)
    return counted
