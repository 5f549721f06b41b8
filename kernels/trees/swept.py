"""What a sweep of many trees returns."""

from typing import NamedTuple

from kernels.graph import Array


class SweptTrees(NamedTuple):
    """Trees from k sources, and what their proof found; on the graph's backend, but for the last two."""

    distances: Array  # int32, int64 or float64 [k, V]
    predecessors: Array | None  # index width [k, V]
    # bool [k]: an arc shortens a path or leads out of what is reached, the source is not at distance 0, or a value is no length
    loose: Array
    # bool [k]: it is not known of each reached row that tight arcs lead it back to the source. A tree without either is proved.
    waiting: Array
