"""What a sweep of many trees returns, and rows that its proof does not leave to a search."""

from typing import NamedTuple

import numpy as np

from kernels.graph import Array, Graph


class SweptTrees(NamedTuple):
    """Trees from k sources, and what their proof found; on the graph's backend, but for the last two."""

    distances: Array  # int32, int64 or float64 [k, V], or [k, T] to T rows only
    predecessors: Array | None  # index width [k, V]
    # bool [k]: an arc shortens a path or leads out of what is reached, the source is not at distance 0, or a value is no length
    loose: Array
    # bool [k]: it is not known of each reached row that tight arcs lead it back to the source. A tree without either is proved.
    waiting: Array


def joins(graph: Graph) -> Array | None:
    """Which rows only arcs of length 0 enter, from rows that none of these enters (bool [V]); None if there is no such row.

    An example is the end of a split crossing. The tails of a join are not reached by arcs of length 0, so one that is as far as
    the join is its predecessor, and its own proof does not depend on the join. Float lengths have no joins, because there an arc
    with a length may add nothing.
    """
    into = graph.into
    if into.weights is None or into.weights.dtype.kind != "i":
        return None
    zero = np.concatenate([np.zeros_like(into.offsets[:1]), np.cumsum(into.weights == 0)])[into.offsets]
    zero = zero[1:] - zero[:-1]
    late = np.concatenate([np.zeros_like(into.offsets[:1]), np.cumsum(zero[into.indices] > 0)])[into.offsets]
    joined = (zero > 0) & (zero == into.offsets[1:] - into.offsets[:-1]) & (late[1:] == late[:-1])
    return joined if joined.any() else None
