"""The stored graph of known edge lists: its arcs, its cleaning, its ids, its order."""

import numpy as np
import pyarrow as pa
import pytest

from kernels.graph import Csr
from pipeline.cluster.threads import LocalThreads
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadInput
from pipeline.steps.layout import lay_out
from pipeline.steps.layout_files import complete, forget_what_used
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from pipeline.store import arrays
from pipeline.store.arrays import Background
from pipeline.store.graph import open_graph, open_shard, shard_rows
from pipeline.store.manifest import make
from tests.counts import in_turn
from tests.edge_lists import edge_folder, table_folder
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of
from tests.stored_graphs import validate

ORDERS = ("degree", "windowed", "source")


def same(left: Csr, right: Csr) -> bool:
    weights = (left.weights is None) == (right.weights is None)
    if weights and left.weights is not None:
        weights = np.array_equal(left.weights, right.weights)
    return weights and np.array_equal(left.offsets, right.offsets) and np.array_equal(left.indices, right.indices)


def laid_out(edges: EdgeList, work, parallel="lightest", **layout):
    return lay_out(edge_folder(work, edges), LayoutConfig(**layout), Runtime(work), (), Parallels(parallel))


def arcs_of(folder) -> list[tuple]:
    """All out-arcs in external ids, row by row."""
    graph = open_graph(folder)
    src = graph.ids[np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))]
    columns = [src, graph.ids[graph.out.indices], *([] if graph.out.weights is None else [graph.out.weights])]
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.sampled
@pytest.mark.parametrize(("edges", "shards"), in_turn(3, NAMED_GRAPHS, [1, 2, 3, 7]), ids=lambda of: getattr(of, "name", of))
def test_a_named_graph_under_every_order_and_shard_count(edges, shards, tmp_path):
    for order in ORDERS:
        folder = laid_out(edges, tmp_path, order=order, window=8, shards=shards)
        validate(folder)
        graph = open_graph(folder)
        expected = graph_of(edges, graph.ids.tolist(), np.dtype(folder.facts["stored_weight"] or np.int64))
        assert sorted(graph.ids.tolist()) == edges.ids
        assert np.array_equal(graph.rows_by_id, expected.rows_by_id)
        assert same(graph.out, expected.out)
        assert same(graph.into, expected.into)
        assert graph.symmetric == expected.symmetric == folder.facts["symmetric"]
        assert (folder.facts["vertices"], folder.facts["arcs"]) == (len(edges.ids), len(edges.arcs()))
        assert len(shard_rows(folder)) == shards
        assert sum(len(open_shard(folder, number).rows) for number in range(shards)) == len(edges.ids)


def test_the_four_arrays_of_figure_1(tmp_path):
    graph = open_graph(laid_out(FIGURE_1, tmp_path, order="source"))
    assert graph.ids.tolist() == list(range(7))
    assert "".join("abcdefg"[row] for row in graph.out.indices) == "bdeacebegaefabcdfgdegcef"
    weights = [4, 12, 9, 4, 8, 7, 8, 5, 2, 12, 3, 6, 9, 7, 5, 3, 1, 13, 6, 1, 11, 2, 13, 11]
    assert graph.out.weights.tolist() == weights
    assert graph.out.offsets[:-1].tolist() == [0, 3, 6, 9, 12, 18, 21]
    assert np.diff(graph.out.offsets).tolist() == [3, 3, 3, 3, 6, 3, 3]
    assert graph.into is graph.out


MESSY = EdgeList("messy", ((1, 2, 5), (2, 1, 7), (1, 2, 3), (1, 1, 4), (1, 1, 2), (3, 1, 6)))
UNDIRECTED = EdgeList("messy", MESSY.edges, directed=False)
CLEANED = [(1, 2, 3), (2, 1, 7), (3, 1, 6)]
BOTH = [(1, 2, 3), (1, 3, 6), (2, 1, 3), (3, 1, 6)]
EVERY_ARC = [(1, 1, 2), (1, 1, 4), (1, 2, 3), (1, 2, 5), (2, 1, 7), (3, 1, 6)]
EVERY_ARC_BOTH = [
    (1, 1, 2), (1, 1, 4), (1, 2, 3), (1, 2, 5), (1, 2, 7), (1, 3, 6), (2, 1, 3), (2, 1, 5), (2, 1, 7), (3, 1, 6),
]  # fmt: skip


@pytest.mark.parametrize(
    ("edges", "rules", "arcs", "counts"),
    [
        (MESSY, {}, CLEANED, (2, 0, 1)),
        (MESSY, {"self_loops": "keep"}, [(1, 1, 2), *CLEANED], (0, 0, 2)),
        (MESSY, {"parallel": "keep"}, EVERY_ARC[2:], (2, 0, 0)),
        (MESSY, {"parallel": "keep", "self_loops": "keep"}, EVERY_ARC, (0, 0, 0)),
        (MESSY, {"symmetrise": True}, BOTH, (2, 4, 4)),
        (MESSY, {"symmetrise": True, "parallel": "keep", "self_loops": "keep"}, EVERY_ARC_BOTH, (0, 4, 0)),
        (UNDIRECTED, {}, BOTH, (2, 4, 4)),
        (UNDIRECTED, {"self_loops": "keep"}, [(1, 1, 2), *BOTH], (0, 4, 5)),
    ],
)
def test_a_cleaning_rule_and_its_counts(edges, rules, arcs, counts, tmp_path):
    folder = laid_out(edges, tmp_path, order="source", **rules)
    validate(folder)
    assert arcs_of(folder) == arcs
    assert tuple(folder.facts[name] for name in ("self_loops_dropped", "arcs_added", "parallel_arcs_dropped")) == counts
    assert folder.facts["directed"] == (edges.directed and "symmetrise" not in rules)
    assert folder.facts["symmetric"] == (arcs not in (CLEANED, [(1, 1, 2), *CLEANED], EVERY_ARC, EVERY_ARC[2:]))


class TestParallelArcsThatAreAnError:
    """Policy `error`: parallel arcs weigh the same, and so do both directions of an undirected edge."""

    @pytest.mark.parametrize("shards", [0, 3])
    @pytest.mark.parametrize(
        ("edges", "directed", "named"),
        [
            (((1, 2, 5), (2, 3, 4), (1, 2, 7)), True, "edge 1 -> 2 of weight 7"),
            (((1, 2, 5), (2, 3, 4), (2, 1, 7)), False, "edge 1 - 2 of weight 7"),
            (((0, 1, 1), (1, 0, 9), (1, 2, 1), (2, 1, 1)), False, "edge 0 - 1 of weight 9"),
        ],
    )
    def test_a_heavier_one_is_named(self, edges, directed, named, shards, tmp_path):
        folder = edge_folder(tmp_path, EdgeList("heavier", edges, directed))
        runtime = Runtime(tmp_path, "cpu", LocalThreads(shards))
        with pytest.raises(BadInput, match="has a parallel one that is lighter") as refused:
            lay_out(folder, LayoutConfig(order="source"), runtime, (), Parallels("error"))
        found = str(refused.value).replace("2 - 1", "1 - 2").replace("1 - 0", "0 - 1")
        assert named in found
        assert '[graph] parallel = "error"' in found
        assert not (tmp_path / "graph").exists()
        lay_out(folder, LayoutConfig(order="source"), runtime)

    @pytest.mark.parametrize("edges", [MESSY.edges[:2], ((1, 2, 5), (1, 2, 5), (2, 1, 7)), ((1, 2), (1, 2))])
    def test_equal_ones_and_arcs_of_a_directed_graph_are_accepted(self, edges, tmp_path):
        folder = edge_folder(tmp_path, EdgeList("alike", edges))
        found = arcs_of(lay_out(folder, LayoutConfig(), Runtime(tmp_path), (), Parallels("error")))
        assert found == arcs_of(lay_out(folder, LayoutConfig(), Runtime(tmp_path / "lightest")))


def test_a_directed_graph_with_every_reverse_stores_one_direction(tmp_path):
    folder = laid_out(EdgeList("pairs", ((0, 1, 5), (1, 0, 5), (4, 1, 2), (1, 4, 2))), tmp_path)
    assert folder.facts["directed"]
    assert folder.facts["symmetric"]
    assert not [name for name in folder.manifest.files if "/in-" in name]


@pytest.mark.parametrize("edges", [((0, 1, 5), (1, 0, 6)), ((0, 1, 5), (1, 0, 5), (1, 2, 5)), ((0, 1), (1, 2), (2, 0))])
def test_a_reverse_that_differs_or_misses_makes_two_directions(edges, tmp_path):
    folder = laid_out(EdgeList("one way", edges), tmp_path)
    assert not folder.facts["symmetric"]
    assert [name for name in folder.manifest.files if "/in-" in name]


@pytest.mark.parametrize(
    ("first", "declared", "ids"),
    [(1, 6, [1, 2, 3, 4, 5, 6]), (0, 3, [0, 1, 2, 3, 5]), (8, 2, [2, 3, 5, 8, 9]), (0, 0, [2, 3, 5])],
)
def test_declared_vertices_exist_without_an_arc(first, declared, ids, tmp_path):
    table = pa.table({"src": [2, 5], "dst": [3, 5]})
    edges = table_folder(tmp_path, table, first_id=first, declared_vertices=declared)
    graph = open_graph(lay_out(edges, LayoutConfig(), Runtime(tmp_path)))
    assert graph.ids[graph.rows_by_id].tolist() == ids
    assert graph.num_arcs == 1


def test_declared_vertices_without_any_edge(tmp_path):
    table = pa.table({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64())})
    folder = lay_out(
        table_folder(tmp_path, table, first_id=1, declared_vertices=3),
        LayoutConfig(shards=2),
        Runtime(tmp_path),
    )
    validate(folder)
    assert open_graph(folder).ids.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("arrow", "values", "stored"),
    [
        ("int64", [1, 2**31 - 1], "int32"),
        ("int64", [1, 2**31], "int64"),
        ("int16", [1, 2], "int32"),
        ("float32", [0.5, 0.1], "float32"),
        ("float64", [0.5, 0.1], "float64"),
    ],
)
def test_the_width_of_stored_weights(arrow, values, stored, tmp_path):
    weights = pa.array(values, arrow)
    folder = lay_out(
        table_folder(tmp_path, pa.table({"src": [0, 1], "dst": [1, 2], "weight": weights})),
        LayoutConfig(),
        Runtime(tmp_path),
    )
    assert folder.facts["weight"] == {"float32": "float", "float64": "double"}.get(arrow, arrow)
    assert folder.facts["stored_weight"] == stored
    graph = open_graph(folder)
    assert graph.out.weights.dtype == stored
    assert {src: weight for src, _, weight in arcs_of(folder)} == dict(enumerate(weights.to_pylist()))


def crowd() -> tuple[EdgeList, dict[int, int]]:
    """Vertices of out-degrees 0 to 40, spread over the ids."""
    degrees = {vertex: vertex * 7 % 41 for vertex in range(0, 400, 2)}
    return EdgeList("crowd", tuple((v, 1001 + 2 * k) for v, degree in degrees.items() for k in range(degree))), degrees


def test_the_order_by_degree(tmp_path):
    edges, degrees = crowd()
    ids = open_graph(laid_out(edges, tmp_path, order="degree")).ids.tolist()
    assert ids == sorted(edges.ids, key=lambda vertex: (-degrees.get(vertex, 0), vertex))


def test_the_order_by_degree_within_windows(tmp_path):
    edges, degrees = crowd()
    place = {vertex: position for position, vertex in enumerate(edges.ids)}

    def key(vertex):
        degree = degrees.get(vertex, 0)
        return (0, -degree, vertex) if degree >= 32 else (1, place[vertex] // 10, -degree, vertex)

    assert open_graph(laid_out(edges, tmp_path, order="windowed", window=10)).ids.tolist() == sorted(edges.ids, key=key)


@pytest.mark.parametrize("order", ORDERS)
def test_the_facts_of_the_degree_groups(order, tmp_path):
    arcs = [(0, v) for v in range(1, 1025)] + [(1, v) for v in range(2, 34)] + [(2, v) for v in range(3, 34)]
    folder = laid_out(EdgeList("groups", tuple(arcs)), tmp_path, order=order)
    assert folder.facts["out"]["groups"] == [1, 1, 1023]
    assert folder.facts["in"]["groups"] == [0, 0, 1025]


def test_steps_that_used_a_damaged_folder_are_forgotten(tmp_path):
    graph = make(tmp_path / "graph", "graph", {"edges": "e"}, {}, lambda folder: {})
    wcc = make(tmp_path / "wcc", "wcc", {"graph": graph.digest}, {}, lambda folder: {})
    proof = make(tmp_path / "proof-wcc", "proof-wcc", {"graph": graph.digest, "answer": wcc.digest}, {}, lambda folder: {})
    other = make(tmp_path / "names", "names", {"edges": "e"}, {}, lambda folder: {})
    (tmp_path / "half").mkdir()
    forget_what_used(graph.path, {"edges": "f"})  # of another edge list: what used it has another key
    assert wcc.path.exists() and proof.path.exists()
    forget_what_used(graph.path, {"edges": "e"})
    assert not wcc.path.exists() and not proof.path.exists()
    assert graph.path.exists() and other.path.exists() and (tmp_path / "half").exists()
    forget_what_used(tmp_path / "none", {})


def test_a_graph_that_cannot_be_written_is_removed_with_what_used_it(tmp_path, monkeypatch):
    with Background() as background:
        monkeypatch.setattr(arrays, "_write", lambda *_: (_ for _ in ()).throw(OSError("No space left on device")))

        def write(folder):
            background.save(folder / "indices.npy", np.arange(9))
            return {}

        graph = make(tmp_path / "graph", "graph", {"edges": "e"}, {}, write)
        wcc = make(tmp_path / "wcc", "wcc", {"graph": graph.digest}, {}, lambda folder: {})
        other = make(tmp_path / "names", "names", {"edges": "e"}, {}, lambda folder: {})
        with pytest.raises(OSError, match="No space left"):
            complete(graph, background)
    assert not graph.path.exists() and not wcc.path.exists() and other.path.exists()
