"""The rows of external ids, on the backend of a graph's arrays."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from kernels.cpu.parallel import assign, looked_up
from kernels.derived import Derived
from kernels.graph import NO_ROW, Array
from pipeline.errors import not_in_graph

_ENTRIES = 4  # at most, for each vertex, of an array from ids to rows
_FEW = 16  # if there is less than one id per this number of vertices, they are searched for: making the array would take longer


class VertexRows(Protocol):
    """The vertices of a graph or of a stored index: `ids` and `rows_by_id` as `Graph` has them."""

    @property
    def ids(self) -> Array:
        """External id of each row."""

    @property
    def rows_by_id(self) -> Array:
        """The rows in ascending order of their ids."""

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""

    @property
    def numbering(self) -> Derived:
        """What was derived from these arrays."""


def rows_of(graph: VertexRows, ids: Array) -> Array:
    """Rows [n] of external ids, int64 [n], where the graph's arrays are; NO_ROW for an id that the graph does not have."""
    ids = np.asarray(ids, like=graph.ids)
    find = partial(_search, graph) if _FEW * len(ids) < graph.num_vertices else finder(graph)
    return find(ids)


def positions_in(ascending: Array, values: Array) -> tuple[Array, Array]:
    """The index of each value in an ascending array, and whether it is there: int64 and bool [n]."""
    positions = np.minimum(np.searchsorted(ascending, values), max(len(ascending) - 1, 0))
    return positions, ascending[positions] == values if len(ascending) else np.zeros(len(values), np.bool_)


def finder(graph: VertexRows) -> Callable[[Array], Array]:
    """`rows_of` for many ids: by an array from each id in the graph's range to its row, where this stays small."""
    return graph.numbering.get(finder, lambda: _new_finder(graph))


def _new_finder(graph: VertexRows) -> Callable[[Array], Array]:
    ids, rows_by_id = graph.ids, graph.rows_by_id
    low, high = (int(ids[rows_by_id[end]]) for end in (0, -1)) if graph.num_vertices else (0, -1)
    if not 0 < high - low + 1 <= _ENTRIES * graph.num_vertices:
        return partial(_search, graph)
    table = np.full_like(rows_by_id, NO_ROW, shape=(high - low + 2,))  # the last entry is for every other id
    assign(table, ids - low, np.arange(len(ids), dtype=rows_by_id.dtype, like=rows_by_id))
    return partial(looked_up, table, low)


def _search(graph: VertexRows, ids: Array) -> Array:
    if not graph.num_vertices:
        return np.full_like(ids, NO_ROW, graph.rows_by_id.dtype)
    order = np.argsort(ids)  # consecutive searches share their path: four times as fast as in any order
    ascending = ids[order]
    positions = np.searchsorted(graph.ids, ascending, sorter=graph.rows_by_id)
    nearest_rows = graph.rows_by_id[np.minimum(positions, graph.num_vertices - 1)]
    nearest_rows[graph.ids[nearest_rows] != ascending] = NO_ROW
    rows = np.empty_like(nearest_rows)
    rows[order] = nearest_rows
    return rows


def require_pairs_known(file: str, first: int, ends: Sequence[Any] | Array, known: Array, vertices: int) -> None:
    """Raise BadInput for the first pair with a vertex that a graph of `vertices` vertices does not have.

    Args:
        first: The number of the first row.
        ends: External ids of `src` and of `dst`, [n] each.
        known (bool [2, n]): Whether the graph has them, in host memory.
    """
    if not known.all():
        row = int((~known).any(axis=0).argmax())
        end = int(known[0, row])
        raise not_in_graph(file, first + row, ("src", "dst")[end], ends[end][row], vertices)
