"""Checks that all certificates share, and the verdict that a broken rule leads to."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from kernels.answers import Certificate
from kernels.arrays import frozen
from kernels.cpu.parallel import elementwise, first_other
from kernels.gpu.loader import to_host
from kernels.graph import NO_ROW, Array, Graph, index_dtype

NAMED = "a label is the smallest external id of the class it names, and in it"


class Entries(Protocol):
    """An array, or one whose parts the ranks hold; read by slices of one entry."""

    def __getitem__(self, one: slice) -> Array:
        """The entry at `one.start`, in an array."""


class RowNames(Protocol):
    """What names rows: a graph, or the global view of one that ranks hold together."""

    @property
    def ids(self) -> Entries:
        """External id of each row."""

    @property
    def num_vertices(self) -> int:
        """Number of rows."""


class Broken(Exception):
    """A rule that the answer breaks; the message is the certificate's reason."""


def verdict(rules: tuple[str, ...], check: Callable[..., None], *args: Any) -> Certificate:
    """Certificate of `check(*args)`, which raises Broken at the first of `rules` that is broken."""
    try:
        check(*args)
    except Broken as broken:
        return Certificate(False, str(broken), rules)
    return Certificate(True, "", rules)


def require_form(name: str, array: Any, length: int, dtype: np.dtype[Any], kind: Any = np.ndarray) -> Array:
    """Return `array`, or raise Broken unless it is an array of this kind (NumPy's or CuPy's), length and type."""
    if not isinstance(array, kind) or array.ndim != 1:
        raise Broken(f"{name} is not an array of one dimension")
    if array.dtype != dtype:
        raise Broken(f"{name} is {array.dtype}, not {dtype}")
    if len(array) != length:
        raise Broken(f"{name} has {len(array)} entries, not {length}")
    required: Array = array
    return required


def require_array(name: str, array: Any, length: int, dtype: np.dtype[Any]) -> Array:
    """Frozen `array`, or Broken unless it is a NumPy array of this length and type."""
    return frozen(np.ascontiguousarray(require_form(name, array, length, dtype)))


def require_rows(name: str, array: Any, length: int, num_vertices: int, lowest: int = 0, row: Any = None) -> Array:
    """Frozen `array`, or Broken unless it holds `length` rows, of type `row`, from `lowest` (0, or NO_ROW) to the last vertex."""
    rows = require_array(name, array, length, row or index_dtype(num_vertices))
    if length and not (lowest <= rows.min() and rows.max() < num_vertices):
        place = int(((rows < lowest) | (rows >= num_vertices)).argmax())
        raise Broken(outside(name, rows, place, num_vertices, lowest))
    return rows


def differing(stated: Array, expected: Array) -> Array:
    """Whether entries of two arrays of the same type of 64 bits differ in a bit, as -0.0 does from 0.0: bool [n]."""
    differ: Array = stated.view(np.int64) != expected.view(np.int64)
    return differ


def out_of_order(first: Array, second: Array) -> Array:
    """Whether each pair (`first`, `second`), from the second on, is not greater than the previous one: bool [n - 1]."""
    falls: Array = (first[1:] < first[:-1]) | ((first[1:] == first[:-1]) & (second[1:] <= second[:-1]))
    return falls


def outside(name: str, rows: Entries, place: int, num_vertices: int, lowest: int = 0) -> str:
    """Reason where `rows[place]` is not a row of the graph."""
    return f"{name} has row {at(rows, place)}, outside {lowest}..{num_vertices - 1}"


def require_source(graph: RowNames, source: Any) -> int:
    """`source`, or Broken unless it is a row."""
    if not isinstance(source, int | np.integer) or not 0 <= source < graph.num_vertices:
        raise Broken(f"source is row {source!r}, outside 0..{graph.num_vertices - 1}")
    return int(source)


def require_labels(graph: Graph, labels: Any) -> Array:
    """Frozen `labels`, or Broken unless each names a row that names itself and has no greater id than those it names."""
    rows = require_rows("labels", labels, graph.num_vertices, graph.num_vertices, row=graph.rows_by_id.dtype)
    if (astray := first_other(rows, rows, rows)) >= 0:
        raise Broken(label_astray(graph, rows, astray))
    greater = elementwise(lambda own, ids: graph.ids.take(own) > ids, rows, graph.ids, dtype=np.bool_)
    if greater.any():
        raise Broken(label_greater(graph, rows, int(greater.argmax())))
    return rows


def label_astray(graph: RowNames, labels: Entries, row: int) -> str:
    """Reason where a label does not name itself."""
    return f"vertex {name_of(graph, row)}: its label {name_of(graph, at(labels, row))} is not labelled with itself"


def label_greater(graph: RowNames, labels: Entries, row: int) -> str:
    """Reason where a label is greater than what it names."""
    return f"vertex {name_of(graph, row)}: its label {name_of(graph, at(labels, row))} is greater"


def at(array: Entries, place: Any) -> Any:
    """One entry as NumPy's scalar, of an array of any backend."""
    return to_host(array[place : place + 1])[0]


def name_of(graph: RowNames, row: Any) -> str:
    """External id of a row; "none" for NO_ROW."""
    return "none" if row == NO_ROW else str(at(graph.ids, row))


def arc_ends(graph: Graph, arc: int) -> tuple[int, int]:
    """Tail and head of the out-arc stored at `arc`, as rows."""
    place = np.full_like(graph.out.offsets[:1], arc)
    src = np.searchsorted(graph.out.offsets, place, side="right")
    return int(src[0]) - 1, int(at(graph.out.indices, arc))


def arc_weight(weights: Array | None, arc: int) -> Any:
    """The weight of the arc stored at `arc`; 1 in a graph without weights."""
    return 1 if weights is None else at(weights, arc)


def arc_name(graph: RowNames, ends: tuple[int, int]) -> str:
    """An arc, given by its rows, with external ids: "arc 12 -> 15"."""
    src, dst = ends
    return f"arc {name_of(graph, src)} -> {name_of(graph, dst)}"
