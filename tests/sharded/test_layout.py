"""The layout over ranks produces the same bytes as the layout on a single rank."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipeline.steps.layout
from kernels.distributed import Shard, SingleRank
from kernels.distributed.threads import run_ranks
from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.layout.building import build_csr
from kernels.layout.rules import ArcRules, Edges
from kernels.layout.sharded import shard_of
from kernels.layout.sharded.cleaning import clean_arcs
from pipeline.cluster.threads import LocalThreads
from pipeline.config.layout import LayoutConfig
from pipeline.errors import Damaged
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from tests.counts import examples
from tests.edge_lists import edge_folder, table_folder
from tests.graphs import NAMED_GRAPHS, EdgeList
from tests.sharded.ranks import DEADLINE, SIZES, SOME_SIZES, dealing_of, dealt
from tests.sharded.shards import even_bounds, split
from tests.stored_graphs import validate

pytestmark = pytest.mark.sampled


def part_of(edges: Edges, rank: int, size: int, bring: Callable[[Array], Array] = np.asarray) -> Edges:
    """A rank's share of the edges: none to about twice the average, and not contiguous."""
    weights = np.arange(size) + (size == 1)
    mine = np.random.default_rng(size).choice(size, len(edges.src), p=weights / weights.sum()) == rank
    return Edges(*(None if column is None else bring(column[mine]) for column in (edges.src, edges.dst, edges.weights)))


def edges_of(edges: EdgeList, dtype: type = np.int64) -> Edges:
    loops = [(vertex, vertex, 1) for vertex in edges.vertices]
    rows = [*edges.edges, *loops]
    src, dst = (np.array([row[end] for row in rows], np.int64) for end in (0, 1))
    return Edges(src, dst, np.array([row[2] for row in rows], dtype) if edges.weighted else None)


def on_one_rank(edges: Edges, rules: ArcRules, window: int | None) -> Graph:
    """The graph that a single rank lays out."""
    found = build_csr(edges, rules, window, SingleRank())
    out = found.take(0, "out")
    return Graph(found.ids, found.rows_by_id, out, found.take(0, "in") if "in" in found.directions else out, found.directed)


def same(one: Array | None, other: Array | None) -> bool:
    one, other = to_host(one), to_host(other)
    return one is other or (one.dtype == other.dtype and np.array_equal(one, other))


def same_csr(one, other) -> bool:
    return all(same(getattr(one, name), getattr(other, name)) for name in ("offsets", "indices", "weights"))


def same_shard(one: Shard, other: Shard) -> bool:
    names = ("bounds", "ids", "positions", "ghosts", "ghost_positions")
    alike = all(same(getattr(one, name), getattr(other, name)) for name in names)
    return alike and one.symmetric == other.symmetric and same_csr(one.out, other.out) and same_csr(one.into, other.into)


def check(
    edges: Edges,
    rules: ArcRules,
    window: int | None,
    size: int,
    bring: Callable[[Array], Array] = np.asarray,
    deals: bool = False,
) -> None:
    expected = on_one_rank(edges, rules, window)
    bounds = even_bounds(expected, size)
    if deals:
        dealing = dealing_of(expected, size)
        expected, bounds = dealt(expected, dealing), dealing.bounds

    def work(communicator):
        part = build_csr(part_of(edges, communicator.rank, size, bring), rules, window, communicator, deals=deals)
        return shard_of(part, communicator), part.first_position, to_host(part.rows_by_id)

    found = run_ranks(size, work, DEADLINE)
    shards = split(expected, bounds)
    assert np.array_equal(np.concatenate([rows for *_, rows in found]), expected.rows_by_id)
    assert [first for _, first, _ in found] == np.cumsum([0, *(len(rows) for *_, rows in found)])[:-1].tolist()
    for (shard, *_), other in zip(found, shards, strict=True):
        assert same_shard(shard, other)


UNDIRECTED = ArcRules(range(0), both=True, keep_self_loops=False, keep_parallel=False)
DIRECTED = ArcRules(range(0), both=False, keep_self_loops=False, keep_parallel=False)


@pytest.mark.parametrize("size", SOME_SIZES)
@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda graph: graph.name)
def test_named_graphs_have_the_expected_shards(edges, size):
    rules = DIRECTED if edges.directed else UNDIRECTED
    for window in (None, 8) if size % 2 else (1, 10**6):
        check(edges_of(edges), rules, window, size)


@st.composite
def random_edges(draw):
    spread = draw(st.sampled_from([1, 10**9]))  # dense ids use a table, sparse ids a binary search
    ids = draw(st.integers(1, 40))
    count = draw(st.integers(0, 300))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    ends = (random.integers(0, ids, (2, count)) ** draw(st.sampled_from([1, 2]))) * spread
    kind = draw(st.sampled_from([None, np.int32, np.int64, np.float32, np.float64]))
    return Edges(*ends, None if kind is None else random.integers(0, 5, count).astype(kind))


@settings(max_examples=examples(60))
@given(
    edges=random_edges(),
    declared=st.sampled_from([range(0), range(50), range(7, 12)]),
    rules=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    window=st.sampled_from([None, 1, 3, 16, 10**6]),
    size=st.sampled_from(SIZES),
)
def test_random_edges_have_the_expected_shards_under_every_rule(edges, declared, rules, window, size):
    for deals in (False, True):
        check(edges, ArcRules(declared, *rules), window, size, deals=deals)


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("window", [None, 100, 4096, 10**6])
def test_hubs_with_many_windows_have_the_expected_shards(window, size):
    random = np.random.default_rng(size)
    count = 60_000
    src = np.minimum(random.integers(0, 9000, count), random.integers(0, 9000, count) ** 2 // 4000)
    edges = Edges(src, random.integers(0, 9000, count), random.integers(0, 999, count))
    check(edges, UNDIRECTED, window, size)
    check(edges, DIRECTED, window, size)


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("window", [None, 100, 10**6])
def test_dealt_rows_have_the_expected_shards(window, size):
    random = np.random.default_rng(size)
    edges = Edges(*(9000 * random.random((2, 30_000)) ** 5).astype(np.int64), random.integers(0, 999, 30_000))
    for rules in (UNDIRECTED, DIRECTED):
        assert not dealing_of(on_one_rank(edges, rules, window), size).keeps
        check(edges, rules, window, size, deals=True)


def test_skewed_ids_still_give_ranks_equal_numbers_of_arcs():
    random = np.random.default_rng(1)
    edges = Edges(*(random.integers(0, 10**6, (2, 400_000)) ** 2), None)  # most ids are small

    def arcs(communicator):
        owned = clean_arcs(part_of(edges, communicator.rank, 4), UNDIRECTED, communicator)
        return len(owned.arcs[0].csr.indices)

    held = run_ranks(4, arcs, DEADLINE)
    assert sum(held) > 790_000
    assert max(held) < 1.05 * sum(held) / 4


def content(folder) -> tuple:
    facts = {name: fact for name, fact in folder.facts.items() if name not in ("backend", "proof")}
    return facts, folder.manifest.key, folder.manifest.files


@pytest.mark.parametrize("size", SOME_SIZES)
@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("empty", {}),
        ("figure_1", {}),
        ("isolated_first_and_last", {"order": "windowed", "window": 2}),
        ("two_hubs", {"order": "windowed", "window": 16}),
        ("self_loop_beside_an_arc", {"self_loops": "keep"}),
        ("parallel_arcs", {"parallel": "keep", "order": "source"}),
        ("asymmetric_pair", {"symmetrise": True}),
        ("id_gaps", {}),
        ("heavy", {}),
        ("in_star", {}),
    ],
)
def test_the_stored_graph_equals_that_of_a_single_rank(name, layout, size, tmp_path):
    edges = edge_folder(tmp_path, next(graph for graph in NAMED_GRAPHS if graph.name == name))
    parallel = Parallels(layout.get("parallel", "lightest"))
    layout = LayoutConfig(**{key: value for key, value in layout.items() if key != "parallel"}, shards=size)
    one = pipeline.steps.layout.lay_out(edges, layout, Runtime(tmp_path / "one"), (), parallel)
    many = pipeline.steps.layout.lay_out(edges, layout, Runtime(tmp_path / "many", cluster=LocalThreads(size)), (), parallel)
    assert content(many) == content(one)


@pytest.mark.parametrize("weight", ["int8", "int64", "double"])
@pytest.mark.parametrize("directed", [True, False])
def test_the_stored_graph_equals_that_of_a_single_rank_for_every_weight_type(weight, directed, tmp_path):
    random = np.random.default_rng(3)
    columns = {"src": random.integers(1, 300, 2000), "dst": random.integers(1, 300, 2000)}
    table = pa.table(columns | {"weight": pa.array(random.integers(0, 99, 2000)).cast(weight)})
    edges = table_folder(tmp_path, table, directed=directed, first_id=1, declared_vertices=400)
    for number in (2, 5):
        layout = LayoutConfig(shards=number, order="windowed", window=64)
        one = pipeline.steps.layout.lay_out(edges, layout, Runtime(tmp_path / f"one {number}"))
        many = pipeline.steps.layout.lay_out(edges, layout, Runtime(tmp_path / f"many {number}", cluster=LocalThreads(number)))
        assert content(many) == content(one)
        validate(many)


def test_a_truncated_edge_list_ends_all_ranks(tmp_path):
    edges = edge_folder(tmp_path, NAMED_GRAPHS[-1])
    (file,) = edges.path.glob("part-*")
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(Damaged):
        pipeline.steps.layout.lay_out(edges, LayoutConfig(), Runtime(tmp_path / "many", cluster=LocalThreads(3)))


def test_many_ranks_together_need_little_more_memory_than_two():
    ids = np.arange(400 * 400).reshape(400, 400)
    ends = [(ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])]
    edges = Edges(*(np.concatenate([pair[end].ravel() for pair in ends]) for end in (0, 1)), None)

    def peak(size):
        cuts = [len(edges.src) * rank // size for rank in range(size + 1)]

        def work(communicator):
            mine = slice(*cuts[communicator.rank : communicator.rank + 2])
            part = Edges(edges.src[mine], edges.dst[mine], None)
            return shard_of(build_csr(part, UNDIRECTED, 4096, communicator), communicator)

        tracemalloc.start()
        try:
            run_ranks(size, work, DEADLINE)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2)  # compiles
    assert peak(16) < 1.5 * peak(2)
