"""Rows of external ids, by an array for dense ids and by a search for sparse ones."""

import numpy as np
import pytest

from kernels.cpu import parallel
from kernels.graph import Csr, Graph
from pipeline.tables.row_lookup import finder, rows_of

EXTREMES = [-(2**63), -1, 2**63 - 1]


def graph_of(ids: np.ndarray) -> Graph:
    no_arcs = Csr(np.zeros(len(ids) + 1, np.int64), np.empty(0, np.int32), None)
    return Graph(ids, np.argsort(ids).astype(np.int32), no_arcs, no_arcs, directed=True)


@pytest.mark.parametrize("largest", [60, 10_000, 2**63 - 1])
@pytest.mark.parametrize("repeated", [1, 20_000])
def test_rows_are_those_of_a_dictionary(largest, repeated, monkeypatch):
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1000)
    random = np.random.default_rng(largest % 1000)
    ids = random.permutation(np.unique(random.integers(0, largest, 50)))
    some = np.concatenate([ids, random.integers(0, largest, 50), EXTREMES])
    row = {number: place for place, number in enumerate(ids.tolist())}
    asked, expected = np.tile(some, repeated), [row.get(number, -1) for number in some.tolist()] * repeated
    graph = graph_of(ids)
    assert rows_of(graph, asked).tolist() == expected
    assert finder(graph)(asked).tolist() == expected


def test_a_graph_without_vertices_has_no_rows():
    assert rows_of(graph_of(np.empty(0, np.int64)), np.array([0, *EXTREMES])).tolist() == [-1] * 4


def test_few_ids_of_a_large_graph_are_searched_for():
    graph = graph_of(np.arange(1000))
    assert rows_of(graph, np.array([7, 1000])).tolist() == [7, -1]
    assert rows_of(graph, np.arange(1000)).tolist() == [*range(1000)]
