"""Random graphs: the edges of a slow reader of their definition, in pieces of any size, and the shape of social graphs."""

from itertools import islice

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest

from kernels.generators import ends, graph500, weights
from kernels.generators.distinct import distinct_edges
from kernels.generators.social import social
from pipeline.config.products import GraphOptions
from pipeline.errors import BadConfig
from pipeline.graphalytics import generated
from pipeline.graphalytics.benchmark import benchmark
from pipeline.graphalytics.generated import GeneratedFiles, GenerateOptions, parts
from pipeline.graphalytics.outputs import read_reference

WORD = 1 << 64


def splitmix64(state):
    """Its outputs, from the first one on."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) % WORD
        word = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
        yield word ^ (word >> 31)


def scrambled(row, scale, seed):
    """As `scramble` of Graph500's generator."""
    other, one = islice(splitmix64((seed - 2 * 0x9E3779B97F4A7C15) % WORD), 2)
    row = int(f"{(row + one + other) * (one | 0x4519840211493211) % WORD:064b}"[::-1], 2) >> (64 - scale)
    return int(f"{row * (other | 0x3050852102C843A5) % WORD:064b}"[::-1], 2) >> (64 - scale)


def kronecker(scale, seed):
    """All edges of Graph500's graph, in order."""
    words = splitmix64(seed)
    for _ in range(16 << scale):
        src = dst = 0
        for word in [*islice(words, 64)][: (scale + 1) // 2]:
            for place in (word % 2**32, word >> 32):
                quadrant = sum(place >= limit for limit in (0.57 * 2**32, 0.76 * 2**32, 0.95 * 2**32))
                src, dst = 2 * src + quadrant // 2, 2 * dst + quadrant % 2
        if scale % 2:  # half of the last word is not used
            src, dst = src // 2, dst // 2
        yield scrambled(src, scale, seed), scrambled(dst, scale, seed)


def files_of(name, out):
    return GeneratedFiles(name, GenerateOptions(out=out, backend="cpu"))


def simple(edges):
    return sorted({(min(pair), max(pair)) for pair in edges if pair[0] != pair[1]})


def all_of(drawing, piece):
    pieces = [*distinct_edges(drawing, piece=piece)]
    return [pair for src, dst in pieces for pair in zip(src.tolist(), dst.tolist(), strict=True)], len(pieces)


@pytest.mark.parametrize(("scale", "seed"), [(1, 0), (5, 1), (6, WORD - 3)])
def test_the_edges_of_graph500(scale, seed):
    drawing, expected = graph500(scale, seed), [*kronecker(scale, seed)]
    src, dst = ends(drawing, 0, drawing.num_edges)
    assert [*zip(src.tolist(), dst.tolist(), strict=True)] == expected
    some = ends(drawing, 5, 9)
    assert [*zip(*map(np.ndarray.tolist, some), strict=True)] == expected[5:9]
    for piece in (1, 100, 1 << 26):
        edges, pieces = all_of(drawing, piece)
        assert edges == simple(expected)
        assert scale < 5 or (pieces > 1) == (piece < 1 << 26)


def test_ids_of_graph500_are_permuted():
    ids = {scrambled(row, 10, 7) for row in range(1 << 10)}
    assert ids == set(range(1 << 10))


@pytest.mark.parametrize("options", [(600, 12.0, 2.5, 0.0), (3000, 16.0, 2.2, 0.5), (1500, 40.0, 3.0, 0.3)])
def test_a_social_graph_has_the_degrees_and_coefficients_that_are_asked_for(options):
    vertices, degree, exponent, clustering = options
    drawing = social(vertices, 3, degree, exponent, clustering)
    edges, _ = all_of(drawing, 1 << 26)
    assert edges == all_of(drawing, 1000)[0]
    assert edges != all_of(social(vertices, 4, degree, exponent, clustering), 1 << 26)[0]
    graph = nx.Graph(edges)
    assert 0.97 * vertices < len(graph) <= vertices
    assert set(graph) <= set(range(vertices))
    assert 2 * graph.number_of_edges() / vertices == pytest.approx(degree, rel=0.1)
    assert nx.average_clustering(graph) == pytest.approx(clustering, abs=0.08)
    degrees = np.array([number for _, number in graph.degree()])
    tail = degrees[degrees >= degree]
    # the maximum likelihood of a power law (Clauset, Shalizi, Newman, 2009); edges are drawn, so it is near only
    assert 1 + len(tail) / np.log(tail / (degree - 0.5)).sum() == pytest.approx(exponent, abs=0.5)
    assert tail.max() > 4 * degree


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"vertices": 1}, "vertices 1 is not in 2..2.14748e+09"),
        ({"vertices": 100, "degree": 30}, "degree 30 is not in 1..25"),
        ({"vertices": 1000, "exponent": 1}, "exponent 1 is not in 1.5..10"),
        ({"vertices": 1000, "clustering": float("nan")}, "clustering nan is not in 0..0.9"),
    ],
)
def test_numbers_out_of_range_are_refused(options, reason):
    with pytest.raises(ValueError, match=reason.replace("+", r"\+")):
        social(**options)
    for scale in (0, 32):
        with pytest.raises(ValueError, match=r"is not in 1\.\.31"):
            graph500(scale)


def test_weights_depend_on_the_ends_in_either_direction():
    src, dst = np.arange(3000), np.arange(3000)[::-1].copy()
    drawn = weights(src, dst, 5)
    assert drawn.tolist() == weights(dst, src, 5).tolist() != weights(src, dst, 6).tolist()
    assert (drawn.min(), drawn.max()) == (1, 999)
    assert abs(drawn.mean() - 500) < 40


def test_a_generated_graph_runs_as_a_graph_of_the_benchmark(tmp_path, monkeypatch):
    monkeypatch.setattr(generated, "PART", 700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder, drawing = tmp_path / "graphs" / "social", social(300, degree=12)
    written = files_of("social", folder).write(drawing, True)
    files = sorted((folder / "social.e.parquet").iterdir())
    assert [pq.read_metadata(file).num_rows for file in files] == [700, 700, written.edges - 1400]
    table = pq.read_table(folder / "social.e.parquet")
    edges = [*zip(*(table[name].to_pylist() for name in ("src", "dst")), strict=True)]
    assert edges == simple(zip(*map(np.ndarray.tolist, ends(drawing, 0, drawing.num_edges)), strict=True))
    results = benchmark(folder, tmp_path / "out", GraphOptions(backend="cpu"))
    assert [*results["algorithms"]] == ["bfs", "cdlp", "lcc", "pr", "wcc", "sssp"]
    graph = nx.Graph()
    graph.add_weighted_edges_from((*pair, weight) for pair, weight in zip(edges, table["weight"].to_pylist(), strict=True))
    assert len(graph) == written.vertices
    source = results["algorithms"]["sssp"]["parameters"]["source-vertex"]
    vertices, sums = read_reference(tmp_path / "out" / "social-SSSP", "sssp")
    expected = nx.single_source_dijkstra_path_length(graph, source)
    assert dict(zip(vertices.tolist(), sums.tolist(), strict=True)) == {vertex: expected.get(vertex, np.inf) for vertex in graph}
    with pytest.raises(BadConfig, match="is not an empty folder"):
        files_of("social", folder)
    assert [path.name for path in folder.parent.iterdir()] == ["social"]


def test_all_edges_as_they_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(generated, "_DRAWN", 100)
    assert files_of("raw", tmp_path / "raw").write_drawn(graph500(5), False) == generated.Generated(512, None)
    table = pq.read_table(tmp_path / "raw" / "raw.e.parquet")
    assert [*zip(*(table[name].to_pylist() for name in table.column_names), strict=True)] == [*kronecker(5, 1)]


@pytest.mark.parametrize("sizes", [[], [0], [5], [3, 4, 5], [12, 0, 1]])
def test_parts_have_the_rows_of_the_pieces(sizes):
    rows = iter(range(100))
    found = [*parts([(np.array([*islice(rows, size)], np.int64),) for size in sizes], 4)]
    assert [len(part[0]) for part in found] == [4] * (sum(sizes) // 4) + [sum(sizes) % 4] * (sum(sizes) % 4 > 0)
    assert [row for part in found for row in part[0].tolist()] == [*range(sum(sizes))]
