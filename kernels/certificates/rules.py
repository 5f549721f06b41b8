"""What every certificate checks first, and how a broken rule becomes a verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernels.answers import Certificate
from kernels.graph import NO_ROW, Array, Graph, index_dtype

NAMED = "a label is the smallest external id of the class it names, and in it"


class Broken(Exception):
    """A rule that the answer breaks; the message is the certificate's reason."""


def verdict(rules: tuple[str, ...], check: Callable[..., None], *args: Any) -> Certificate:
    """Certificate of `check(*args)`, which raises Broken at the first broken one of `rules`."""
    try:
        check(*args)
    except Broken as broken:
        return Certificate(False, str(broken), rules)
    return Certificate(True, "", rules)


def frozen(array: Array) -> Array:
    """Contiguous read-only view: maps, tables and fresh arrays then share one compiled version of a kernel."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def require_array(name: str, array: Any, length: int, dtype: np.dtype[Any]) -> Array:
    """Frozen `array`, or Broken unless it is a NumPy array of this length and type."""
    if not isinstance(array, np.ndarray) or array.ndim != 1:
        raise Broken(f"{name} is no array of one dimension")
    if array.dtype != dtype:
        raise Broken(f"{name} is {array.dtype}, not {dtype}")
    if len(array) != length:
        raise Broken(f"{name} has {len(array)} entries, not {length}")
    return frozen(array)


def require_rows(name: str, array: Any, length: int, num_vertices: int, lowest: int = 0) -> Array:
    """Frozen `array`, or Broken unless it holds `length` rows from `lowest` (0, or NO_ROW) to the last vertex."""
    rows = require_array(name, array, length, index_dtype(num_vertices))
    if length and not (lowest <= rows.min() and rows.max() < num_vertices):
        row = rows[(rows < lowest) | (rows >= num_vertices)][0]
        raise Broken(f"{name} has row {row}, outside {lowest}..{num_vertices - 1}")
    return rows


def require_source(graph: Graph, source: Any) -> int:
    """`source`, or Broken unless it is a row."""
    if not isinstance(source, int | np.integer) or not 0 <= source < graph.num_vertices:
        raise Broken(f"source is row {source!r}, outside 0..{graph.num_vertices - 1}")
    return int(source)


def require_labels(graph: Graph, labels: Any) -> Array:
    """Frozen `labels`, or Broken unless each names a row that names itself and has no greater id than those it names."""
    labels = require_rows("labels", labels, graph.num_vertices, graph.num_vertices)
    astray = labels[labels] != labels
    if astray.any():
        row = int(astray.argmax())
        raise Broken(f"vertex {name_of(graph, row)}: its label {name_of(graph, labels[row])} is not labelled with itself")
    named = graph.ids[labels]
    greater = named > graph.ids
    if greater.any():
        row = int(greater.argmax())
        raise Broken(f"vertex {name_of(graph, row)}: its label {named[row]} is greater")
    return labels


def name_of(graph: Graph, row: Any) -> str:
    """External id of a row; "none" for NO_ROW."""
    return "none" if row == NO_ROW else str(graph.ids[row])


def arc_ends(graph: Graph, arc: int) -> tuple[int, int]:
    """Rows of both ends of the out-arc stored at `arc`."""
    return int(np.searchsorted(graph.out.offsets, arc, side="right")) - 1, int(graph.out.indices[arc])


def arc_name(graph: Graph, arc: int) -> str:
    """An out-arc as the reasons write it: "arc 12 -> 15"."""
    src, dst = arc_ends(graph, arc)
    return f"arc {name_of(graph, src)} -> {name_of(graph, dst)}"
