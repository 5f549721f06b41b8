"""The calls of pylibcugraph that compare PageRank, cores and triangles, with a stand-in of its documented signatures on NumPy.

It refuses what the library documents that it refuses, and answers by NetworkX.
"""

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from kernels.answers import Scores, TriangleCounts
from kernels.cores import Cores, cores
from kernels.graph import Array
from kernels.pagerank import pagerank
from kernels.pagerank.parameters import Personalization
from kernels.pagerank.seeded import rankings
from kernels.triangles import triangles
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

SOME = [edges for edges in NAMED_GRAPHS if 2 < len(edges.ids) <= 100 and edges.arcs()]


class SGGraph:
    """As `pylibcugraph.SGGraph`: arcs, and vertices without any."""

    def __init__(self, handle: Any, properties: Any, src: Array, dst: Array, *, weight_array: Array | None,
                 store_transposed: bool, renumber: bool, do_expensive_check: bool, vertices_array: Array) -> None:  # fmt: skip
        assert src.dtype == dst.dtype == vertices_array.dtype and renumber
        self.transposed, self.symmetric, self.weights = store_transposed, properties.is_symmetric, weight_array
        self.vertices, self.arcs = vertices_array, [*zip(src.tolist(), dst.tolist(), strict=True)]
        if self.symmetric:
            assert {(head, tail) for tail, head in self.arcs} == {*self.arcs} and len({*self.arcs}) == len(self.arcs)

    def networkx(self, kind: type) -> Any:
        plain = kind()
        plain.add_nodes_from(self.vertices.tolist())
        plain.add_edges_from(self.arcs)
        return plain


def answered(graph: SGGraph, values: dict[int, Any], dtype: Any) -> tuple[Array, Array]:
    """Vertices in an order of the library's own, and their values."""
    vertices = graph.vertices[::-1].copy()
    return vertices, np.array([values[vertex] for vertex in vertices.tolist()], dtype)


def triangle_count(resource_handle: Any, graph: SGGraph, start_list: Any, do_expensive_check: bool) -> Any:
    assert graph.symmetric and start_list is None
    return answered(graph, nx.triangles(graph.networkx(nx.Graph)), np.int32)


def core_number(resource_handle: Any, graph: SGGraph, degree_type: str, do_expensive_check: bool) -> Any:
    assert graph.symmetric
    times = {"incoming": 1, "outgoing": 1, "bidirectional": 2}[degree_type]
    return answered(graph, {v: times * core for v, core in nx.core_number(graph.networkx(nx.Graph)).items()}, np.int32)


def _iterated(graph: SGGraph, first: tuple[Array, Array], jumps: Array, alpha: float, steps: int) -> Any:
    assert graph.transposed and graph.weights is not None and 0 < alpha < 1 and steps > 0
    count, current = len(graph.vertices), np.zeros(len(graph.vertices))
    current[first[0]] = first[1] / first[1].sum()
    tails, heads = np.array(graph.arcs).T
    degrees = np.bincount(tails, minlength=count)
    for _ in range(steps):
        pulled = np.bincount(heads, (current / np.maximum(degrees, 1))[tails], count)
        current = alpha * pulled + (1 - alpha + alpha * current[degrees == 0].sum()) * jumps
    return (*answered(graph, dict(enumerate(current.tolist())), np.float64), False)


def pagerank_of(resource_handle: Any, graph: SGGraph, precomputed_vertex_out_weight_vertices: Any,
                precomputed_vertex_out_weight_sums: Any, initial_guess_vertices: Array, initial_guess_values: Array, alpha: float,
                epsilon: float, max_iterations: int, do_expensive_check: bool,
                fail_on_nonconvergence: bool = True) -> Any:  # fmt: skip
    assert not fail_on_nonconvergence and epsilon > 0
    equal = np.full(len(graph.vertices), 1 / len(graph.vertices))
    return _iterated(graph, (initial_guess_vertices, initial_guess_values), equal, alpha, max_iterations)


def personalized_pagerank(resource_handle: Any, graph: SGGraph, precomputed_vertex_out_weight_vertices: Any,
                          precomputed_vertex_out_weight_sums: Any, initial_guess_vertices: Array, initial_guess_values: Array,
                          personalization_vertices: Array, personalization_values: Array, alpha: float, epsilon: float,
                          max_iterations: int, do_expensive_check: bool, fail_on_nonconvergence: bool = True) -> Any:  # fmt: skip
    assert not fail_on_nonconvergence and epsilon > 0 and personalization_vertices.dtype == graph.vertices.dtype
    jumps = np.zeros(len(graph.vertices))
    jumps[personalization_vertices] = personalization_values / personalization_values.sum()
    return _iterated(graph, (initial_guess_vertices, initial_guess_values), jumps, alpha, max_iterations)


@pytest.fixture
def by_cugraph(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The oracles, with stand-ins of pylibcugraph and CuPy."""
    library = ModuleType("pylibcugraph")
    library.__dict__.update(
        ResourceHandle=object, GraphProperties=SimpleNamespace, SGGraph=SGGraph, core_number=core_number,
        triangle_count=triangle_count, pagerank=pagerank_of, personalized_pagerank=personalized_pagerank,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "pylibcugraph", library)
    monkeypatch.setitem(sys.modules, "cupy", np)
    monkeypatch.delitem(sys.modules, "kernels.oracle.by_cugraph", raising=False)
    from kernels.oracle import by_cugraph

    yield by_cugraph
    sys.modules.pop("kernels.oracle.by_cugraph", None)


@pytest.mark.parametrize("edges", SOME, ids=lambda edges: edges.name)
def test_the_library_is_called_as_documented(edges: EdgeList, by_cugraph: Any) -> None:
    graph = graph_of(edges, edges.ids[::-1])
    core, counts = cores(graph), triangles(graph)
    assert by_cugraph.cores(graph, core).reason == "" and by_cugraph.triangles(graph, counts).reason == ""
    assert "cuGraph's" in by_cugraph.cores(graph, Cores(core.core + 1)).reason
    assert "cuGraph's" in by_cugraph.triangles(graph, TriangleCounts(counts.triangles + 1)).reason
    together = Personalization(np.arange(2), np.array([0.75, 0.25]))
    for asked in ({}, {"damping": 0.5, "tolerance": 1e-8}, {"iterations": 3}, {"iterations": 0}):
        assert by_cugraph.pagerank(graph, pagerank(graph, **asked), **asked).reason == ""
        for one in (Personalization.to(1), together):
            (scores,) = rankings(graph, [one], **asked)
            assert by_cugraph.pagerank(graph, scores, personalization=one, **asked).reason == ""
            wrong = Scores(np.roll(scores.scores, 1) + 0.01)
            assert "cuGraph's" in by_cugraph.pagerank(graph, wrong, personalization=one, **asked).reason
