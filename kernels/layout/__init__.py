"""From an edge list to the stored graph: arrays in, arrays out, on one rank or many.

rules.py        edge lists, and which of their arcs a graph has
laid_out.py     what a rank has of a graph that was laid out
single_rank.py  the layout on one rank, which holds the whole graph
sharded/        the layout over ranks
cleaning.py     an edge list to clean arcs between positions
numbering.py    external ids to positions in their ascending order
sorting.py      counting sorts from edges to rows of arcs, and from out-rows to in-rows
orders.py       the order of the rows
rows.py         arcs between positions to arcs between rows
vect_csr.py     the vector extension of rows
cuda.py         all of it on the GPU (arcs.cu, rows.cu), with `kernels.gpu.radix_sort`

The arrays choose the backend. On the CPU everything is linear in vertices and arcs, except that ids of a sparse range are sorted.
"""

from __future__ import annotations

from kernels.distributed.communicator import Communicator
from kernels.layout.laid_out import LaidOut
from kernels.layout.rules import Edges, Rules


def lay_out(
    edges: Edges, rules: Rules, window: int | None, communicator: Communicator, parts: int = 1, deals: bool = False
) -> LaidOut:
    """Build a graph from the edges of all ranks: the same rows, to the byte, on any number of ranks. Collective.

    Parameters
    ----------
    edges : Edges
        This rank's.
    rules : Rules
    window : int or None
        Positions in a window of `kernels.layout.orders.by_degree_in_windows`: a number of at least V orders all rows by degree,
        None keeps the order of the ids.
    communicator : Communicator
    parts : int
        Into how many ranges of about equal arc count a single rank cuts the rows. Of several ranks, each has one range.
    deals : bool
        Whether rows are dealt to several ranks and renumbered for computing (see `kernels.distributed.dealing`). Otherwise a rank
        gets the rows that it stores: a range with its share of the arcs.
    """
    if communicator.size > 1:
        from kernels.layout import sharded

        return sharded.lay_out(edges, rules, window, communicator, deals)
    from kernels.layout import single_rank
    from kernels.layout.cleaning import clean

    cleaned = clean(edges.src, edges.dst, edges.weights, rules)
    del edges  # frees their memory, if the caller does not hold them
    return single_rank.arrange(*cleaned, rules.both, window, parts)
