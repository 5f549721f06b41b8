"""Shortest-path trees from many sources: the answers of `sssp`, many at a time.

Read `sweeping.py` first: what is swept, and what is computed again. On a CPU follow `cpu.py`, `sweep_cpu.py`, `proof/cpu.py`.

Every tree has the distances and predecessors of `kernels.sssp.sssp`, to the byte, and is proved against the graph's arcs before
it is returned: what is reduced from trees is reduced from proved ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kernels.answers import Hierarchy
from kernels.arrays import is_cupy, require_rows
from kernels.cpu.parallel import cores
from kernels.gpu.loader import at_once
from kernels.graph import Array, Graph, distance_dtype
from kernels.trees.constants import GROUP, LANES
from kernels.trees.sweeping import by_search, by_sweeps, lengths_fit, sums_by_sweeps

# Trees of a batch. On a GPU they share the time between two levels.
_MOST, _MOST_FLOATS, _MOST_ON_GPU = 256, 128, 1024
# Bytes of an array that takes the memory of the batch before; the system clears larger ones anew, which can take as long as the
# trees. Where the trees that are computed together need more, there is no such limit.
_REUSED = 2**25 - 2**12


@dataclass(frozen=True)
class Trees:
    """Shortest paths from k sources. Arrays of V entries are in the row order of the graph and on its backend."""

    sources: Array  # index width [k], NumPy's: row of each source; sources may repeat
    # distances: int32, int64 or float64 [k, V], or [k, T] to T rows: `sssp`'s values, UNREACHED (-1) if there is no path. For
    # integer weights, sweeps give int32 where all distances fit.
    distances: Array
    predecessors: Array | None  # index width [k, V]: NO_ROW (-1) for the source and if unreached; None unless asked for
    # int64 [3, k]: how many rows have a distance, the largest distance, and their sum; distances are then [k, 0]
    sums: Array | None = None


def trees(
    graph: Graph,
    sources: Array,
    hierarchy: Hierarchy | None = None,
    *,
    predecessors: bool = False,
    to: Array | None = None,
    summed: bool = False,
) -> Trees:
    """Find the shortest paths from all `sources` at once.

    Args:
        sources (integer [k]): Rows, which may repeat.
        hierarchy: Of this graph (`kernels.hierarchy.build_hierarchy`), on its backend. Without one, or where a GPU's free memory
            does not hold a group of trees, `sssp` searches from one source after the other.
        to (integer [T]): Rows, on the graph's backend, to which alone distances are returned. Whole trees are proved.
        summed: Only sums of distances are needed: where it is faster, these are returned instead.

    Raises:
        IndexError, TypeError: If a source is not a row of the graph, or not an integer.
        OverflowError: If a distance exceeds int64, or is not finite.
        Broken: If a tree is not proved.
    """
    rows = require_rows(graph, np.asarray(sources))
    if hierarchy is None or not len(rows) or not lengths_fit(graph):
        return _by_sssp(graph, rows, predecessors, to)
    if summed and (sums := sums_by_sweeps(graph, hierarchy, rows)) is not None:
        return Trees(rows, np.empty((len(rows), 0), np.int32, like=graph.ids), None, sums)
    swept = by_sweeps(graph, hierarchy, rows, predecessors, to)
    return Trees(rows, swept.distances, swept.predecessors)


def sweep(
    graph: Graph,
    hierarchy: Hierarchy | None,
    sources: Array,
    *,
    predecessors: bool = False,
    to: Array | None = None,
    summed: bool = False,
) -> Iterator[Trees]:
    """Yield the trees of all `sources`, in their order, in batches of as many as are fast and fit in memory.

    As `trees`. On a GPU the arrays stay there; a batch is to be released before the next one is asked for.
    """
    sources, size = require_rows(graph, np.asarray(sources)), batch_size(graph, hierarchy)
    for first in range(0, len(sources), size):
        yield trees(graph, sources[first : first + size], hierarchy, predecessors=predecessors, to=to, summed=summed)


def batch_size(graph: Graph, hierarchy: Hierarchy | None) -> int:
    """Number of trees that are solved at a time."""
    if is_cupy(graph):
        fits = at_once("a tree of shortest paths", _bytes_of_tree(graph.num_vertices))
        return min(_MOST_ON_GPU, fits // GROUP * GROUP or fits)
    return batch_on_cpu(graph.num_vertices, hierarchy is not None, distance_dtype(graph.out.weights).kind == "f")


def batch_on_cpu(num_vertices: int, swept: bool, floats: bool) -> int:
    """Number of trees that are solved at a time on a CPU: of a hierarchy if they are `swept`, with sums of floats or integers."""
    together = LANES * cores() if swept else 1
    fit = _REUSED // ((8 if floats else 4) * max(1, num_vertices))
    fit = fit if fit >= together else 2**30 // _bytes_of_tree(num_vertices)
    return max(together, min(_MOST_FLOATS if floats else _MOST, fit) // together * together)


def _bytes_of_tree(num_vertices: int) -> int:
    return 24 * max(1, num_vertices)  # lengths, distances and predecessors, where 32 bits are not enough


def _by_sssp(graph: Graph, rows: Array, predecessors: bool, to: Array | None) -> Trees:
    """The trees by one search for each source."""
    columns = graph.num_vertices if to is None else len(to)
    distances = np.empty((len(rows), columns), distance_dtype(graph.out.weights), like=graph.ids)
    stated = np.empty((len(rows), graph.num_vertices), rows.dtype, like=graph.ids) if predecessors else None
    for place, row in enumerate(rows.tolist()):
        paths = by_search(graph, row)
        distances[place] = paths.distance if to is None else paths.distance[to]
        if stated is not None:
            stated[place] = paths.predecessor
    return Trees(rows, distances, stated)
