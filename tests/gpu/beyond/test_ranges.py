"""The layout of arcs that the GPU's memory does not hold has the CPU's bytes, in any number of ranges of rows."""

# ruff: noqa: E402  (the imports below need CuPy)
from itertools import product

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.arrays import is_cupy_array
from kernels.distributed.communicator import SingleRank
from kernels.distributed.gpu.memory import arcs_on_host, memory_of
from kernels.gpu.loader import to_host
from kernels.layout.building import build_csr
from kernels.layout.on_gpu import ranges, streaming
from kernels.layout.on_gpu.ranges import build_in_ranges
from kernels.layout.on_gpu.streaming import StreamedEdges
from kernels.layout.rules import ArcRules, Edges
from tests.counts import in_turn

pytestmark = pytest.mark.sampled
NONE = range(0)
RULES = list(product([False, True], repeat=3))
WEIGHTS = (None, np.int32, np.int64, np.float32, np.float64)


def drawn(seed, num_edges, num_ids, weight=None, skew=1.0, spread=1) -> Edges:
    random = np.random.default_rng(seed)
    src, dst = (spread * (num_ids * random.random(num_edges) ** skew).astype(np.int64) + 5 for _ in range(2))
    return Edges(src, dst, None if weight is None else (random.integers(0, 9, num_edges) / 2).astype(weight))


def star(weight=None) -> Edges:
    leaves = np.arange(1, 900)
    return Edges(np.zeros_like(leaves), leaves, None if weight is None else (leaves % 7).astype(weight))


@pytest.fixture
def free(monkeypatch):
    """Sets what the layout takes for free memory, beside the vertices; small blocks of edges."""
    monkeypatch.setattr(streaming, "free_bytes", lambda: 9000)

    def set_free(count: int) -> list[tuple[range, int]]:
        made: list[tuple[range, int]] = []
        add = ranges.add_arcs

        def adding(edges, tails, most, rest):
            made.append((tails, most))
            return add(edges, tails, most, rest)

        monkeypatch.setattr(ranges, "free_bytes", lambda: count)
        monkeypatch.setattr(ranges, "_OF_VERTEX", 0)
        monkeypatch.setattr(ranges, "add_arcs", adding)
        return made

    return set_free


def check(edges: Edges, rules=(True, False, False), declared=NONE, window=2**62, parts=1) -> None:
    expected = build_csr(edges, ArcRules(declared, *rules), window, SingleRank(), parts)
    found = build_in_ranges(StreamedEdges(edges), ArcRules(declared, *rules), window, parts)
    assert found.self_loops == expected.self_loops
    assert [*found.directions] == [*expected.directions]
    columns = [(expected.bounds, found.bounds)]
    columns += [(getattr(expected, name), getattr(found, name)) for name in ("ids", "positions", "rows_by_id")]
    for name in expected.directions:
        columns.append((expected.degrees(name), found.degrees(name)))
        there, here = expected.whole(name), found.whole(name)
        assert all(memory_of(array) == "host" for array in (here.indices, here.weights) if array is not None and len(array))
        columns += zip(vars(there).values(), vars(arcs_on_host(here)).values(), strict=True)
    for there, here in columns:
        assert (there is None) == (here is None)
        if there is not None:
            copied = to_host(here)
            assert (copied.dtype, copied.tobytes()) == (there.dtype, there.tobytes())
    assert listed(found.dropped, rules[0]) == listed(expected.dropped, rules[0])


def listed(parts, both: bool) -> list[tuple]:
    """Dropped edges, in any order; of an undirected one either end may come first."""
    rows = []
    for part in parts:
        assert not is_cupy_array(part.src)
        weights = np.zeros(part.count) if part.weights is None else part.weights
        for src, dst, weight in zip(part.src.tolist(), part.dst.tolist(), weights.tolist(), strict=True):
            rows.append((*(sorted((src, dst)) if both else (src, dst)), weight))
    return sorted(rows)


@pytest.mark.parametrize(("rules", "weight"), in_turn(4, RULES, WEIGHTS), ids=str)
def test_random_edges(rules, weight, free):
    """With many parallel arcs, few, and ids that are searched for; in many ranges, and in one."""
    for seed, (num_ids, skew, spread, memory) in enumerate([(40, 1, 1, 0), (700, 3, 1, 500_000), (300, 1, 10**9, 10**6)]):
        made = free(memory or (15_000 if rules[2] else 90_000))
        check(drawn(seed, 2500, num_ids, weight, skew, spread), rules)
        assert (len({tails for tails, _ in made}) > 3) == (not memory)


@pytest.mark.parametrize("window", [None, 16, 2**62])
@pytest.mark.parametrize(("both", "parts"), in_turn(2, [False, True], [1, 3]))
def test_orders_and_shards(window, both, parts, free):
    made = free(40_000)
    check(drawn(1, 3000, 500, np.int32, 2.0), (both, False, False), range(3, 600), window, parts)
    assert len(made) > 4


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("weight", [None, np.int32])
def test_a_star_and_graphs_without_edges(weight, both, free):
    made = free(30_000 if weight is None else 60_000)
    check(star(weight), (both, False, False))
    assert len(made) > 2
    none = star(weight).none()
    for declared in (NONE, range(2, 7)):
        check(none, (both, False, False), declared)
    loops = np.arange(5)
    check(Edges(loops, loops, None if weight is None else loops.astype(weight)), (both, False, False))


def test_arcs_reversed_are_found_symmetric(free):
    free(30_000)
    edges = drawn(2, 400, 90)
    both_ways = Edges(np.concatenate([edges.src, edges.dst]), np.concatenate([edges.dst, edges.src]), None)
    check(both_ways, (False, False, False))


def test_the_arcs_of_one_vertex_have_to_fit(free):
    free(9000)
    with pytest.raises(MemoryError, match=r"the arcs of one vertex take .* MiB of the GPU's memory, and 0\.0 MiB are free"):
        check(star())


def test_memory_that_is_free_by_the_time_of_the_error(monkeypatch, free):
    """The figures are those that were compared."""
    free(0)
    figures = iter([2**20, 9000])  # for the vertices, and for the arcs
    monkeypatch.setattr(ranges, "free_bytes", lambda: next(figures, 2**30))
    with pytest.raises(MemoryError, match=r"the arcs of one vertex take .* MiB of the GPU's memory, and 0\.0 MiB are free"):
        check(star())


@pytest.mark.parametrize(("rules", "weight"), in_turn(3, RULES, WEIGHTS), ids=str)
def test_a_range_has_few_enough_keys(rules, weight, free, monkeypatch):
    """Whatever memory is free."""
    made = free(2**30)
    monkeypatch.setattr(ranges, "MOST_KEYS", 500)
    check(drawn(4, 2500, 90, weight), rules)
    assert max(most for _, most in made) <= 500
    passes = (not rules[2]) + (1 if rules[0] else 2)
    assert len(made) > passes * 2500 // 500


def test_the_arcs_of_one_vertex_have_to_be_few_enough(free, monkeypatch):
    free(2**30)
    monkeypatch.setattr(ranges, "MOST_KEYS", 500)
    with pytest.raises(MemoryError, match="one vertex has 899 arcs, and the GPU sorts 500 at a time"):
        check(star())


def test_the_vertices_have_to_fit(monkeypatch):
    monkeypatch.setattr(ranges, "free_bytes", lambda: 2**20)
    with pytest.raises(MemoryError, match="the vertices of a graph take"):
        check(drawn(3, 10, 10), declared=range(20_000))
