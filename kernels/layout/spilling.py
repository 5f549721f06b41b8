"""Arcs that memory does not hold: they are sorted share by share, and written outside of memory as they are sorted."""

from collections.abc import Iterable
from threading import Lock

from kernels.graph import Array
from kernels.layout.rules import Edges, Spill


class GrowingEdges:
    """An edge list outside of memory, to which any number of threads append, in any order."""

    def __init__(self, none: Edges, spill: Spill) -> None:
        """`none` has the types of the columns."""
        self._turn = Lock()
        self._columns = [spill.array(column.dtype) for column in _columns(none)]

    def append(self, part: Edges) -> None:
        """Write further edges."""
        with self._turn:
            for column, values in zip(self._columns, _columns(part), strict=True):
                column.append(values)

    def close(self) -> Edges:
        """All edges, to be read."""
        src, dst, *weights = (column.close() for column in self._columns)
        return Edges(src, dst, weights[0] if weights else None)


def spilled(none: Edges, parts: Iterable[Edges], spill: Spill) -> Edges:
    """The edges of all parts, which are made one after the other; `none` has their types."""
    growing = GrowingEdges(none, spill)
    for part in parts:
        growing.append(part)
    return growing.close()


def _columns(edges: Edges) -> list[Array]:
    return [column for column in (edges.src, edges.dst, edges.weights) if column is not None]
