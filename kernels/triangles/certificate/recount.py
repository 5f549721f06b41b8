"""The second count of triangles, of a graph or of the rows of a rank; the arrays are NumPy's or CuPy's.

Nothing is shared with the kernel that the certificate checks.
"""

from typing import NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import Array, Graph
from kernels.triangles.certificate.neighbourhoods import KnownLists, Neighbourhoods, Numbering, divide, neighbourhoods, order_of


class Recount(NamedTuple):
    """What was counted."""

    sums: Array  # int64 [n]: over the triangles of each row
    neighbours: Array  # int64 [n]
    triangles: int
    total: int  # the sum of the triangles' edges, each as its arcs count: what `sums` add up to


def recount_graph(graph: Graph, directed: bool) -> Recount:
    """Count again: a triangle counts at a corner once or, with `directed`, as often as arcs connect the other two."""
    numbering = Numbering(graph.rows_by_id, graph.positions)
    around = neighbourhoods((graph.out,) if graph.symmetric else (graph.out, graph.into), numbering, directed)
    neighbours = np.diff(around.offsets)
    order = order_of(neighbours, numbering)
    earlier, later = divide(around, order)
    sums = np.zeros_like(neighbours)
    triangles, total = add_triangles(earlier, later, known(later), sums)
    return Recount(sums[order.places], neighbours, triangles, total)


def known(lists: Neighbourhoods) -> KnownLists:
    """All lists."""
    return KnownLists(lists.offsets[:-1], lists.offsets[1:], lists.rows, lists.arcs)


def add_triangles(earlier: Neighbourhoods, later: Neighbourhoods, lists: KnownLists, sums: Array) -> tuple[int, int]:
    """Add to `sums`, int64 [n], the triangles of a row, an earlier neighbour whose list is known, and a later neighbour of both.

    Returns:
        Their number, and what they add to all sums.
    """
    if is_cupy_array(sums):
        from kernels.triangles.certificate.cuda import add
    else:
        from kernels.triangles.certificate.cpu import add
    counted: tuple[int, int] = add(earlier, later, lists, sums)
    return counted
