"""METIS graphs: those of the manual, random ones against a plain reader, and files that contradict themselves."""

import random

import networkx
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.ingest import ingest
from pipeline.tables import files as tables
from tests.faults.test_bad_input import refusing_at

# The graph of the manual of METIS: unweighted, with weights of edges, of both, and with a size and two weights for each vertex.
MANUAL = b"""% the graph of the manual
7 11
5 3 2
1 3 4
5 4 2 1
2 3 6 7
1 3 6
% a comment
5 4 7
6 4
"""
EDGES = b"7 11 001\n5 1 3 2 2 1\n1 1 3 2 4 1\n5 3 4 2 2 2 1 2\n2 1 3 2 6 2 7 5\n1 1 3 3 6 2\n5 2 4 2 7 6\n6 6 4 5\n"
VERTICES = EDGES.replace(b"001\n", b"11\n").replace(b"\n", b"\n4 ").removesuffix(b"4 ")
SEVERAL = b"7 11 110 2\n" + b"".join(b"9 8 7 %s\n" % line for line in MANUAL.splitlines()[2:] if line[:1] != b"%")
PAIRS = [(1, 5), (1, 3), (1, 2), (2, 3), (2, 4), (3, 5), (3, 4), (4, 6), (4, 7), (5, 6), (6, 7)]
WEIGHTS = [1, 2, 1, 2, 1, 3, 2, 2, 5, 2, 6]


def ingested(folder, content, name="g.graph", **options):
    (folder / name).write_bytes(content)
    return ingest(GraphConfig(source=str(folder / name), **options), folder / "work")


def rows_of(folder):
    return list(zip(*tables.read(folder.path).to_pydict().values(), strict=True))


@pytest.mark.parametrize(
    ("content", "weights", "stated"),
    [(MANUAL, None, None), (EDGES, WEIGHTS, None), (VERTICES, WEIGHTS, 7), (SEVERAL, None, 21)],
)
def test_the_graphs_of_the_manual_are_read(content, weights, stated, tmp_path):
    folder = ingested(tmp_path, content)
    assert rows_of(folder) == ([(*pair, w) for pair, w in zip(PAIRS, weights, strict=True)] if weights else PAIRS)
    facts = [folder.facts[name] for name in ("format", "directed", "weight", "first_id", "declared_vertices")]
    assert facts == ["metis", False, "int64" if weights else None, 1, 7]
    assert folder.facts.get("stated") == ({"weights and sizes of vertices": stated} if stated else None)


def test_weights_may_be_ignored_and_the_format_stated(tmp_path):
    folder = ingested(tmp_path, EDGES, "g.txt", format="metis", columns={"weight": False})
    assert rows_of(folder) == PAIRS


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_equal_those_of_a_plain_reader(seed, tmp_path):
    rng = random.Random(seed)
    graph = networkx.gnm_random_graph(60, rng.choice([0, 20, 300]), seed)
    lines = [f"{graph.number_of_nodes()} {graph.number_of_edges()}"]
    for vertex in sorted(graph):
        near = rng.sample([*graph[vertex]], len(graph[vertex]))
        lines += ["% x"] * (rng.random() < 0.2) + [rng.choice([" ", "\t", "  "]).join(str(other + 1) for other in near)]
    folder = ingested(tmp_path, "\r\n".join(lines).encode() + b"\r\n\r\n")
    assert {frozenset(pair) for pair in rows_of(folder)} == {frozenset((a + 1, b + 1)) for a, b in graph.edges}
    assert folder.facts["edges"] == graph.number_of_edges()


WRONG = {
    "one way": (MANUAL.replace(b"6 4\n", b"6\n"), 6, "vertex 4 has neighbour 7, but vertex 7 does not have neighbour 4"),
    "the other way": (MANUAL.replace(b"\n5 3 2\n", b"\n5 3\n"), 4, "vertex 2 has neighbour 1, but vertex 1 does not"),
    "twice": (MANUAL.replace(b"\n5 3 2\n", b"\n5 3 2 2\n"), 9, "more than the 11 that line 2 declares"),
    "weights differ": (
        EDGES.replace(b"6 6 4 5", b"6 6 4 4"),
        5,
        "4 to 7 has weight 5 on its line, 4 on that of vertex 7",
    ),
    "loop": (MANUAL.replace(b"6 4\n", b"6 7\n"), 10, "vertex 7 is its own neighbour"),
    "lines missing": (MANUAL.replace(b"7 11", b"8 11"), 2, "declares 8 vertices, but the file has 7 lines"),
    "lines over": (MANUAL + b"1\n", 11, "more than the 7 lines of vertices that line 2 declares"),
    "edges missing": (MANUAL.replace(b"7 11", b"7 12"), 2, "declares 12 edges, but the file has 11"),
    "neighbour over": (MANUAL.replace(b"6 4\n", b"6 8\n"), 10, "neighbour '8' is not in 1..7"),
    "neighbour 0": (MANUAL.replace(b"6 4\n", b"6 0\n"), 10, "neighbour '0' is not in 1..7"),
    "word": (MANUAL.replace(b"6 4\n", b"6 x\n"), 10, "'x' is not an integer"),
    "other form": (MANUAL.replace(b"6 4\n", b"6 04\n"), 10, "'04' is not an integer id, but another form of 4"),
    "no weight": (EDGES.replace(b"6 6 4 5", b"6 6 4"), 8, "expected neighbours with a weight each, found '6 6 4'"),
    "negative weight": (EDGES.replace(b"6 6 4 5", b"6 6 4 -5"), 8, "'-5' is not in 0.."),
    "no figures": (SEVERAL.replace(b"9 8 7 6 4\n", b"\n"), 8, "expected 3 figures of the vertex, then neighbours"),
    "form": (MANUAL.replace(b"7 11", b"7 11 2"), 2, 'expected the header "VERTICES EDGES [FORM [CONSTRAINTS]]"'),
    "constraints": (MANUAL.replace(b"7 11", b"7 11 1 2"), 2, "but FORM says none"),
    "ids over": (b"1 2\n3 4\n5 6\n", 2, 'state format = "snap"'),
    "edges": (b"9 20\n3 4\n5 6\n", 1, 'state format = "snap"'),
}


@pytest.mark.parametrize("name", WRONG)
def test_files_that_contradict_themselves_are_refused(name, tmp_path):
    content, line, reason = WRONG[name]
    with refusing_at(tmp_path / "g.graph", line, reason):
        ingested(tmp_path, content)
