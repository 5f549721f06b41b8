"""Rows that arcs without length lead to, as from the copies of a split crossing to its end, whose proof needs no search."""

import numpy as np

from kernels.graph import Array, Graph


def joins(graph: Graph) -> Array | None:
    """Which rows only arcs of length 0 enter, from rows that none of these enters (bool [V]); None if there is no such row.

    The tails of a join are not reached by arcs of length 0, so one that is as far as the join is its predecessor, and its own
    proof does not depend on the join. Float lengths have no joins, because there an arc with a length may add nothing.
    """
    into = graph.into
    if into.weights is None or into.weights.dtype.kind != "i":
        return None
    zero = np.concatenate([np.zeros_like(into.offsets[:1]), np.cumsum(into.weights == 0)])[into.offsets]
    zero = zero[1:] - zero[:-1]
    late = np.concatenate([np.zeros_like(into.offsets[:1]), np.cumsum(zero[into.indices] > 0)])[into.offsets]
    joined = (zero > 0) & (zero == into.offsets[1:] - into.offsets[:-1]) & (late[1:] == late[:-1])
    return joined if joined.any() else None
