"""The layout on the GPU makes the CPU's arrays, to the byte, for every rule, order and type."""
# ruff: noqa: E402  (the imports below need CuPy)

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.one_gpu.timing import PoolMemory
from kernels.cpu.parallel import inverse
from kernels.distributed.partition import cut
from kernels.gpu.radix_sort import TILE, sort
from kernels.gpu.transfer import to_device
from kernels.graph import Array, Csr, index_dtype
from kernels.layout import cuda
from kernels.layout import rules as certified
from kernels.layout.cleaning import clean
from kernels.layout.laid_out import take_rows
from kernels.layout.on_gpu.numbering import number
from kernels.layout.orders import by_degree_in_windows
from kernels.layout.rules import ArcRules
from kernels.layout.sorting import in_rows, transpose
from tests.certificates.layouts import Layout, layout_of, random_layout
from tests.certificates.layouts import mutants as mutants_of
from tests.certificates.test_certificates_layout import certify
from tests.gpu.inputs import poison

Edges = tuple[Array, Array, Array | None]
NONE = range(0)
WEIGHTS = (None, np.int32, np.int64, np.float32, np.float64)


def random_edges(seed: int, num_edges: int, num_ids: int, weight: type | None, skew: float = 1, spread: int = 1) -> Edges:
    """Random edges, with more small ids for a larger `skew`, and few different weights, so that some arcs are equal."""
    random = np.random.default_rng(seed)
    src, dst = (spread * (num_ids * random.random(num_edges) ** skew).astype(np.int64) + 5 for _ in range(2))
    return src, dst, None if weight is None else (random.integers(0, 9, num_edges) / 2).astype(weight)


def csr_arrays(name: str, csr: Csr) -> Iterator[tuple[str, Array]]:
    yield f"{name} offsets", csr.offsets
    yield f"{name} indices", csr.indices
    if csr.weights is not None:
        yield f"{name} weights", csr.weights


def order_of(degrees: Array, window: int | None) -> Array:
    if window == 0:
        return np.arange(len(degrees), dtype=index_dtype(len(degrees)), like=degrees)
    return by_degree_in_windows(degrees, 2**62 if window is None else window)


def laid_out(edges: Edges, declared: range, rules: tuple[bool, bool, bool], window: int | None, num_shards: int):
    """The arrays that a layout stores, by name."""
    ids, arcs, self_loops = clean(certified.Edges(*edges), ArcRules(declared, *rules))
    yield "self-loops", np.array(self_loops)
    yield "ids", ids
    yield from csr_arrays("clean", arcs)
    into = in_rows(arcs)
    yield "symmetric", np.array(into is arcs)
    order = order_of(np.diff(arcs.offsets), window)
    yield "order", order
    rows_by_id = inverse(order)
    degrees = np.diff(arcs.offsets)[order]
    for name, csr in (("out", arcs), ("in", into)):
        for rows in cut(degrees if isinstance(degrees, np.ndarray) else degrees.get(), num_shards):
            yield from csr_arrays(f"{name} {rows}", take_rows(csr, order[rows.start : rows.stop], rows_by_id))


def check(
    edges: Edges, declared: range = NONE, rules=(True, False, False), window: int | None = None, num_shards: int = 1
) -> None:
    expected = dict(laid_out(edges, declared, rules, window, num_shards))
    poison()
    there = tuple(None if array is None else cupy.asarray(array) for array in edges)
    found = dict(laid_out(there, declared, rules, window, num_shards))
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        assert cupy.asnumpy(found[name]).tobytes() == array.tobytes(), name


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("rules", list(product([False, True], repeat=3)), ids=str)
def test_every_rule_and_weight(rules, weight):
    for seed, (num_ids, skew) in enumerate([(8, 1), (300, 1), (2000, 4), (1 << 10, 1)]):
        check(random_edges(seed, 3000, num_ids, weight, skew), rules=rules)


@dataclass(frozen=True)
class ReadAgain:
    """An edge list that is copied to the GPU whenever it is read, in blocks, some of which are empty."""

    edges: certified.Edges
    block: int
    spill: None = None

    @property
    def count(self) -> int:
        return self.edges.count

    @property
    def weight(self) -> np.dtype | None:
        return self.edges.weight

    def span(self) -> range:
        exact = self.edges.span()
        return range(max(exact.start - 7, 0), exact.stop + 9)

    def blocks(self) -> Iterator[certified.Edges]:
        for begin in range(-self.block, self.count, self.block):
            yield on_device(self.edges.take(slice(max(begin, 0), max(begin + self.block, 0))))

    def none(self) -> certified.Edges:
        return on_device(self.edges.none())


def on_device(edges: certified.Edges) -> certified.Edges:
    return certified.Edges(*(None if column is None else cupy.asarray(column) for column in vars(edges).values()))


def check_ranges(
    edges: Edges, rules: tuple[bool, bool, bool], ranges: int, declared: range = NONE, block: int | None = None
) -> None:
    expected, listed = certified.Edges(*edges), list[certified.Edges]()
    ids, arcs, self_loops = clean(expected, ArcRules(declared, *rules))
    poison()
    given = ReadAgain(expected, block) if block else on_device(expected)
    found_ids, found, found_loops = cuda.clean(given, ArcRules(declared, *rules), listed, ranges=ranges)
    assert found_loops == self_loops
    np.testing.assert_array_equal(cupy.asnumpy(found_ids), ids)
    for (name, array), (_, other) in zip(csr_arrays("clean", arcs), csr_arrays("clean", found), strict=True):
        assert other.dtype == array.dtype, name
        assert cupy.asnumpy(other).tobytes() == array.tobytes(), name
    both, kept_loops, _ = rules
    arcs_of_edges = (1 + both) * (expected.count - self_loops) + self_loops * kept_loops
    dropped = sum((1 + both) * part.count - both * int((part.src == part.dst).sum()) for part in listed)
    assert dropped == arcs_of_edges - len(arcs.indices)


@pytest.mark.parametrize("free", [1, 10**9])
@pytest.mark.parametrize("spread", [1, 10**9])
@pytest.mark.parametrize("rules", list(product([False, True], repeat=3)), ids=str)
def test_edges_that_are_read_again_in_blocks(monkeypatch, rules, spread, free):
    """With temporary arrays in the pool, and apart, which leaves nothing in use in their pool."""
    pools = []
    monkeypatch.setattr(cuda, "free_bytes", lambda: free)
    monkeypatch.setattr(cupy.cuda, "MemoryPool", lambda make=cupy.cuda.MemoryPool: pools.append(make()) or pools[-1])
    for seed, weight in enumerate(WEIGHTS[:3]):
        for declared in (NONE, range(3, 400)):
            check_ranges(random_edges(seed, 2000, 300, weight, 3, spread), rules, 1 + seed, declared, block=600 + 700 * seed)
        check_ranges(random_edges(seed, 0, 300, weight, 3, spread), rules, 1 + seed, range(9), block=5)
    assert bool(pools) == (free == 1)
    assert not any(pool.total_bytes() for pool in pools)


def test_more_ranges_where_little_memory_is_free(monkeypatch):
    edges = certified.Edges(*random_edges(12, 30_000, 900, None))
    numbered = number(on_device(edges), ArcRules(NONE, True, False, False), None)
    monkeypatch.setattr(cuda, "_SMALL", 0)
    found = []
    for free in (10**9, 1_000_000, 500_000, 100):
        monkeypatch.setattr(cuda, "free_bytes", lambda free=free: free)
        found.append(cuda._enough_ranges(numbered, np.dtype(np.int32)))
    # Rows of 240,000 bytes, and 960,000 of keys: in half of what is free beside the rows
    assert found == [3, 3, 8, 4097]


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("rules", list(product([False, True], repeat=3)), ids=str)
@pytest.mark.parametrize("ranges", [2, 3, 50])
def test_ranges_of_tails(ranges, rules, weight):
    for seed, (num_ids, skew) in enumerate([(1, 1), (8, 1), (300, 4), (20_000, 3)]):
        check_ranges(random_edges(seed, 30_000, num_ids, weight, skew), rules, ranges)


@pytest.mark.parametrize("rules", list(product([False, True], repeat=3)), ids=str)
def test_ranges_without_arcs(rules):
    loops = np.arange(9000) // 3
    for weights in (None, loops.astype(np.float32)):
        check_ranges((loops, loops, weights), rules, 4)
        check_ranges((loops, np.full_like(loops, 8999), weights), rules, 4, range(9000))
        check_ranges((loops[:0], loops[:0], None if weights is None else weights[:0]), rules, 3, range(70))
        check_ranges((loops[:0], loops[:0], None if weights is None else weights[:0]), rules, 3)


def test_more_arcs_than_fit_a_range():
    """The number of ranges is chosen automatically, with bins of several tails; the peak of memory stays within the limit."""
    edges = random_edges(11, 10_000_000, 1 << 20, np.int32, 2)
    for weights in (None, edges[2]):
        check((*edges[:2], weights), range(5, 5 + (1 << 20)))
        there = on_device(certified.Edges(*edges[:2], weights))
        with PoolMemory() as memory:
            _, arcs, _ = cuda.clean(there, ArcRules(range(5, 5 + (1 << 20)), True, False, False))
        rows = sum(array.nbytes for array in vars(arcs).values() if array is not None)
        assert memory.most <= 2.5 * rows


@pytest.mark.parametrize("window", [None, 0, 1, 7, 64, 10**6])
@pytest.mark.parametrize("num_shards", [1, 2, 3, 7])
def test_every_order_and_shards(window, num_shards):
    for seed, both in enumerate([False, True]):
        check(random_edges(seed, 20_000, 900, np.int64, 3), NONE, (both, False, False), window, num_shards)


@pytest.mark.parametrize("spread", [1, 3, 10**6, 10**14])
@pytest.mark.parametrize("declared", [NONE, range(700), range(5, 305), range(10**6, 10**6 + 50)], ids=str)
def test_ids_with_gaps_and_declared_ones(spread, declared):
    for keep_self_loops in (False, True):
        check(random_edges(3, 1000, 300, np.float32, 1, spread), declared, (True, keep_self_loops, False))


@pytest.mark.parametrize("declared", [NONE, range(1), range(3, 70)], ids=str)
@pytest.mark.parametrize("weight", [None, np.float64])
def test_few_edges_or_none(declared, weight):
    for num_edges, rules in product([0, 1, 2], product([False, True], repeat=3)):
        check(random_edges(1, num_edges, 1, weight), declared, rules, num_shards=2)
        check(random_edges(2, num_edges, 3, weight), declared, rules, num_shards=2)


@pytest.mark.parametrize("num_ids", [(1 << 8) - 1, 1 << 8, (1 << 8) + 1, 1 << 16])
def test_vertices_that_fill_a_digit(num_ids):
    for keep_self_loops in (False, True):
        check(random_edges(4, 50_000, num_ids, None), range(5, 5 + num_ids), (True, keep_self_loops, False))


@pytest.mark.parametrize("weight", [None, np.int32, np.float64])
@pytest.mark.parametrize("both", [False, True])
def test_many_tiles_and_hubs(weight, both):
    check(random_edges(5, 2_000_000, 200_000, weight, 6), rules=(both, False, False))
    check(random_edges(6, 1_000_000, 900_000, weight, 1), rules=(both, True, True), window=4096)


def test_only_parallel_arcs():
    ends = np.full(300_000, 7)
    check((ends, ends + 1, np.arange(300_000)[::-1].copy()))
    check((ends, ends, None), rules=(True, True, False))
    check((ends, ends, None), rules=(True, False, False))


def test_ids_of_32_bits():
    src, dst, _ = random_edges(7, 5000, 700, None)
    narrow = certified.Edges(cupy.asarray(src.astype(np.int32)), cupy.asarray(dst.astype(np.int32)), None)
    rules = ArcRules(NONE, True, False, False)
    expected, found = clean(certified.Edges(src, dst, None), rules), clean(narrow, rules)
    assert found[0].dtype == np.int64
    for (name, array), (_, other) in zip(csr_arrays("", expected[1]), csr_arrays("", found[1]), strict=True):
        assert cupy.asnumpy(other).tobytes() == array.tobytes(), name


def test_wide_rows():
    _, arcs, _ = clean(certified.Edges(*random_edges(8, 9000, 800, np.int64, 2)), ArcRules(NONE, False, False, False))
    arcs = replace(arcs, indices=arcs.indices.astype(np.int64))
    on_device = Csr(*map(cupy.asarray, (arcs.offsets, arcs.indices, arcs.weights)))
    order = by_degree_in_windows(np.diff(arcs.offsets), 2**62).astype(np.int64)
    expected = [*csr_arrays("in", transpose(arcs)), *csr_arrays("rows", take_rows(arcs, order, inverse(order)))]
    order = cupy.asarray(order)
    found = [*csr_arrays("in", in_rows(on_device)), *csr_arrays("rows", take_rows(on_device, order, inverse(order)))]
    for (name, array), (_, other) in zip(expected, found, strict=True):
        assert other.dtype == array.dtype, name
        assert cupy.asnumpy(other).tobytes() == array.tobytes(), name


@pytest.mark.parametrize("value", [None, np.int32, np.float64])
@pytest.mark.parametrize(("first_bit", "end_bit"), [(0, 64), (0, 7), (3, 21), (0, 48)])
@pytest.mark.parametrize("part", [TILE, 3 * TILE, 200 * TILE])
def test_sort_is_stable_in_parts(value, first_bit, end_bit, part):
    random = np.random.default_rng(9)
    for length in (2, TILE - 1, TILE, TILE + 1, 100_001):
        keys = random.integers(0, 2**64, length, np.uint64) >> np.uint64(64 - end_bit)
        keys[length // 3 :: 2] = keys[0]
        values = None if value is None else np.arange(length).astype(value)
        digits = keys >> np.uint64(first_bit)
        order = np.argsort(digits, kind="stable")
        poison()
        found = sort(cupy.asarray(keys), None if values is None else cupy.asarray(values), first_bit, end_bit, part)
        np.testing.assert_array_equal(cupy.asnumpy(found[0]), keys[order])
        if values is not None:
            np.testing.assert_array_equal(cupy.asnumpy(found[1]), values[order])


def test_twenty_repeats_give_one_answer():
    edges = random_edges(10, 400_000, 60_000, np.int32, 3)
    expected = dict(laid_out(edges, NONE, (True, False, False), None, 1))
    there = tuple(map(cupy.asarray, edges))
    for _ in range(20):
        poison()
        for name, array in laid_out(there, NONE, (True, False, False), None, 1):
            np.testing.assert_array_equal(cupy.asnumpy(array), expected[name], name)


def on_gpu(layout: Layout) -> Layout:
    graph, claim = to_device(layout.graph), layout.claim
    degrees = {name: cupy.asarray(getattr(claim, name)) for name in ("out_degrees", "in_degrees")}
    claim = replace(claim, **degrees, dropped=on_device(claim.dropped))
    return replace(layout, edges=on_device(layout.edges), graph=graph, claim=claim)


@pytest.mark.parametrize("mutated", [12, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_the_certificate_has_the_cpus_verdict_and_reason(mutated):
    random = np.random.default_rng(mutated)
    tried = 0
    while tried < mutated:
        layout = random_layout(random, 40)
        for wrong in (layout, *[mutant for _, mutant in mutants_of(layout, random)][tried % 7 :: 17]):
            expected, found = certify(wrong), certify(on_gpu(wrong))
            assert (found.holds, found.reason) == (expected.holds, expected.reason)
            assert found.holds == (wrong is layout)
            tried += wrong is not layout


@pytest.mark.parametrize("rules", list(product([False, True], repeat=3)), ids=str)
def test_what_the_gpu_lists_as_dropped_proves_its_layout(rules):
    for seed, weight in enumerate(WEIGHTS):
        columns = random_edges(seed, 300, 20, weight, 2, 3)
        edges = certified.Edges(*(None if column is None else cupy.asarray(column) for column in columns))
        layout = layout_of(edges, ArcRules(NONE, *rules), 64)
        assert certify(layout).holds
        lost = replace(edges, src=edges.src.copy())
        lost.src[7] += 3
        assert not certify(replace(layout, edges=lost)).holds
        narrow = certified.Edges(edges.src.astype(np.int32), edges.dst.astype(np.int32), edges.weights)
        assert certify(layout_of(narrow, ArcRules(NONE, *rules), 64)).holds
