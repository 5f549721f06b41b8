"""The parallel sort of arcs, with many buckets and ranges on a small graph, against NumPy's stable sort."""

import numpy as np
import pytest

from kernels.cpu import parallel
from kernels.cpu.radix_sort import sort_by_digits
from kernels.layout import sorting
from kernels.layout.numbering import number
from kernels.layout.orders import by_degree_in_windows
from kernels.layout.rules import ArcRules, Edges
from pipeline.store.edges_on_disk import SpillFiles


class ShortMemory(Edges):
    """Edges whose arcs have to be sorted in many shares."""

    spill = None

    def blocks(self):
        for begin in range(0, self.count, 300):
            yield self.take(slice(begin, begin + 300))


@pytest.fixture(autouse=True)
def _many_buckets_and_threads(monkeypatch):
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    monkeypatch.setattr(sorting, "_BUCKET_ARCS", 16)


def _expected(src, dst, weights, rules):
    """Tails, heads and weights of the arcs in order."""
    loops = src == dst
    kept = np.flatnonzero(~loops | rules.keep_self_loops)
    turned = np.flatnonzero(~loops & rules.both)
    tails = np.concatenate([src[kept], dst[turned]])
    heads = np.concatenate([dst[kept], src[turned]])
    weights = np.concatenate([weights[kept], weights[turned]])
    order = np.lexsort((weights, heads, tails))
    tails, heads, weights = tails[order], heads[order], weights[order]
    if rules.keep_parallel:
        return tails, heads, weights
    first = np.append(True, (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1]))[: len(tails)]
    return tails[first], heads[first], weights[first]


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("vertices", [1, 3, 100, 1000])
@pytest.mark.parametrize(("step", "first"), [(1, 0), (1, 2**40), (10**5, 7)])  # looked up in a table, or searched for before
@pytest.mark.parametrize("share", [None, 1000])  # bytes of the arcs that are sorted at a time
def test_sorted_arcs_equal_those_of_a_sort_of_all(both, keep, vertices, step, first, share, tmp_path, monkeypatch):
    spill = share and SpillFiles(tmp_path)
    monkeypatch.setattr(SpillFiles, "most", share)
    monkeypatch.setattr(ShortMemory, "spill", spill)
    random = np.random.default_rng(vertices)
    src, dst = (np.minimum(random.integers(vertices, size=2000), random.integers(vertices, size=2000)) for _ in range(2))
    src, dst, weights = src.astype(np.int32), dst.astype(np.int32), random.integers(9, size=2000).astype(np.int32)
    rules, dropped = ArcRules(range(0), both, keep, keep), []
    kind = np.int32 if first < 2**31 else np.int64
    ends = [(end.astype(np.int64) * step + first).astype(kind) for end in (src, dst)]
    numbering = number((ShortMemory if spill else Edges)(*ends, weights), range(first, first + 1))
    assert bool(len(numbering.table)) == (step == 1 or vertices == 1) * (not spill or 5 * len(numbering.ids) <= share)
    found = sorting.sort_arcs(numbering, rules, dropped)
    places = (numbering.ids - first) // step
    vertices, src, dst = len(places), *(np.searchsorted(places, end).astype(np.int32) for end in (src, dst))
    tails, heads, expected = _expected(src, dst, weights, rules)
    np.testing.assert_array_equal(found.offsets, np.searchsorted(tails, np.arange(vertices + 1)))
    np.testing.assert_array_equal(found.indices, heads)
    np.testing.assert_array_equal(found.weights, expected)
    if not keep:
        listed = Edges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)).with_parts(dropped)
        edges = len(tails) if not both else len(tails) // 2
        assert len(listed.src) + edges == np.count_nonzero(src != dst)
    into = sorting.transpose(found, spill)
    order = np.lexsort((tails, heads))
    np.testing.assert_array_equal(into.indices, tails[order])
    np.testing.assert_array_equal(into.weights, expected[order])
    again = sorting.transpose(into, spill)
    np.testing.assert_array_equal(again.indices, found.indices)
    is_symmetric = np.array_equal(into.indices, found.indices) and np.array_equal(into.offsets, found.offsets)
    is_symmetric &= np.array_equal(into.weights, found.weights)
    assert (sorting.in_rows(found, spill) is found) == is_symmetric
    assert is_symmetric or not both
    assert not list(tmp_path.iterdir())  # files have no names


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 11), (0, 12), (3, 40), (0, 64), (20, 64)])
@pytest.mark.parametrize("items", [0, 1, 5000])
def test_digits_are_sorted_in_the_order_of_the_items(low, high, items):
    random = np.random.default_rng(high)
    keys, values = random.integers(1 << high, size=items, dtype=np.uint64), np.arange(items)
    order = np.argsort(keys >> np.uint64(low), kind="stable")
    expected = keys[order]
    sort_by_digits(keys, values, low, high)
    np.testing.assert_array_equal(values, order)
    np.testing.assert_array_equal(keys, expected)


@pytest.mark.parametrize("step", [1, 3, 10**6])
def test_vertices_are_numbered_by_several_threads(step):
    random = np.random.default_rng(step)
    src, dst = 7 + step * random.integers(0, 500, (2, 400))
    declared = range(5, 25)
    found = number(Edges(src, dst, None), declared)
    expected, places = np.unique(np.concatenate([src, dst, declared]), return_inverse=True)
    assert np.array_equal(found.ids, expected)
    ends = np.concatenate([found.edges.src, found.edges.dst])
    assert np.array_equal(found.table[ends - found.first] if len(found.table) else ends, places[:800])


@pytest.mark.parametrize("window", [1, 64, 999, 1000, 2**62])
@pytest.mark.parametrize("before", [0, 70])
def test_rows_are_ordered_by_degree_by_several_threads(window, before):
    random = np.random.default_rng(window % 1000)
    degrees = np.where(random.random(1000) < 0.1, random.integers(32, 90, 1000), random.integers(0, 32, 1000))
    places, narrow = np.arange(1000), degrees < 32
    expected = np.lexsort((places, -degrees, narrow * ((places + before % window) // window), narrow))
    assert np.array_equal(by_degree_in_windows(degrees, window, before), expected)
