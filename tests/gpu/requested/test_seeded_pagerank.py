"""PageRank from seeds on the GPU: the bits of the CPU, whatever is computed beside it, and proved there; precise PageRank."""

# ruff: noqa: E402  (the imports below need CuPy)
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.answers import Scores
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from kernels.pagerank import pagerank
from kernels.pagerank.certificate import certify_pagerank
from kernels.pagerank.certificate.seeded import certify_rankings
from kernels.pagerank.parameters import ANYWHERE, Personalization
from kernels.pagerank.seeded import rankings
from kernels.pagerank.seeded.constants import CHUNK
from tests.gpu.inputs import poison, random_edges, with_wide_rows
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

HUBS = EdgeList("hubs", tuple((source, hub) for hub in (0, 1) for source in range(2 + hub, 2 * CHUNK + 40 + 800 * hub)))


def some(graph: Graph, count: int) -> list[Personalization]:
    """Seeds one by one, three weighted ones together, and none."""
    rows = np.random.default_rng(3).choice(graph.num_vertices, min(count, graph.num_vertices), replace=False)
    together = [Personalization(rows[:3].astype(np.int64), np.array([0.5, 0.25, 0.25]))] if len(rows) > 2 else []
    return [*map(Personalization.to, rows.tolist()), *together, ANYWHERE]


def check(graph: Graph, count: int = 5, **options: Any) -> None:
    asked, device = some(graph, count), to_device(graph)
    expected = rankings(graph, asked, **options)
    poison()
    found = rankings(device, asked, **options)
    for one, due in zip(found, expected, strict=True):
        assert one.scores.get().tobytes() == due.scores.tobytes()
        assert (one.iterations, one.change) == (due.iterations, due.change)
    assert [verdict.reason for verdict in certify_rankings(device, found, asked, **options)] == [""] * len(asked)
    wrong = [Scores(one.scores[::-1].copy()) for one in found]
    assert [verdict.holds for verdict in certify_rankings(device, wrong, asked, **options)] == [
        verdict.holds for verdict in certify_rankings(graph, [Scores(one.scores.get()) for one in wrong], asked, **options)
    ]


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if edges.ids], ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    check(graph_of(edges))


def test_rows_of_several_chunks_and_wide_rows() -> None:
    check(graph_of(HUBS), iterations=3)
    check(with_wide_rows(graph_of(random_edges(5, 400, 1500, True, 2))), iterations=4)


def test_more_rankings_than_are_computed_at_a_time() -> None:
    graph = graph_of(random_edges(1, 150, 900, True, 2))
    check(graph, 70, iterations=2)
    alone = rankings(to_device(graph), [some(graph, 70)[66]], iterations=2)
    assert alone[0].scores.get().tobytes() == rankings(graph, some(graph, 70), iterations=2)[66].scores.tobytes()


def test_other_dampings_and_tolerances() -> None:
    graph = graph_of(FIGURE_1)
    for damping, tolerance in ((0.5, 1e-9), (0.99, 1e-3), (0.0, 1e-6)):
        check(graph, damping=damping, tolerance=tolerance)


def test_a_small_tolerance_is_reached_without_floats() -> None:
    graph = graph_of(random_edges(2, 300, 2000, True, 2))
    expected, device = pagerank(graph, tolerance=1e-9), to_device(graph)
    found = pagerank(device, tolerance=1e-9)
    assert float(np.abs(found.scores.get() - expected.scores).sum()) <= 1e-9
    assert certify_pagerank(device, found, tolerance=1e-9).holds
    assert not certify_pagerank(device, pagerank(device, tolerance=1e-4), tolerance=1e-9).holds


@pytest.mark.parametrize("iterations", [0, 1, 10])
def test_a_fixed_number_of_iterations_is_proved(iterations: int) -> None:
    device = to_device(graph_of(random_edges(4, 3000, 20_000, True, 3)))
    found = pagerank(device, 0.9, iterations=iterations)
    assert certify_pagerank(device, found, 0.9, iterations=iterations).holds
    assert not certify_pagerank(device, found, 0.9, iterations=iterations + 1).holds
    assert not certify_pagerank(device, found, 0.89, iterations=iterations or 1).holds
