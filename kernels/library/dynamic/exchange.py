"""Graphs that change as tables, and pages from tables: for Parquet, pyarrow, pandas and cuDF.

This module imports none of these libraries. `pyarrow.table`, `pandas.DataFrame` and `cudf.DataFrame` take the columns that
`tables_of` returns, and `pages_of` takes the tables of all three.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kernels.graph import Array
from kernels.library.dynamic.arrays import owners_of
from kernels.library.dynamic.contract import BatchRules, DynamicGraph, Lists
from kernels.library.dynamic.pages.store import PageStore
from kernels.library.dynamic.structures.pages import SlottedPages
from kernels.library.dynamic.values import vertices_of


class Tables(NamedTuple):
    """A graph; columns by name, in the memory of the graph."""

    vertices: Mapping[str, Array]  # vertex (int32 [n]), ascending: removed ones are missing
    arcs: Mapping[
        str, Array
    ]  # src, dst (int32 [A]), and weight [A] if the graph has weights; src ascends, lists keep their order


def tables_of(graph: DynamicGraph) -> Tables:
    """The vertices and arcs of a graph of any structure."""
    rows, csr = np.flatnonzero(graph.exists()).astype(np.int32), graph.csr()
    arcs = {"src": owners_of(csr.offsets).astype(np.int32), "dst": csr.indices}
    return Tables({"vertex": rows}, arcs if csr.weights is None else {**arcs, "weight": csr.weights})


def pages_of(
    vertices: Any, arcs: Any, rules: BatchRules | None = None, page_size: int = 1024, fill: float = 0.75
) -> SlottedPages:
    """Slotted pages of tables like those of `tables_of`; on the GPU if they are cuDF's or have CuPy's arrays.

    Arcs may be in any order; those of one vertex keep theirs. Each page is filled to the share `fill`. The next new vertex gets
    the number behind the largest one.

    Raises:
        ValueError: Vertices are not distinct integers in 0..2^31 - 2; an arc does not begin at one of them; columns differ in
            length; weights have a type that graphs do not have.
    """
    ids = _array(vertices["vertex"])
    ids = np.sort(vertices_of(ids, ids))
    src, dst = (vertices_of(_array(arcs[name]), ids) for name in ("src", "dst"))
    weights = _array(arcs["weight"]) if "weight" in getattr(arcs, "column_names", arcs) else None
    if len(src) != len(dst) or (weights is not None and len(weights) != len(src)):
        raise ValueError("arcs: columns of different lengths")
    if len(ids) and (int(ids[0]) < 0 or bool((ids[1:] == ids[:-1]).any())):
        raise ValueError("vertices: they are not distinct integers in 0..2^31 - 2")
    places = np.searchsorted(ids, src)
    known = ids[np.minimum(places, len(ids) - 1)] == src if len(ids) else np.zeros(len(src), np.bool_, like=src)
    if not bool(known.all()) or (len(dst) and int(dst.min()) < 0):
        raise ValueError("arcs: one does not begin at a vertex of the table, or its dst is not in 0..2^31 - 2")
    order = np.argsort(places, kind="stable")
    offsets = np.searchsorted(places[order], np.arange(len(ids) + 1, like=ids)).astype(np.int64)
    lists = Lists(offsets, dst[order], None if weights is None else weights[order])
    return SlottedPages(PageStore.from_lists(ids, lists, page_size, fill), rules or BatchRules())


def _array(column: Any) -> Array:
    """A column as an array: of CuPy if it is one of cuDF, otherwise as it is, or of NumPy."""
    for convert in ("to_cupy", "to_numpy"):
        if hasattr(column, convert):
            array: Array = getattr(column, convert)()
            return array
    return column  # type: ignore[no-any-return]
