"""Products of a run against NetworkX and plain sums over its distances."""

import json
from fractions import Fraction
from pathlib import Path

import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.paths.certificate import RULES
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.products.closeness import ClosenessConfig
from pipeline.config.products.flows import FlowsConfig
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.config.products.nearest import NearestConfig
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig, BadInput, BadSource, ProofFailed, TooLarge
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.layout import lay_out
from pipeline.steps.products import flows, nearest, space, sweeping
from pipeline.steps.products.closeness import tabulate_closeness
from pipeline.steps.products.flows import tabulate_flows
from pipeline.steps.products.isochrones import polygons, tabulate_isochrones, tabulate_reached
from pipeline.steps.products.nearest import tabulate_nearest
from pipeline.steps.runtime import Runtime
from pipeline.store import manifest
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables
from tests.pipeline.products.conftest import FACILITIES, SIDE, network

GRAPH = network()
DISTANCES = dict(nx.all_pairs_dijkstra_path_length(GRAPH))


def rows_of(published, table):
    return pq.read_table(published.path / table).to_pylist()


def steps_of(published):
    """The stored edge list and graph of the run."""
    return [manifest.read(published.path.parents[1] / "steps" / name) for name in ("edges", "graph")]


def test_closeness(published):
    expected = nx.closeness_centrality(GRAPH.reverse(), distance="weight")
    found = rows_of(published, "closeness")
    assert [row["vertex"] for row in found] == sorted(GRAPH)
    for row in found:
        distances = DISTANCES[row["vertex"]].values()
        assert (row["reached"], row["total"], row["eccentricity"]) == (len(distances), sum(distances), max(distances))
        assert row["closeness"] == pytest.approx(expected[row["vertex"]], rel=1e-15)


def test_diameter_and_radius(published):
    facts = manifest.read(published.path.parents[1] / "steps" / "closeness").facts
    largest = GRAPH.subgraph(max(nx.strongly_connected_components(GRAPH), key=len))
    assert facts["diameter"] == max(max(found.values()) for found in DISTANCES.values())
    most = max(map(len, DISTANCES.values()))
    assert facts["radius"] == min(max(found.values()) for found in DISTANCES.values() if len(found) == most)
    assert facts["diameter"] == nx.diameter(largest, weight="weight")


def test_facilities_that_do_not_fit_into_memory_are_refused(published, tmp_path, monkeypatch):
    (tmp_path / "ids.csv").write_text("".join(f"{vertex}\n" for vertex in FACILITIES))
    asked, needed = NearestConfig(facilities=str(tmp_path / "ids.csv"), count=1000), 16 * len(FACILITIES) * len(GRAPH)
    monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda backend: needed - 1)
    refused = (
        rf"nearest: {len(FACILITIES)} facilities for each of {len(GRAPH)} vertices takes up to \d+ MiB of memory, and \d+ MiB"
    )
    with pytest.raises(TooLarge, match=refused):
        tabulate_nearest(*steps_of(published), asked, Runtime(tmp_path))
    monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda backend: needed)
    assert tabulate_nearest(*steps_of(published), asked, Runtime(tmp_path)).facts["rows"] == len(FACILITIES) * len(GRAPH)


def test_nearest(published):
    found = rows_of(published, "nearest")
    expected = []
    for vertex in sorted(GRAPH):
        near = sorted((DISTANCES[vertex][facility], facility) for facility in FACILITIES if facility in DISTANCES[vertex])[:3]
        for rank, (distance, facility) in enumerate(near + [(None, None)] * (3 - len(near)), 1):
            expected.append({"vertex": vertex, "rank": rank, "facility": facility, "distance": distance})
    assert found == expected


def test_the_largest_distance_is_nearer_than_none(tmp_path, monkeypatch):
    monkeypatch.setattr(nearest, "PER_TASK", 1)
    (tmp_path / "edges.csv").write_text(f"src,dst,weight\n1,9,{2**63 - 1}\n5,5,0\n")
    (tmp_path / "facilities.csv").write_text("5\n9\n")
    edges = ingest(GraphConfig(source=str(tmp_path / "edges.csv")), tmp_path)
    graph = lay_out(edges, LayoutConfig(), Runtime(tmp_path))
    made = tabulate_nearest(edges, graph, NearestConfig(facilities=str(tmp_path / "facilities.csv")), Runtime(tmp_path))
    assert pq.read_table(made.path).column("facility").to_pylist() == [9, 5, 9]


def test_isochrones(published):
    expected = []
    for source in sorted(GRAPH):
        for threshold in (0, 4, 7):
            near = [vertex for vertex, distance in DISTANCES[source].items() if distance <= threshold]
            people = sum(vertex % 5 for vertex in near if vertex < SIDE**2)
            jobs = float(sum(Fraction(vertex / 10) for vertex in near if vertex < SIDE**2 and vertex != 3))
            expected.append((source, threshold, len(near), people, jobs))
    assert [tuple(row.values()) for row in rows_of(published, "isochrones")] == expected
    described = {column["name"]: column for column in RunFacts.of(published).tables["isochrones"].columns}
    assert described["jobs"] == {
        "name": "jobs",
        "type": "double",
        "unit": "sum over the vertices within the threshold",
        "nulls": "never",
    }


def test_vertices_of_isochrones(published):
    near = {(source, vertex): distance for source in GRAPH for vertex, distance in DISTANCES[source].items() if distance <= 7}
    assert [tuple(row.values()) for row in rows_of(published, "isochrone_vertices")] == [
        (*key, near[key]) for key in sorted(near)
    ]


def test_vertices_of_isochrones_that_do_not_fit_are_refused(published, tmp_path, monkeypatch):
    edges, graph = steps_of(published)
    monkeypatch.setattr(space, "free_disk", lambda _: 100)
    with pytest.raises(TooLarge, match=r"^a table from 51 sources takes about .* and 100 bytes are free$"):
        tabulate_reached(edges, graph, IsochronesConfig(thresholds=[7]), Runtime(tmp_path))
    assert not [*tmp_path.iterdir()]


def test_flows_of_pairs(published):
    """All pairs are in tests/cpu/test_reductions.py."""
    flows = {(row["src"], row["dst"]): row["flow"] for row in rows_of(published, "flows")}
    for arc, flow in flows.items():
        assert arc in GRAPH.edges and 1 <= flow <= 4
    for vertex, due in ((0, 1), (48, -1), (6, 1), (42, -1), (24, 0)):
        net = sum(flow * ((src == vertex) - (dst == vertex)) for (src, dst), flow in flows.items())
        assert net == {0: 1, 48: -1, 6: 1, 42: -1}.get(vertex, 0) == due
    lengths = 2 * DISTANCES[0][48] + DISTANCES[6][42] + DISTANCES[48][0]
    assert sum(flow * GRAPH.edges[arc]["weight"] for arc, flow in flows.items()) == lengths


def test_polygons_hold_the_vertices_within_the_threshold(published):
    table = pq.read_table(published.path / "isochrone_polygons")
    assert json.loads(table.schema.metadata[b"geo"])["columns"]["geometry"]["geometry_types"] == ["MultiPolygon"]
    by_key = {(row["source"], row["threshold"]): row["geometry"] for row in table.to_pylist()}
    assert by_key[60, 7] is None and by_key[24, 0] is None and by_key[24, 7] is not None
    assert len(by_key) == 3 * len(GRAPH)


def test_polygons_of_many_sources_are_several_files(published, tmp_path, monkeypatch):
    """Each area may be as large as a table of vertices: all areas of a city do not fit into memory."""
    edges, graph = steps_of(published)
    monkeypatch.setattr(polygons, "_SOURCES_PER_FILE", 10)
    made = polygons.tabulate_polygons(edges, graph, IsochronesConfig(thresholds=[0, 4, 7]), Runtime(tmp_path))
    assert len(tables.files(made.path)) == 6 and made.facts["rows"] == 3 * len(GRAPH)
    assert pq.read_table(made.path).equals(pq.read_table(published.path / "isochrone_polygons"))


def test_isochrones_that_do_not_fit_into_memory_are_refused(published, tmp_path, monkeypatch):
    edges, graph = steps_of(published)
    asked, needed = IsochronesConfig(thresholds=[0, 4], sums=["people"]), 3 * 8 * 4 * 2 * len(GRAPH)
    monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda backend: needed - 1)
    with pytest.raises(TooLarge, match=r"^isochrones: a table of 102 rows takes up to .* of memory"):
        tabulate_isochrones(edges, graph, asked, Runtime(tmp_path))
    monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda backend: needed)
    assert tabulate_isochrones(edges, graph, asked, Runtime(tmp_path)).facts["rows"] == 102


def test_proofs_say_what_was_proved(published):
    proofs = RunFacts.of(published).proofs
    tables = {"closeness", "nearest", "isochrones", "isochrone_vertices", "isochrone_polygons", "flows"}
    assert {name for name, proof in proofs.items() if proof.holds} == {"wcc", *tables}
    for table in tables:
        assert proofs[table].rules[1:-1] == list(RULES)
        assert "of the" in proofs[table].rules[-1] and "second search" in proofs[table].rules[-1]


def test_the_report_shows_them(published):
    page = (published.path / "report.html").read_text()
    for words in ("Nearest facilities", "Closeness", "Isochrones", "Flows", "diameter", "Distance to the nearest facility"):
        assert words in page, words


def test_a_tree_that_a_second_search_contradicts_is_refused(published, tmp_path, monkeypatch):
    edges, graph = steps_of(published)

    def shifted(graph, row):
        found = sssp(graph, row)
        found.distance[-1] += 1
        return found

    sssp = sweeping.sssp
    monkeypatch.setattr(sweeping, "sssp", shifted)
    with pytest.raises(ProofFailed, match=r"the tree of vertex \d+ differs from the result of a second search"):
        tabulate_closeness(edges, graph, ClosenessConfig(), Runtime(tmp_path))
    assert not (tmp_path / "closeness").exists()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"sums": ["peeple"]}, "'peeple': the table of nodes has the columns people, jobs.*people"),
        ({"thresholds": [1.5]}, "thresholds: 1.5: the distances of this graph are integers up to 9223372036854775807"),
        ({"thresholds": [1, 2**63]}, r"thresholds: 9\.223372036854776e\+18: the distances of this graph are integers"),
    ],
)
def test_wrong_isochrones(published, tmp_path, asked, words):
    edges, graph = steps_of(published)
    with pytest.raises(BadConfig, match=words):
        tabulate_isochrones(edges, graph, IsochronesConfig(**{"thresholds": [1], **asked}), Runtime(tmp_path))


@pytest.mark.parametrize(
    ("asked", "error", "words", "read"),
    [
        ({"nearest": {"facilities": "none.csv"}}, BadInput, r"none\.csv: no such file", False),
        ({"flows": {"pairs": "none.parquet"}}, BadInput, r"none\.parquet: no such file", False),
        ({"closeness": {"sources": "some.csv"}}, BadSource, r"some\.csv: line 2: source 777 is not in the graph", True),
        ({"isochrones": {"thresholds": [1], "sums": ["jobs"]}}, BadConfig, "'jobs': the table of nodes is missing", True),
        ({"isochrones": {"thresholds": [1.5]}}, BadConfig, "thresholds: 1.5", True),
        ({"isochrones": {"thresholds": [1], "polygons": True}}, BadConfig, "the graph has no coordinates", True),
    ],
)
def test_wrong_products_are_refused_before_the_stages(tmp_path, monkeypatch, asked, error, words, read):
    """A missing file even before the graph is read."""
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text("src,dst\n1,2\n")
    Path("some.csv").write_text("1\n777\n")
    with pytest.raises(error, match=words):
        run(RunConfig(graph={"source": "edges.csv"}, output="out", stages=["wcc"], backend="cpu", **asked))
    assert [Path("out/steps", step).exists() for step in ("graph", "wcc")] == [read, False]


def test_an_attribute_beyond_int64_is_refused(tmp_path):
    (tmp_path / "edges.csv").write_text("src,dst\n1,2\n")
    pq.write_table(pa.table({"vertex": [1, 2], "people": pa.array([2**63, 0], pa.uint64())}), tmp_path / "nodes.parquet")
    names = {"source": str(tmp_path / "edges.csv"), "nodes": str(tmp_path / "nodes.parquet")}
    edges = ingest(GraphConfig(**names), tmp_path)
    graph, asked = lay_out(edges, LayoutConfig(), Runtime(tmp_path)), IsochronesConfig(thresholds=(1,), sums=("people",))
    with pytest.raises(BadConfig, match="'people': the sum of its values without their signs exceeds 9223372036854775807"):
        tabulate_isochrones(edges, graph, asked, Runtime(tmp_path))


@pytest.mark.parametrize(
    ("weight", "words"),
    [(2**62, "is 9223372036854775808, and 9223372036854775807 is the largest"), (1e308, "a sum exceeds the largest float64")],
)
def test_a_sum_of_distances_beyond_64_bits_is_refused(weight, words, tmp_path):
    (tmp_path / "edges.csv").write_text(f"src,dst,weight\n1,2,{weight}\n1,3,{weight}\n")
    edges = ingest(GraphConfig(source=str(tmp_path / "edges.csv")), tmp_path)
    graph = lay_out(edges, LayoutConfig(), Runtime(tmp_path))
    with pytest.raises(BadInput, match=f"closeness: .*{words}"):
        tabulate_closeness(edges, graph, ClosenessConfig(), Runtime(tmp_path))


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        ("src,dst\n", [0, 0, 0, 0]),
        ("src,dst\n5,5\n", [1, 0, 2, 1]),
        ("src,dst,weight\n1,2,0.1\n2,3,0.2\n3,1,0.0\n9,1,0.7\n", [4, 4, 8, 10]),  # 0.1 + 0.2 is within 0.3
    ],
    ids=["empty", "one vertex", "floats"],
)
def test_small_graphs(tmp_path, monkeypatch, lines, rows):
    """Swept and searched."""
    (tmp_path / "graph.csv").write_text(lines)
    asked = IsochronesConfig(thresholds=(0, 0.3) if "." in lines else (0, 2))
    edges = ingest(GraphConfig(source=str(tmp_path / "graph.csv")), tmp_path)
    graph, made = lay_out(edges, LayoutConfig(), Runtime(tmp_path)), []
    for worth in (1, 1000):
        monkeypatch.setattr(sweeping, "WORTH", worth)
        monkeypatch.setattr(flows, "_ENTRIES", 5)  # one tree at a time
        runtime = Runtime(tmp_path / str(worth))
        of_places = [step(edges, graph, asked, runtime) for step in (tabulate_isochrones, tabulate_reached)]
        of_all = [(tabulate_closeness, ClosenessConfig()), (tabulate_flows, FlowsConfig())]
        made.append([*(step(edges, graph, every, runtime) for step, every in of_all), *of_places])
        assert [product.facts["rows"] for product in made[-1]] == rows
    assert [one.manifest.files for one in made[0]] == [one.manifest.files for one in made[1]]


@pytest.mark.parametrize("unit", [1, 7])
def test_rows_do_not_depend_on_the_order_of_trees(tmp_path, monkeypatch, unit):
    arcs = "".join(f"{src},{dst},{data['weight'] / unit}\n" for src, dst, data in GRAPH.edges(data=True))
    (tmp_path / "g.csv").write_text(f"src,dst,weight\n{arcs}")
    asked = GraphConfig(source=str(tmp_path / "g.csv"), directed=True)
    edges = ingest(asked, tmp_path)
    graph = lay_out(edges, LayoutConfig(), Runtime(tmp_path))
    orders, found, nearness = [], [], sweeping.nearness
    monkeypatch.setattr(sweeping, "nearness", lambda hierarchy: orders.append(-nearness(hierarchy)) or orders[-1])
    for worth in (1, 1000):
        monkeypatch.setattr(sweeping, "WORTH", worth)
        found.append(tabulate_closeness(edges, graph, ClosenessConfig(), Runtime(tmp_path / str(worth))).manifest.files)
    assert found[0] == found[1]
    assert len(orders) == (unit == 7)  # only sums of floats with many decimals round


def test_a_pair_of_an_unknown_vertex(published, tmp_path):
    import pyarrow as pa

    pq.write_table(pa.table({"src": [0, 1], "dst": [1, 99]}), tmp_path / "trips.parquet")
    with pytest.raises(BadInput, match="row 1: dst 99 is not in the graph"):
        tabulate_flows(*steps_of(published), FlowsConfig(pairs=str(tmp_path / "trips.parquet")), Runtime(tmp_path))
