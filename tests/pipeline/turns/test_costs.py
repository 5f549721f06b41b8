"""What turns and signals cost, and products on a graph whose turns matter, by a second router."""

import math

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pipeline.steps.products.commands import product_into
from pipeline.steps.turns import COPIES, MOVEMENTS
from pipeline.tables import files as tables
from tests.counts import NIGHTLY
from tests.ingest.osm.extracts import Node, Way, write
from tests.pipeline.turns.paths import streets_of
from tests.pipeline.turns.router import Router, town
from tests.pipeline.turns.test_restrictions import published, table_of

pytestmark = pytest.mark.sampled
COSTS = {"left": 7, "right": 2, "u_turn": 20}
IN_ARCS = {name: cost * 1000 for name, cost in COSTS.items()}
INFINITE = math.inf


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with costs and restrictions, a router for it, and the distances between all vertices."""
    folder = tmp_path_factory.mktemp("costs")
    nodes, ways, turns = town(5)
    extract = write(folder / "a.osm.pbf", nodes, ways, turns=turns)
    points = folder / "points.csv"
    points.write_text("vertex\n3\n12\n20\n")
    products = {
        "closeness": {}, "isochrones": {"thresholds": [20_000, 60_000], "direction": "to", "vertices": True},
        "nearest": {"facilities": str(points), "direction": "to", "count": 2}, "flows": {},
    }  # fmt: skip
    run = published(folder, extract, osm={"turns": COSTS}, sources=[1, 13], stages=["wcc", "sssp"], **products)
    router = Router(extract, streets_of(folder / "out" / "steps" / "edges"), IN_ARCS)
    vertices = {arc[end] for arc in router.arcs for end in (0, 1)}
    return run.path, {vertex: router.distances(vertex, 3) for vertex in vertices}, points


def test_stages_count_turns(made):
    path, due, _ = made
    assert table_of(path, "sssp") == {source: due[source] for source in (1, 13)}


def test_copies_of_a_crossing_are_neighbours(made):
    """They are read together; their order among each other, by which predecessors are chosen, is that of their arcs."""
    split = made[0].parents[1] / "steps" / "split"
    copies, rows = pq.read_table(split / COPIES), tables.read(split)
    copies = copies.filter(pc.invert(copies["end"])).sort_by("id")
    ids, of = copies["id"].to_numpy(), copies["vertex"].to_numpy()
    assert np.count_nonzero(np.diff(of)) + 1 == len(np.unique(of)) < len(of)
    src, dst, arc = rows["src"].to_numpy(), rows["dst"].to_numpy(), pq.read_table(split / MOVEMENTS)["arc"].to_numpy()
    begins = np.isin(dst, ids) & (np.isin(src, of))  # arcs from crossings, to the copies for one arc each
    ordered = np.lexsort((dst[begins], of[np.searchsorted(ids, dst[begins])]))
    arcs, heads = arc[begins][ordered], of[np.searchsorted(ids, dst[begins])][ordered]
    assert len(arcs) > len(np.unique(heads)) and (np.diff(arcs)[np.diff(heads) == 0] > 0).all()


def test_products_are_those_of_the_second_router(made):
    path, due, _ = made
    closeness = {row["vertex"]: row for row in tables.read(path / "closeness").to_pylist()}
    assert {vertex: row["total"] for vertex, row in closeness.items()} == {vertex: sum(of.values()) for vertex, of in due.items()}
    within = {(row["source"], row["vertex"], row["distance"]) for row in tables.read(path / "isochrone_vertices").to_pylist()}
    assert within == {(to, of, at) for of, to_all in due.items() for to, at in to_all.items() if at <= 60_000}
    nearest = {(row["vertex"], row["rank"]): row["distance"] for row in tables.read(path / "nearest").to_pylist()}
    for vertex, to_all in due.items():
        found = sorted(to_all.get(facility, INFINITE) for facility in (3, 12, 20))[:2]
        assert [nearest[vertex, rank] for rank in (1, 2)] == [None if at == INFINITE else at for at in found]


def test_flows_are_of_paths_arc_by_arc(made, tmp_path):
    """Each path over an arc adds its weight, so that all flows times weights are all distances, if turns cost nothing."""
    nodes, ways, turns = town(6)
    ways = [way for way in ways if way.nodes[0] != way.nodes[-1]]
    run = published(tmp_path, write(tmp_path / "a.osm.pbf", nodes, ways, turns=turns), stages=["wcc"], flows={}, closeness={})
    weights = {(row["src"], row["dst"]): row["weight"] for row in tables.read(run.path / "arcs").to_pylist()}
    flows = tables.read(run.path / "flows").to_pylist()
    closeness = tables.read(run.path / "closeness").to_pylist()
    assert sum(row["flow"] * weights[row["src"], row["dst"]] for row in flows) == sum(row["total"] for row in closeness)


def test_commands_on_the_run_obey_it(made, tmp_path):
    path, due, points = made
    output = str(path.parents[1])
    matrix = product_into("matrix", output, tmp_path / "matrix", sources=str(points), targets=str(points), backend="cpu")
    rows = {(row["source"], row["target"]): row["distance"] for row in tables.read(matrix.path).to_pylist()}
    assert rows == {(of, to): due[of].get(to) for of in (3, 12, 20) for to in (3, 12, 20)}
    trees = product_into("trees", output, tmp_path / "trees", sources=str(points), backend="cpu")
    assert table_of(trees.path.parent, "trees") == {of: due[of] for of in (3, 12, 20)}


def test_signals_cost_time_where_they_stop_traffic(tmp_path):
    nodes = [Node(1, 0, 0), Node(2, 0.001, 0, highway="traffic_signals"), Node(3, 0.002, 0), Node(4, 0.003, 0)]
    nodes[2].tags = {"highway": "traffic_signals", "traffic_signals:direction": "forward"}
    extract = write(tmp_path / "a.osm.pbf", nodes, [Way(1, [1, 2, 3, 4])])
    free = table_of(published(tmp_path, extract, stages=["wcc", "sssp"], sources=[1, 4]).path, "sssp")
    cost = table_of(
        published(tmp_path, extract, osm={"turns": {"signals": 8}}, stages=["wcc", "sssp"], sources=[1, 4]).path, "sssp"
    )
    assert (cost[1][4] - free[1][4], cost[4][1] - free[4][1]) == (16_000, 8_000)


@pytest.mark.skipif(not NIGHTLY, reason="starts workers twice, for what other tests show of the steps one by one")
@pytest.mark.parametrize("cluster", [{"workers": 2, "shards": 2}, {"workers": 2}], ids=["ranks", "workers"])
def test_the_tables_are_the_same_on_workers(tmp_path, cluster):
    nodes, ways, turns = town(5)
    extract, made = write(tmp_path / "a.osm.pbf", nodes, ways, turns=turns), []
    for name, more in (("here", {}), ("there", {"cluster": cluster})):
        (folder := tmp_path / name).mkdir()
        run = published(folder, extract, osm={"turns": COSTS}, sources=[1, 13], closeness={}, flows={}, **more)
        made.append([tables.read(run.path / table) for table in ("bfs", "sssp", "closeness", "flows")])
    assert made[0] == made[1]
