"""The answer of a run to a question, compared with that of NetworkX."""

import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.errors import GraphmillError
from pipeline.run import run
from tests.pipeline.reach.inputs import write_pairs
from tests.recorded.conventions import Convention
from tests.recorded.questions import MOST_SOURCES, Question, Unasked

Rows = list[dict[str, Any]]
close = pytest.approx


def replay(question: Question, folder: Path) -> frozenset[Convention]:
    """Ask NetworkX and a run, and compare: the conventions by which they differ. Raises Unasked where NetworkX has no answer."""
    vertices, edges = question.stated()
    weights = [weight for *_, weight in edges if weight is not None]
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        with pytest.raises(GraphmillError, match=r"line \d+: weight '.*' is not in 0"):
            _published(question, folder)
        return question.conventions | {Convention.WEIGHTS}
    expected = _expected(question)
    if not vertices and question.family == "paths":
        return question.conventions  # a search needs a source
    try:
        tables = _published(question, folder)
    except GraphmillError as error:
        if question.family != "betweenness" or 0 not in weights or "has no length" not in str(error):
            raise
        return question.conventions | {Convention.NO_LENGTH}
    _COMPARED[question.family](question, expected, tables)
    return question.conventions


def _expected(question: Question) -> Any:
    """What NetworkX answers."""
    graph, weight = question.graph, question.weight
    try:
        match question.family:
            case "pagerank":
                return nx.pagerank(graph, weight=None, tol=1e-12, max_iter=10_000)
            case "betweenness":
                return nx.betweenness_centrality(graph, normalized=False, weight=weight)
            case "closeness":
                return nx.closeness_centrality(graph.reverse() if graph.is_directed() else graph, distance=weight)
            case "wcc":
                return [*(nx.weakly_connected_components if graph.is_directed() else nx.connected_components)(graph)]
            case "scc":
                return [*nx.strongly_connected_components(graph)]
            case "mst":
                return [*nx.minimum_spanning_edges(graph, weight=weight, keys=False)]
            case "max_flow":
                return nx.maximum_flow_value(graph, *question.ends, capacity=weight)
    except (nx.NetworkXException, ValueError, TypeError, KeyError) as error:
        raise Unasked(f"NetworkX raises {type(error).__name__}") from error
    return None


def _published(question: Question, folder: Path) -> dict[str, Rows]:
    """The tables of a run; Matrix Market declares vertices without edges."""
    vertices, edges = question.stated()
    integers = all(isinstance(weight, int) for *_, weight in edges)
    kind = "pattern" if question.weight is None else "integer" if integers else "real"
    number_of = int if integers else float
    texts = ["" if weight is None else f" {number_of(weight)!r}" for *_, weight in edges]
    lines = [f"{src} {dst}{text}" for (src, dst, _), text in zip(edges, texts, strict=True)]
    header = f"%%MatrixMarket matrix coordinate {kind} general\n{len(vertices)} {len(vertices)} {len(edges)}\n"
    folder.mkdir()
    (folder / "graph.mtx").write_text(header + "".join(f"{line}\n" for line in lines), "utf-8")
    numbers = {vertex: place for place, vertex in enumerate(vertices, 1)}
    stage = question.family
    asked: dict[str, Any] = {"output": folder / "out", "backend": "cpu", "expect": {"empty": True}}
    asked["layout"] = {"self_loops": "keep"}
    if stage == "paths":
        stage = "bfs" if question.weight is None else "sssp"
        asked["sources"] = [numbers[vertex] for vertex in question.ends or vertices[:MOST_SOURCES]]
    elif stage == "max_flow":
        src, dst = (numbers[end] for end in question.ends)
        asked["max_flow"] = {"pairs": write_pairs(folder / "pairs.parquet", [src], [dst])}
    elif stage == "closeness":
        stage, asked["closeness"] = "wcc", {}
    graph = {"source": str(folder / "graph.mtx"), "directed": question.graph.is_directed(), "parallel": "keep"}
    published = run(run_config("test", graph=graph, stages=[stage], **asked))
    return {path.name: pq.read_table(path).to_pylist() for path in published.path.iterdir() if path.is_dir()}


def _values(question: Question, expected: dict[Any, float], rows: Rows) -> None:
    found = {vertex: row[question.family] for vertex, row in zip(question.graph, rows, strict=True)}
    assert found == close(expected, rel=1e-9, abs=1e-9)


def _scores(question: Question, expected: dict[Any, float], tables: dict[str, Rows]) -> None:
    found = [row["pagerank"] for row in tables["pagerank"]]
    scores = [expected[vertex] for vertex in question.graph]
    assert found == close(scores, rel=0.02)
    assert sum(abs(one - other) for one, other in zip(found, scores, strict=True)) < 2e-5


def _parts(question: Question, expected: list[set[Any]], tables: dict[str, Rows]) -> None:
    parts, vertices = defaultdict(set), [*question.graph]
    for row in tables[question.family]:
        parts[row["labels"]].add(vertices[row["vertex"] - 1])
    assert sorted(map(sorted_texts, parts.values())) == sorted(map(sorted_texts, expected))


def sorted_texts(part: set[Any]) -> list[str]:
    return sorted(map(repr, part))


def _forest(question: Question, expected: list[tuple[Any, ...]], tables: dict[str, Rows]) -> None:
    vertices, rows = [*question.graph], tables["mst"]
    lightest: dict[frozenset[int], Any] = {}
    for src, dst, weight in question.stated()[1]:
        pair, own = frozenset((src, dst)), 1 if weight is None else weight
        lightest[pair] = min(own, lightest.get(pair, own))
    assert all(lightest[frozenset((row["src"], row["dst"]))] == row["weight"] for row in rows)
    chosen = nx.Graph([(vertices[row["src"] - 1], vertices[row["dst"] - 1]) for row in rows])
    assert len(chosen.edges) == len(rows) == len(expected) and (not rows or nx.is_forest(chosen))
    weights = [data.get(question.weight, 1) for *_, data in expected]
    assert math.fsum(row["weight"] for row in rows) == close(math.fsum(weights))


def _flow(question: Question, expected: float, tables: dict[str, Rows]) -> None:
    (row,), (_, edges) = tables["max_flow"], question.stated()
    assert row["flow"] == close(expected)
    cut = {*zip(row["cut_src"], row["cut_dst"], strict=True)}
    arcs = [*edges, *(() if question.graph.is_directed() else ((dst, src, weight) for src, dst, weight in edges))]
    assert sum(weight for src, dst, weight in arcs if (src, dst) in cut) == close(expected)
    left = nx.DiGraph([(src, dst) for src, dst, weight in arcs if (src, dst) not in cut and weight > 0])
    left.add_nodes_from((row["src"], row["dst"]))
    assert not nx.has_path(left, row["src"], row["dst"])


def _paths(question: Question, _: None, tables: dict[str, Rows]) -> None:
    vertices, lightest = [*question.graph], {}
    for src, dst, weight in question.stated()[1]:
        for pair in [(src, dst)] if question.graph.is_directed() else [(src, dst), (dst, src)]:
            own = 1 if weight is None else weight
            lightest[pair] = min(own, lightest.get(pair, own))
    rows = {(row["source"], row["vertex"]): row for row in tables["bfs" if question.weight is None else "sssp"]}
    for source in {source for source, _ in rows}:
        start = vertices[source - 1]
        if question.weight is None:
            expected = nx.single_source_shortest_path_length(question.graph, start)
        else:
            expected = nx.single_source_dijkstra_path_length(question.graph, start, weight=question.weight)
        for number, vertex in enumerate(vertices, 1):
            row = rows[source, number]
            assert row["distance"] == (close(expected[vertex], rel=1e-12) if vertex in expected else None), (start, vertex)
            if row["predecessor"] is not None:
                before = rows[source, row["predecessor"]]["distance"]
                assert before + lightest[row["predecessor"], number] == close(row["distance"], rel=1e-12)


_COMPARED: dict[str, Callable[[Question, Any, dict[str, Rows]], None]] = {
    "pagerank": _scores,
    "betweenness": lambda question, expected, tables: _values(question, expected, tables["betweenness"]),
    "closeness": lambda question, expected, tables: _values(question, expected, tables["closeness"]),
    "wcc": _parts,
    "scc": _parts,
    "mst": _forest,
    "max_flow": _flow,
    "paths": _paths,
}
