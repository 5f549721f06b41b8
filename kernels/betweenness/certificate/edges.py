"""Proof that the edges of a table are those of the graph."""

from typing import Any

import numpy as np

from kernels.arrays import is_cupy
from kernels.certificate.rules import Broken, at, name_of, out_of_order, outside, require_form
from kernels.graph import OFFSET, Array, Csr, Graph, index_dtype


def edge_of_each_in_arc(graph: Graph, src: Any, dst: Any) -> Array:
    """The place of each in-arc's edge among the E stated ones, int64 [A]; E for a self-loop, which is none.

    Raises Broken unless the stated edges are those of all arcs but self-loops, each once, ascending by external ids; where edges
    have no direction, from the end of the smaller external id.
    """
    ends = _require_rows(graph, "src", src), _require_rows(graph, "dst", dst)
    if len(ends[0]) != len(ends[1]):
        raise Broken(f"there are {len(ends[0])} beginnings of edges and {len(ends[1])} ends")
    first, second = (graph.positions[rows] for rows in ends)
    wrong = (first >= second) if not graph.directed else first == second
    if wrong.any():
        edge = _named(graph, *ends, int(wrong.argmax()))
        raise Broken(f"edge {edge} does not lead to another vertex" + ("" if graph.directed else " of a greater id"))
    if (unsorted := out_of_order(first, second)).any():
        raise Broken(f"edge {_named(graph, *ends, int(unsorted.argmax()) + 1)} is not behind the one before it")
    stated = first.astype(OFFSET) * graph.num_vertices + second
    arcs, loops = _keys(graph, graph.into)
    places = np.searchsorted(stated, arcs)
    missing = places == len(stated)
    places[missing] = 0
    missing |= (stated[places] != arcs) if len(stated) else missing
    missing &= ~loops
    if missing.any():
        arc = int(missing.argmax())
        head = np.searchsorted(graph.into.offsets, np.full_like(graph.into.offsets[:1], arc), side="right")
        tail = name_of(graph, at(graph.into.indices, arc))
        raise Broken(f"the edge of arc {tail} to {name_of(graph, int(head[0]) - 1)} is not there")
    has_arc = np.zeros(len(stated), np.bool_, like=places)
    has_arc[places[~loops]] = True
    places[loops] = len(stated)
    if not has_arc.all():
        raise Broken(f"edge {_named(graph, *ends, int(has_arc.argmin()))} is not in the graph")
    return places


def _require_rows(graph: Graph, name: str, rows: Any) -> Array:
    kind = type(graph.ids) if is_cupy(graph) else np.ndarray
    length = len(rows) if isinstance(rows, kind) and rows.ndim else 0
    required = require_form(name, rows, length, index_dtype(graph.num_vertices), kind)
    wrong = (required < 0) | (required >= graph.num_vertices)
    if wrong.any():
        raise Broken(outside(name, required, int(wrong.argmax()), graph.num_vertices, 0))
    return required


def _keys(graph: Graph, into: Csr) -> tuple[Array, Array]:
    """A number for the edge of each in-arc, int64 [A], and whether it is a self-loop."""
    arcs = np.arange(graph.num_arcs, dtype=OFFSET, like=into.offsets)
    heads = graph.positions[np.searchsorted(into.offsets, arcs, side="right") - 1].astype(OFFSET)
    tails = graph.positions[into.indices].astype(OFFSET)
    if not graph.directed:
        tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
    return tails * graph.num_vertices + heads, tails == heads


def _named(graph: Graph, src: Array, dst: Array, edge: int) -> str:
    return f"{name_of(graph, at(src, edge))} to {name_of(graph, at(dst, edge))}"
