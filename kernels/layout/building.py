"""The layout of a graph: in memory on a single rank, or over ranks."""

from typing import Any

import numpy as np

from kernels.cpu.parallel import differences, elementwise, inverse
from kernels.distributed import partition
from kernels.distributed.communicator import Communicator
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, index_dtype
from kernels.layout.cleaning import clean
from kernels.layout.laid_out import LaidOut
from kernels.layout.orders import by_degree_in_windows
from kernels.layout.rules import ArcRules, Edges, EdgeSource
from kernels.layout.sorting import in_rows


def build_csr(
    edges: EdgeSource, rules: ArcRules, window: int | None, communicator: Communicator, parts: int = 1, deals: bool = False
) -> LaidOut:
    """Build a graph from the edges of all ranks: the same rows, to the byte, on any number of ranks. Collective.

    Args:
        edges: This rank's, of several ranks in memory.
        window: Positions in a window of `kernels.layout.orders.by_degree_in_windows`: a number of at least V orders all rows by
            degree, None keeps the order of the ids.
        parts: Into how many ranges of about equal arc count a single rank cuts the rows. Of several ranks, each has one range.
        deals: Whether rows are dealt to several ranks and renumbered for computing (see `kernels.distributed.dealing`). Otherwise
            a rank gets the rows that it stores: a range with its share of the arcs.
    """
    if communicator.size > 1:
        from kernels.layout import sharded

        assert isinstance(edges, Edges)
        return sharded.build_csr_over_ranks(edges, rules, window, communicator, deals)
    dropped: list[Edges] = []
    ids, arcs, self_loops = clean(edges, rules, dropped)
    directions = {"out": arcs}
    if not rules.both and (into := in_rows(arcs, edges.spill)) is not arcs:
        directions["in"] = into
    degrees = [differences(csr.offsets) for csr in directions.values()]
    if window is None:
        order = np.arange(len(ids), dtype=index_dtype(len(ids)), like=ids)
    else:
        order = by_degree_in_windows(degrees[0], window)
    cuts = [0, len(ids)]
    if parts > 1:
        total: Any = sum(degrees)
        cuts = [0, *(rows.stop for rows in partition.cut(to_host(total[order]), parts))]
    own_ids = elementwise(ids.take, order, dtype=ids.dtype)
    bounds = np.array(cuts, OFFSET)
    by_id = inverse(order)
    return LaidOut(bounds, range(parts), own_ids, order, 0, by_id, directions, not rules.both, True, self_loops, dropped)
