"""How far a search of shortest paths looks ahead: estimated from the weights of some rows, for CPU and GPU."""

import numpy as np

from kernels.library.dynamic.structures.pages import SlottedPages

_SAMPLE = 4096  # rows


def mean_step(graph: SlottedPages) -> float:
    """Mean weight of some arcs divided by the mean degree; 1 where that is not positive. Found once after each change."""
    return graph.derived.get(mean_step, lambda: _mean_step(graph))


def _mean_step(graph: SlottedPages) -> float:
    degrees = graph.located().degrees
    rows = np.flatnonzero(degrees)
    if not len(rows):
        return 1.0
    weights = graph.lists(rows[:: len(rows) // _SAMPLE + 1].astype(np.int32)).weights
    assert weights is not None
    mean = float(weights.mean(dtype=np.float64))
    return mean * len(rows) / int(degrees.sum()) if 0 < mean < np.inf else 1.0
