"""Random changes of random rows, merged, against a Python list per row; for NumPy and CuPy."""

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import Csr
from kernels.layout.merging import DELETE, INSERT, KIND, UPDATE, find_places, merge, sort_changes
from kernels.layout.merging.pairs import PairChanges, merge_pairs, newest


def check(like, seed, vertices=60, arcs=400, number=300, weight=np.int32, ordered=True) -> None:
    """Merge, compare rows with those of lists, and what was found with what they have; `like` chooses the backend."""
    random = np.random.default_rng(seed)
    positions = None if ordered else random.permutation(vertices).astype(np.int32)
    rank = np.arange(vertices) if ordered else positions

    def pairs(tails, count):
        skewed = (tails * random.random(count) ** 2).astype(np.int64)
        return sorted(set(zip(skewed.tolist(), random.integers(0, vertices, count).tolist(), strict=True)))

    rows = [[] for _ in range(vertices)]
    for tail, head in pairs(vertices, arcs):
        rows[tail].append((head, int(random.integers(1, 99))))
    for row in rows:
        row.sort(key=lambda arc: rank[arc[0]])
    more = vertices + 2  # rows that the changes add
    changes = []
    for tail, head in pairs(more, number):
        exists = tail < vertices and head in dict(rows[tail])
        kind = random.choice([DELETE, UPDATE] if exists else [INSERT])
        changes.append((tail, head, kind, int(random.integers(100, 200)), exists))
    random.shuffle(changes)
    offsets = np.cumsum([0, *map(len, rows)])
    flat = [arc for row in rows for arc in row]

    def there(values, dtype):
        return np.array(values, dtype, like=like)

    csr = Csr(
        there(offsets, np.int64), there([arc[0] for arc in flat], np.int32),
        None if weight is None else there([arc[1] for arc in flat], weight),
    )  # fmt: skip
    columns = list(zip(*changes, strict=True)) or [()] * 5
    given = [there(columns[0], np.int32), there(columns[1], np.int32), there(columns[2], KIND)]
    ranks = None if positions is None else there(positions, np.int32)
    batch = sort_changes(*given, None if weight is None else there(columns[3], weight), ranks)
    places = find_places(csr, batch, ranks)
    exists = np.array(columns[4], bool)
    np.testing.assert_array_equal(host(places.exist), exists[host(batch.order)])
    made = merge(csr, batch, places, more)
    expected = [dict(row) for row in rows] + [{}, {}]
    for tail, head, kind, value, _ in changes:
        if kind == DELETE:
            del expected[tail][head]
        else:
            expected[tail][head] = value
    lists = [sorted(row.items(), key=lambda arc: rank[arc[0]]) for row in expected]
    np.testing.assert_array_equal(host(made.offsets), np.cumsum([0, *map(len, lists)]))
    np.testing.assert_array_equal(host(made.indices), np.array([arc[0] for row in lists for arc in row], np.int32))
    if weight is not None:
        np.testing.assert_array_equal(host(made.weights), np.array([arc[1] for row in lists for arc in row], weight))


def check_pairs(like, seed, weight=np.int32, vertices=500, number=3000) -> None:
    """Changes of pairs, some repeatedly, half of them in rows without arcs, merged as NumPy merges them."""
    random = np.random.default_rng(seed)
    positions = random.permutation(vertices).astype(np.int32)
    rows, heads = random.integers(0, vertices // 2, number), random.integers(0, vertices, number)
    keys = np.unique(rows * vertices + positions[heads])
    ordered = np.argsort(positions)[keys % vertices].astype(np.int32)
    weights = None if weight is None else random.integers(1, 9, len(keys)).astype(weight)
    csr = Csr(np.searchsorted(keys // vertices, np.arange(vertices // 2 + 1)).astype(np.int64), ordered, weights)
    ends = random.integers(0, vertices, (2, number)).astype(np.int32)
    ends[:, : number // 2] = ends[:, number // 2 :][:, : number // 2]  # pairs that come twice
    stored = random.integers(0, len(keys), number // 4)
    ends[:, ::4][:, : len(stored)] = keys[stored] // vertices, ordered[stored]
    given = None if weight is None else random.integers(10, 99, number).astype(weight)
    changes = PairChanges(*ends, random.random(number) < 0.6, given)
    made = []
    for other in (np.empty(0), like):
        there = [
            type(of)(*(None if column is None else np.array(column, like=other) for column in vars(of).values()))
            for of in (csr, changes)
        ]
        order = np.array(positions, like=other)
        made.append(merge_pairs(there[0], newest(there[1], order), order, vertices))
    for one, two in zip(*(vars(each).values() for each in made), strict=True):
        assert (one is None and two is None) or np.array_equal(one, host(two))


def host(array):
    return array.get() if is_cupy_array(array) else array
