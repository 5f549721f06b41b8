"""Borůvka's algorithm of a source document (forest.cu): ten steps per round, with flags read back."""

from typing import Any, NamedTuple

import cupy
import numpy as np

from benchmarks.published import SOURCES
from kernels.answers import Forest
from kernels.forest.cuda import ForestPlan, no_edges, plan_of
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Graph

METHODS = ("boruvka",)
_THREADS = 256


class RoundGraph(NamedTuple):
    """The graph of a round: the first arguments of the kernels."""

    num_vertices: np.int64
    first_edge: Array
    out_degree: Array
    destination: Array
    weight: Array
    number: Array


def span(graph: Graph, method: str = METHODS[0]) -> Forest:
    """Answer `kernels.forest.minimum_spanning_forest` on CuPy arrays, by the one method that there is."""
    if not graph.num_arcs:
        return no_edges(graph)
    plan = plan_of(graph)
    vertices = _vertices(graph, plan)
    in_forest = cupy.zeros(plan.num_edges, np.uint8)
    tree = cupy.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype)
    while (color := _colors(vertices, in_forest)) is not None:
        vertices, ids = _contract(vertices, color)
        tree = ids[color[tree]].astype(tree.dtype)
    return _answer(graph, plan, cupy.flatnonzero(in_forest), tree)


def _vertices(graph: Graph, plan: ForestPlan) -> RoundGraph:
    edges = plan.edges
    weight = cupy.ones(len(edges.indices), np.int32) if edges.weights is None else edges.weights
    number = cupy.empty(len(edges.indices), plan.first_edge.dtype)
    vertices = RoundGraph(
        np.int64(graph.num_vertices), edges.offsets[:-1], cupy.diff(edges.offsets), edges.indices, weight, number
    )
    arcs = edges.offsets, edges.indices, graph.positions, plan.tails, plan.first_edge
    _run(vertices, "number_arcs", *arcs, vertices.num_vertices, number)
    return vertices


def _colors(vertices: RoundGraph, in_forest: Array) -> Array | None:
    """Steps 1 to 4: the vertex that each one becomes part of; None if no vertex has an arc."""
    chosen, flag = cupy.empty(int(vertices.num_vertices), np.int64), cupy.zeros(1, np.uint32)
    color: Array = cupy.empty(len(chosen), vertices.destination.dtype)
    _run(vertices, "find_min", *vertices, chosen)
    _run(vertices, "mirrors_edge", *vertices, chosen, in_forest, flag)
    if not int(flag[0]):
        return None
    _run(vertices, "initialize_colors", *vertices, chosen, color)
    while int(flag[0]):
        flag.fill(0)
        _run(vertices, "propagate_colors", vertices.num_vertices, color, flag)
    return color


def _contract(vertices: RoundGraph, color: Array) -> tuple[RoundGraph, Array]:
    """Steps 5 to 10: the next round's graph, and the new vertex of each colour."""
    flag = cupy.empty(len(color), OFFSET)
    _run(vertices, "create_new_vertex_ids", vertices.num_vertices, color, flag)
    ids = cupy.cumsum(flag) - flag
    count = int(ids[-1] + flag[-1])
    out_degree = cupy.zeros(count, OFFSET)
    _run(vertices, "count_edges", *vertices, color, ids, out_degree)
    first_edge = cupy.cumsum(out_degree) - out_degree
    arcs = int(first_edge[-1] + out_degree[-1])
    kept = [cupy.empty(arcs, array.dtype) for array in (vertices.destination, vertices.weight, vertices.number)]
    _run(vertices, "insert_new_edges", *vertices, color, ids, first_edge.copy(), *kept)
    return RoundGraph(np.int64(count), first_edge, out_degree, *kept), ids


def _answer(graph: Graph, plan: ForestPlan, numbers: Array, tree: Array) -> Forest:
    """The forest, given its edges' numbers in ascending order and the tree of each row: 0, 1, ..."""
    first_edge = plan.first_edge if plan.wide else plan.first_edge.view(np.uint32).astype(OFFSET)
    position = cupy.searchsorted(first_edge, numbers, side="right") - 1
    src = graph.rows_by_id[position]
    arcs = plan.edges.offsets[src] + plan.tails[src] + numbers - first_edge[position]
    weights = cupy.ones(len(numbers), np.int64) if plan.edges.weights is None else plan.edges.weights[arcs]
    _, first_position = cupy.unique(tree[graph.rows_by_id], return_index=True)
    return Forest(src, plan.edges.indices[arcs], weights, graph.rows_by_id[first_position[tree]])


def _run(vertices: RoundGraph, name: str, *arguments: Any) -> None:
    types: dict[str, Any] = {"ROW": vertices.destination.dtype, "WEIGHT": vertices.weight.dtype, "EDGE": vertices.number.dtype}
    launch(f"{SOURCES}forest.cu", name, _THREADS, int(vertices.num_vertices), *arguments, **types)
