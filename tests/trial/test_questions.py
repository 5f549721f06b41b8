"""The questions of docs/tables.md about roads, on a small graph, answered in another way, too; test_docs runs the page itself."""

import re

import duckdb
import networkx
import numpy as np
import pytest

from pipeline.config.loading import run_config
from pipeline.run import run
from tests.project.docs import ROOT, below

SIDE = 12
FAR = SIDE * SIDE  # the last crossing


@pytest.fixture(scope="module")
def roads(tmp_path_factory):
    """A grid of streets with random weights and 101 crossings apart, in the place of New York."""
    folder, random = tmp_path_factory.mktemp("questions"), np.random.default_rng(3)
    grid = networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(SIDE, SIDE), 1)
    grid.add_edges_from((FAR + number, FAR + number + 1) for number in range(1, 101))
    for src, dst in grid.edges:
        grid[src][dst]["weight"] = int(random.integers(1, 30_000))
    arcs = [(*pair, weight) for src, dst, weight in grid.edges(data="weight") for pair in ((src, dst), (dst, src))]
    (folder / "g.gr").write_text(f"p sp {len(grid)} {len(arcs)}\n" + "".join(f"a {s} {d} {w}\n" for s, d, w in arcs))
    places = "".join(f"v {vertex} {-74_000_000 + vertex} {40_000_000 + vertex}\n" for vertex in grid)
    (folder / "g.co").write_text(f"p aux sp co {len(grid)}\n{places}")
    graph = {"source": str(folder / "g.gr"), "coordinates": str(folder / "g.co")}
    out = folder / "out" / "new-york"
    run(run_config("test", graph=graph, output=out, sources=[1], stages=["sssp", "mst", "wcc"]))
    return folder, grid


def ask(folder, number):
    """The rows that query `number` of the section gives, with the last crossing in the place of 1500."""
    query = below(ROOT / "docs" / "tables.md", "Four questions about roads", "sql")[number]
    return duckdb.sql(re.sub(r"\b1500\b", str(FAR), query).replace("'out/", f"'{folder}/out/")).fetchall()


def test_the_farthest_crossings_have_coordinates(roads):
    folder, grid = roads
    distance = networkx.single_source_dijkstra_path_length(grid, 1)
    expected = sorted(distance, key=lambda vertex: (-distance[vertex], vertex))[:10]
    found = ask(folder, 0)
    assert [(row[0], row[1]) for row in found] == [(vertex, distance[vertex]) for vertex in expected]
    assert [row[2:] for row in found] == [pytest.approx((-74 + vertex / 1e6, 40 + vertex / 1e6)) for vertex in expected]


def test_everything_within_ten_minutes(roads):
    folder, grid = roads
    near = networkx.single_source_dijkstra_path_length(grid, 1, cutoff=50_000)
    found = ask(folder, 1)
    assert {row[0] for row in found} == set(near) and 1 < len(found) < FAR
    assert max(row[1] for row in found) <= 10


def test_components_above_100_vertices(roads):
    folder, grid = roads
    assert ask(folder, 2) == [(sum(len(part) > 100 for part in networkx.connected_components(grid)),)] == [(2,)]


def test_the_heaviest_road_between_two_crossings(roads):
    folder, grid = roads
    ((vertex, parent, weight),) = ask(folder, 3)
    spanning = networkx.minimum_spanning_tree(grid)
    assert weight == max(spanning[a][b]["weight"] for a, b in networkx.utils.pairwise(networkx.shortest_path(spanning, 1, FAR)))
    assert grid[vertex][parent]["weight"] == weight
