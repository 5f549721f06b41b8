"""Rows that callers pass: every function that takes rows refuses others than those of its graph, before it searches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernels.bfs import bfs
from kernels.flow import max_flow
from kernels.graph import Graph
from kernels.hierarchy import build_hierarchy
from kernels.library.operators import Frontier
from kernels.reachability import reach, reach_by_search, reachability
from kernels.reachability.paths import shortest_paths
from kernels.sssp import sssp
from kernels.trees import sweep, trees
from kernels.trees.targets import Targets
from tests.operators import cases
from tests.operators.test_algorithms import algorithm

SIZE = 5
GRAPH = cases.graph_of_arcs([(i, i + 1) for i in range(SIZE - 1)] + [(3, 0)], SIZE, np.int64)
NONE = cases.graph_of_arcs([], 0, np.int64)
PATHS = ("top_down", "bottom_up", "direction_optimising", "bellman_ford", "bellman_ford_partial", "dijkstra")

ONE: dict[str, Callable[[Graph, Any], Any]] = {f"operators {name}": algorithm(f"paths.{name}") for name in PATHS}
ONE |= {
    "bfs": bfs, "sssp": sssp,
    "operators delta_stepping": lambda graph, row: algorithm("paths.delta_stepping")(graph, row, 2.0),
    "operators brandes": lambda graph, row: algorithm("paths.brandes")(graph, [row]),
    "operators flow from": lambda graph, row: algorithm("weights.push_relabel")(graph, row, 4),
    "operators flow to": lambda graph, row: algorithm("weights.push_relabel")(graph, 4, row),
    "operators search from": lambda graph, row: algorithm("weights.flow_by_search")(graph, row, 4),
    "operators search to": lambda graph, row: algorithm("weights.flow_by_search")(graph, 4, row),
}  # fmt: skip
MANY: dict[str, Callable[[Graph, Any], Any]] = {
    "trees": trees,
    "trees of a hierarchy": lambda graph, rows: trees(graph, rows, build_hierarchy(graph)),
    "sweep": lambda graph, rows: list(sweep(graph, None, rows)),
    "targets": lambda graph, rows: Targets(graph, build_hierarchy(graph), rows),
    "sources of targets": lambda graph, rows: Targets(graph, build_hierarchy(graph), np.arange(1)).distances(rows),
    "max_flow from": lambda graph, rows: max_flow(graph, rows, np.full(len(rows), 2)),
    "max_flow to": lambda graph, rows: max_flow(graph, np.full(len(rows), 2), rows),
    "shortest_paths from": lambda graph, rows: list(shortest_paths(graph, rows, np.full(len(rows), 2))),
    "shortest_paths to": lambda graph, rows: list(shortest_paths(graph, np.full(len(rows), 2), rows)),
    "reach from": lambda graph, rows: reach(reachability(graph), rows, np.full(len(rows), 2)),
    "reach to": lambda graph, rows: reach(reachability(graph), np.full(len(rows), 2), rows),
    "reach_by_search": lambda graph, rows: reach_by_search(reachability(graph), rows, np.full(len(rows), 2)),
    "frontier": Frontier.of_rows,
}  # fmt: skip
TYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


@pytest.mark.parametrize("name", ONE)
def test_a_row_is_one_of_the_graph(name):
    for row in (-1, SIZE, 2**31, 2**32, 2**40, 2**70, np.int64(-1), np.uint64(2**64 - 1), np.int8(SIZE), np.array(SIZE)):
        with pytest.raises(IndexError, match=rf"row {row} is not in 0..{SIZE - 1}"):
            ONE[name](GRAPH, row)
    for row in (1.0, 1.5, "1", None, True, np.bool_(True), np.float64(2), [1], np.array([1, 2]), float("nan")):
        with pytest.raises(TypeError, match="is not an integer"):
            ONE[name](GRAPH, row)
    with pytest.raises(IndexError, match=r"row [04] is not in 0\.\.-1"):
        ONE[name](NONE, 0)


@pytest.mark.parametrize("name", MANY)
def test_rows_are_those_of_the_graph(name):
    for row in (-1, SIZE, 2**31, 2**32, 2**40, 2**63):
        with pytest.raises(IndexError, match=rf"{row}.*0\.\.{SIZE - 1}"):
            MANY[name](GRAPH, np.array([0, row], np.uint64 if row >= 2**63 else np.int64))
    for rows in (np.array([1.5, 2]), np.array([True, False]), np.array(["1", "2"])):
        with pytest.raises(TypeError, match=f"rows are {rows.dtype}, not integers"):
            MANY[name](GRAPH, rows)


@pytest.mark.parametrize("kind", TYPES)
def test_rows_of_any_integer_type(kind):
    assert bfs(GRAPH, kind(2)).distance.tolist() == [2, 3, 0, 1, 2]
    assert trees(GRAPH, np.array([2, 1], kind)).distances[0].tolist() == sssp(GRAPH, 2).distance.tolist()
    assert max_flow(GRAPH, np.array([0], kind), np.array([3], kind)).value.tolist() == [1]
    assert [path.lengths.tolist() for path in shortest_paths(GRAPH, np.array([0], kind), np.array([3], kind))] == [[4]]


def test_pairs_of_a_flow():
    for solve in (lambda *pair: max_flow(GRAPH, *pair), lambda *pair: list(shortest_paths(GRAPH, *pair))):
        with pytest.raises(ValueError, match="2 sources, 1 destinations"):
            solve(np.array([0, 1]), np.array([2]))
    with pytest.raises(ValueError, match="src and dst are both row 3"):
        max_flow(GRAPH, np.array([0, 3]), np.array([1, 3]))


@pytest.mark.parametrize("name", ["push_relabel", "flow_by_search"])
def test_capacities_of_flows_are_integers(name):
    graph = cases.graph_of_arcs([(0, 1), (1, 2)], 3, np.float64)
    assert algorithm(f"weights.{name}")(graph, 0, 2)[0] == 1
    for weight in (1.75, np.inf, np.nan, 0.5):
        graph.out.weights[1] = weight
        with pytest.raises(ValueError, match=f"the weight {weight} is not an integer that"):
            algorithm(f"weights.{name}")(graph, 0, 2)


def test_parameters_of_algorithms():
    for delta in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match=f"delta {delta} is not above 0"):
            algorithm("paths.delta_stepping")(GRAPH, 0, delta)
    for damping, tolerance in ((1, 0.1), (-0.1, 0.1), (float("nan"), 0.1), (0.85, -1), (0.85, float("nan"))):
        with pytest.raises(ValueError, match=f"damping {damping} .* tolerance {tolerance}"):
            algorithm("weights.pagerank")(GRAPH, damping, tolerance)
