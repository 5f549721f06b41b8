"""The algorithms of examples/ on the CPU, and their length; tests/emulator/test_operators.py tries all of them."""

import ast
import io
import tokenize
from pathlib import Path

import numpy as np
import pytest

import examples
from kernels.sssp import sssp
from tests.counts import of_the_day
from tests.operators import cases
from tests.operators.algorithms import (
    GRAPHS,
    ROWS,
    algorithm,
    answers,
    graphs_of,
    require_row_of_the_table,
    require_true,
    stable,
    traced,
)

# By day one of each group, because Numba takes seconds for each; all by night, and on every GPU.
TRIED = of_the_day(
    ("paths.top_down", "paths.bottom_up", "paths.direction_optimising", "paths.bellman_ford", "paths.bellman_ford_partial"),
    ("paths.dijkstra", "paths.delta_stepping", "paths.brandes", "weights.pagerank", "components.communities"),
    ("components.shiloach_vishkin", "components.random_neighbour", "components.label_propagation", "components.colouring"),
    ("components.by_search", "components.forward_backward", "components.floyd_warshall", "components.closure_by_search"),
    ("weights.boruvka", "weights.push_relabel", "weights.flow_by_search"),
)


@pytest.mark.sampled
@pytest.mark.parametrize("name", TRIED)
def test_it_gives_the_oracles_answers_with_the_operators_of_the_table(name):
    """All of an algorithm in one test, because each process that runs a part of it compiles its functions."""
    algorithm(name)
    with traced() as used:
        for graph in graphs_of(name):
            for given, found in answers(name, graph):
                require_true(name, graph, given, found)
    require_row_of_the_table(name, used)


def lines_of(text: str) -> tuple[int, int, int]:
    """Lines of a file by kind: code with the blank lines in it, comments and docstrings, imports."""
    tree, number = ast.parse(text), len(text.splitlines())
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {each.start[0] for each in tokens if each.type == tokenize.COMMENT and not each.line[: each.start[1]].strip()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node):
            comments |= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    imports, inside = set(), set()
    for node in tree.body[1:]:
        (imports if isinstance(node, ast.Import | ast.ImportFrom) else inside).update(range(node.lineno, node.end_lineno + 1))
    assert len(imports | inside | comments) <= number
    return len(inside - comments), len(comments), len(imports)


@pytest.mark.parametrize("name", ROWS)
def test_its_file_has_less_than_50_lines_of_code(name):
    path = Path(examples.__file__).parent / f"{name.replace('.', '/')}.py"
    code, _, imports = lines_of(path.read_text(encoding="utf-8"))
    assert imports
    assert code < 50


def test_random_neighbour_joins_rows_whose_numbers_have_the_same_low_bits():
    labels = algorithm("components.random_neighbour")(cases.graph_of_arcs([(0, 1 << 16)], (1 << 16) + 1))
    assert labels[1 << 16] == 0 and np.count_nonzero(labels == 0) == 2


def test_delta_stepping_with_and_without_hubs(monkeypatch):
    """Rounds of light arcs one by one, and those of a bucket at once."""
    expected = sssp(GRAPHS[1], 0).distance
    for degree in (1, 1 << 12):
        monkeypatch.setattr("examples.paths.delta_stepping._HUB", degree)
        found = algorithm("paths.delta_stepping")(GRAPHS[1], 0, 3.0)
        np.testing.assert_array_equal(found, np.where(expected < 0, np.inf, expected.astype(np.float64)))


def test_delta_stepping_ends_where_a_distance_absorbs_delta():
    graph = cases.graph_of_arcs([(0, 1), (1, 2)], 3, np.int64)
    graph.out.weights[:] = 2**60, 1
    assert algorithm("paths.delta_stepping")(graph, 0, 3.0).tolist() == [0, 2**60, 2**60]


def test_boruvka_compares_integers_that_are_the_same_as_doubles():
    graph = cases.graph_of_arcs([(0, 1), (0, 2), (1, 2)], 3, np.int64)
    graph.out.weights[:] = 2**53 + 1, 2**53, 2**53
    chosen, ends = algorithm("weights.boruvka")(graph)
    assert ends[:, chosen].T.tolist() == [[0, 2], [1, 2]]


def test_communities_of_neighbours_whose_numbers_have_the_same_parity():
    graph = cases.graph_of_arcs([(0, 2), (2, 0), (1, 3), (3, 1), (4, 6), (6, 4)], 7, np.int32)
    labels = algorithm("components.communities")(graph)
    assert stable(graph, labels) and labels[0] == labels[2] != labels[1] == labels[3]


@pytest.mark.parametrize("name", ["weights.push_relabel", "weights.flow_by_search"])
def test_a_flow_needs_two_rows(name):
    with pytest.raises(ValueError, match="source and target are the same row, 1"):  # a search for a shortest path would not end
        algorithm(name)(cases.GRAPHS["path"](), 1, 1)
