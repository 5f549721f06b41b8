"""The benchmark Graphalytics: outputs that are valid by NetworkX's values, outputs that are not, and wrong properties."""

import json
import lzma
import random
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from kernels.cpu import parallel
from kernels.registry import BY_NAME
from pipeline.config.products import GraphOptions
from pipeline.errors import BadInput
from pipeline.graphalytics.benchmark import benchmark
from pipeline.graphalytics.outputs import read_reference
from pipeline.graphalytics.properties import read_properties
from pipeline.graphalytics.validation import UNREACHED, why_invalid

LISTED = [name for name in ("bfs", "pr", "wcc", "cdlp", "lcc", "sssp") if name != "cdlp" or "cdlp" in BY_NAME]
SOURCE, ROUNDS, DAMPING = 1003, 4, 0.8


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def made(directed: bool) -> nx.Graph:
    """A graph of sparse ids, parts that are not reached, vertices without arcs, and ties between labels."""
    draw, graph = random.Random(4), nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(1000, 1240, 3))
    for _ in range(170):
        src, dst = (1000 + 3 * int(70 * draw.random() ** 1.5) for _ in range(2))
        if src != dst:
            graph.add_edge(src, dst, weight=round(draw.random(), 3))
    return graph


def propagated(graph: nx.Graph) -> dict[int, int]:
    labels = {vertex: vertex for vertex in graph}
    for _ in range(ROUNDS):
        before = labels
        labels = {}
        for vertex in graph:
            near = [*graph.successors(vertex), *graph.predecessors(vertex)] if graph.is_directed() else [*graph[vertex]]
            counts = Counter(before[other] for other in near)
            most = max(counts.values(), default=0)
            labels[vertex] = min((label for label in counts if counts[label] == most), default=before[vertex])
    return labels


def ranks(graph: nx.Graph) -> dict[int, float]:
    arcs = graph.to_directed()
    scores = dict.fromkeys(arcs, 1 / len(arcs))
    for _ in range(ROUNDS):
        sinks = sum(scores[vertex] for vertex in arcs if not arcs.out_degree(vertex))
        scores = {
            vertex: (1 - DAMPING) / len(arcs)
            + DAMPING * (sum(scores[other] / arcs.out_degree(other) for other in arcs.predecessors(vertex)) + sinks / len(arcs))
            for vertex in arcs
        }
    return scores


def expected(graph: nx.Graph) -> dict[str, dict[int, object]]:
    hops = nx.single_source_shortest_path_length(graph, SOURCE)
    sums = nx.single_source_dijkstra_path_length(graph, SOURCE)
    parts = nx.connected_components(graph.to_undirected())
    near, arcs = graph.to_undirected(), graph.to_directed()
    coefficients = {}
    for vertex in graph:
        degree = len(near[vertex])
        coefficients[vertex] = arcs.subgraph(near[vertex]).number_of_edges() / (degree * (degree - 1)) if degree > 1 else 0.0
    return {
        "bfs": {vertex: hops.get(vertex, UNREACHED) for vertex in graph},
        "sssp": {vertex: sums.get(vertex, "Infinity") for vertex in graph},
        "wcc": {vertex: -max(part) for part in parts for vertex in part},
        "cdlp": propagated(graph),
        "pr": ranks(graph),
        "lcc": coefficients,
    }


def write(folder: Path, graph: nx.Graph, more: str = "") -> Path:
    folder.mkdir()
    (folder / "small.v.xz").write_bytes(lzma.compress("".join(f"{vertex}\n" for vertex in graph).encode()))
    lines = (f"{src} {dst} {weight}\n" for src, dst, weight in graph.edges(data="weight"))
    (folder / "small.e").write_text("".join(lines))
    (folder / "small.properties").write_text(
        "# a graph of the tests\n\n"
        + "".join(
            f"graph.small.{line}\n"
            for line in (
                "vertex-file = small.v",
                "edge-file = small.e",
                f"meta.vertices = {len(graph)}",
                f"meta.edges = {graph.number_of_edges()}",
                f"directed = {str(graph.is_directed()).lower()}",
                "edge-properties.names = weight",
                "edge-properties.types = real",
                f"algorithms = {', '.join(LISTED)}",
                f"bfs.source-vertex = {SOURCE}",
                f"cdlp.max-iterations = {ROUNDS}",
                f"pr.damping-factor = {DAMPING}",
                f"pr.num-iterations = {ROUNDS}",
                "sssp.weight-property = weight",
                f"sssp.source-vertex = {SOURCE}",
            )
        )
        + more
    )
    for name, values in expected(graph).items():
        (folder / f"small-{name.upper()}").write_text("".join(f"{vertex} {value}\n" for vertex, value in values.items()))
    return folder


@pytest.mark.parametrize("directed", [False, True])
def test_outputs_are_those_of_networkx(tmp_path, directed):
    graph = made(directed)
    folder = write(tmp_path / "graph", graph)
    found = benchmark(folder, tmp_path / "out", GraphOptions(backend="cpu"), runs=2)
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == found
    assert {name: of["valid"] for name, of in found["algorithms"].items()} == dict.fromkeys(LISTED, True)
    assert {name: of["proved"] for name, of in found["algorithms"].items()} == dict.fromkeys(LISTED, True)
    for of in found["algorithms"].values():
        assert len(of["processing"]) == len(of["makespan"]) == 2
        assert of["evps"] == pytest.approx((len(graph) + graph.number_of_edges()) / min(of["processing"]), rel=1e-3)
    truth = expected(graph)
    for name in ("bfs", "cdlp"):
        if name in LISTED:
            lines = (tmp_path / "out" / f"small-{name.upper()}").read_text().split()
            assert dict(zip(map(int, lines[::2]), map(int, lines[1::2]), strict=True)) == truth[name]
    assert "Infinity" in (tmp_path / "out" / "small-SSSP").read_text()


def test_the_first_difference_from_a_reference_is_stated(tmp_path):
    folder = write(tmp_path / "graph", made(True))
    file = folder / "small-BFS"
    file.write_text(file.read_text().replace(f"{SOURCE} 0\n", f"{SOURCE} 1\n"))
    (folder / "small-LCC").unlink()
    found = benchmark(folder, tmp_path / "out", GraphOptions(backend="cpu"))["algorithms"]
    assert not found["bfs"]["valid"]
    assert found["bfs"]["reason"] == f"vertex {SOURCE} is 0, not 1, as in the reference"
    assert found["lcc"]["valid"] is None
    assert found["wcc"]["valid"]


@pytest.mark.parametrize(
    ("algorithm", "wanted", "own", "reason"),
    [
        ("bfs", [0, 1], [0, 1], ""),
        ("cdlp", [5, 5], [5, 6], "vertex 2 is 6, not 5"),
        ("wcc", [7, 7], [1, 1], ""),
        ("wcc", [7, 8], [1, 1], "vertex 2 is in another set"),
        ("wcc", [7, 7], [1, 2], "vertex 2 is in another set"),
        ("pr", [1.0, 2.0], [1.0001, 1.9999], ""),
        ("pr", [1.0, 2.0], [1.00011, 2.0], "vertex 1 is 1.00011"),
        ("lcc", [0.0, 1.0], [1e-12, 1.0], "vertex 1 is 1e-12, not 0.0"),
        ("sssp", [0.0, np.inf], [0.0, np.inf], ""),
        ("sssp", [0.0, np.inf], [0.0, 9.0], "vertex 2 is 9.0, not inf"),
        ("sssp", [0.0, 9.0], [0.0, np.inf], "vertex 2 is inf, not 9.0"),
        ("sssp", [0.0, 9.0], [0.0, np.nan], "vertex 2 is nan"),
    ],
)
def test_the_rules_of_validation(algorithm, wanted, own, reason):
    ids = np.array([1, 2])
    assert why_invalid(algorithm, (ids, np.array(wanted)), (ids, np.array(own))).startswith(reason)
    assert bool(reason) == bool(why_invalid(algorithm, (ids, np.array(wanted)), (ids, np.array(own))))


@pytest.mark.parametrize("far", [0, 2**62, -(2**62)])
def test_sets_of_any_labels_are_compared(far, monkeypatch):
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    ids, wanted = np.arange(100), np.arange(100) % 7
    for own, reason in (
        ((wanted * 3) % 7 + far, ""),
        (np.where(wanted == 2, far - 5, -3 * wanted), ""),
        (np.where(ids == 71, far - 9, wanted + far), "vertex 71 is in another set"),
        (wanted // 6 + far, "vertex 1 is in another set"),
    ):
        for some, others in ((wanted, own), (own, wanted)):
            assert why_invalid("wcc", (ids, some), (ids, others)).startswith(reason)
            assert bool(reason) == bool(why_invalid("wcc", (ids, some), (ids, others)))


@pytest.mark.parametrize(("ids", "own"), [([1, 2], [1]), ([1], [1, 2]), ([1, 2], [1, 3]), ([1, 1], [1, 1])])
def test_both_have_the_same_vertices_each_once(ids, own):
    zeros = [np.zeros(len(vertices), np.int64) for vertices in (ids, own)]
    assert why_invalid("bfs", (np.array(ids), zeros[0]), (np.array(own), zeros[1]))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("directed = true", "directed = yes", r"line 7: graph.small.directed = yes: is neither true nor false"),
        ("algorithms = bfs", "algorithms = bfss, bfs", "bfss is not one of bfs, cdlp, lcc, pr, sssp, wcc"),
        (f"bfs.source-vertex = {SOURCE}", "bfs.source-vertex = a", "is not an integer"),
        (f"bfs.source-vertex = {SOURCE}", "bfs.start = 1", "graph.small.bfs.start = 1: is not a key of the benchmark"),
        (f"graph.small.pr.damping-factor = {DAMPING}\n", "", "graph.small.pr.damping-factor is missing"),
        ("sssp.weight-property = weight", "sssp.weight-property = cost", "is not one of edge-properties.names: weight"),
        ("edge-file = small.e", "edge-file = other.e", "there is no such file beside, nor compressed"),
        ("vertex-file = small.v", "vertex-file", "line 3: 'graph.small.vertex-file' is not KEY = VALUE"),
    ],
)
def test_wrong_properties_are_refused(tmp_path, old, new, reason):
    folder = write(tmp_path / "graph", made(True))
    file = folder / "small.properties"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(BadInput, match=reason):
        read_properties(folder)


def test_other_numbers_than_stated_and_other_lines_are_refused(tmp_path):
    graph = made(False)
    folder = write(tmp_path / "graph", graph)
    file = folder / "small.properties"
    file.write_text(file.read_text().replace(f"meta.edges = {graph.number_of_edges()}", "meta.edges = 7"))
    with pytest.raises(BadInput, match=f"has {graph.number_of_edges()} edges, and meta.edges states 7"):
        benchmark(folder, tmp_path / "out", GraphOptions(backend="cpu"))
    (folder / "small-BFS").write_text("1 0\n2 x\n")
    with pytest.raises(BadInput, match="line 2: '2 x' is not a vertex and its value"):
        read_reference(folder / "small-BFS", "bfs")
    (folder / "second.properties").write_text("")
    with pytest.raises(BadInput, match="has 2 files"):
        read_properties(folder)


def test_values_behind_the_ids_of_vertices_are_read(tmp_path):
    folder = write(tmp_path / "graph", made(False))
    text = lzma.decompress((folder / "small.v.xz").read_bytes()).decode()
    (folder / "small.v.xz").unlink()
    (folder / "small.v").write_text(text.replace("\n", " 7 0.5\n"))
    found = benchmark(folder, tmp_path / "out", GraphOptions(backend="cpu"))["algorithms"]
    assert all(of["valid"] for of in found.values())
