"""Batches in slotted pages, against a replay of their arcs one by one; the store's index and pages after them."""

import numpy as np

from kernels.library.dynamic.contract import Batch, as_batch
from kernels.library.dynamic.pages.batches import delete, insert
from kernels.library.dynamic.pages.constants import HEADER_WORDS
from kernels.library.dynamic.pages.kernels import expand, locate
from kernels.library.dynamic.pages.layout import most_in_first
from kernels.library.dynamic.pages.store import PageStore
from tests.dynamic.cases import NAMED, Replay, arcs_of, host, lists_of_degrees, random_arcs


def run(like, name: str, unique: bool, weight=np.int32, size: int = 40, check=None) -> list[np.ndarray]:
    """Insert and delete batches of 0 to 400 arcs, and fill pages to their ends; `check` is called with the store after each."""
    degrees = NAMED[name]
    lists = lists_of_degrees(degrees, like, weight)
    vertices = np.arange(len(degrees), dtype=np.int32, like=like)
    store = PageStore.from_lists(vertices, lists, size, 0.8)
    replay = Replay(len(degrees), list(arcs_of(lists).elements()), unique)
    for seed, number in enumerate((0, 1, 30, 400, 5)):
        src, dst, weights = random_arcs(len(degrees), number, seed)
        assert insert(store, as_batch(like, src, dst, weights, weight), unique) == replay.insert(src, dst)
        require_same(store, replay, check)
        if weight is not None:
            require_weights(store, src, dst)
        kept = random_arcs(len(degrees), number, seed + 100)
        src, dst = np.append(src[::2], kept[0]), np.append(dst[::2], kept[1])
        before = len(store.words)
        assert delete(store, as_batch(like, src, dst)) == replay.delete(src, dst)
        assert len(store.words) == before  # deletions do not allocate
        require_same(store, replay, check)
    if not unique:  # until every list ends where a page does
        there = np.array([replay.degree(row) for row in range(len(degrees))])
        src = np.repeat(np.arange(len(degrees), dtype=np.int32), (most_in_first(size) - there) % (size - HEADER_WORDS))
        assert insert(store, as_batch(like, src, src, 100 + src, weight), unique) == replay.insert(src, src)
        require_same(store, replay, check)
    return [
        host(each) for each in (store.words[store.slots], store.index, *([] if weight is None else [store.weights[store.slots]]))
    ]


def run_skewed(like, seed: int, size: int, weight, unique: bool) -> list[np.ndarray]:
    """Batches of up to 3,000 arcs on lists of up to 3,000 neighbours, many in some pages; counts, index and pages after each."""
    random, vertices = np.random.default_rng(seed), 120
    degrees = np.where(random.random(vertices) < 0.1, random.integers(0, 3000, vertices), random.integers(0, 60, vertices))
    lists = lists_of_degrees(degrees.tolist(), like, weight)
    numbers = np.arange(vertices, dtype=np.int32)
    numbers[60:] += unique  # so that number 60 has no vertex
    store = PageStore.from_lists(np.asarray(numbers, like=like), lists, size, 0.8)
    assert store.complete != unique
    tails, heads, found = np.repeat(numbers, degrees), host(lists.heads), list[np.ndarray]()
    for number in random.choice([5, 200, 3000], 3):
        src, dst, weights = random_arcs(vertices, number, seed + number)
        found.append(np.array(insert(store, as_batch(like, src, dst, weights, weight), unique)))
        there = random.permutation(len(heads))[: random.choice([10, 2000])]
        src, dst = np.append(src[::2], tails[there]), np.append(dst[::2], heads[there])
        found.append(np.array(delete(store, as_batch(like, src, dst))))
        pools = (store.words,) if weight is None else (store.words, store.weights)
        found += [host(store.index), *(host(pool[store.slots]) for pool in pools)]
    return found


def require_same(store: PageStore, replay: Replay, check) -> None:
    if check:
        check(store)
    rows = np.arange(replay.vertices, dtype=np.int32, like=store.slots)
    assert arcs_of(expand(store, locate(store, rows))) == +replay.arcs


def require_weights(store: PageStore, src: np.ndarray, dst: np.ndarray) -> None:
    """Arcs of the first batches weigh 1..98, those inserted 100..998, so a lost or shifted weight is 0 or beyond."""
    weights = expand(store, locate(store, np.arange(store.num_rows, dtype=np.int32, like=store.slots))).weights
    assert not len(weights) or int(weights.min()) > 0


def run_columns(like) -> list[np.ndarray]:
    """Columns with gaps, weights of another type, and numbers below zero, which no vertex has; counts and lists after each."""
    degrees = [2] * 30 + [50]  # the last list is large
    lists = lists_of_degrees(degrees, like, np.int32)
    store = PageStore.from_lists(np.arange(31, dtype=np.int32, like=like), lists, 40, 0.8)
    src, dst, weights = random_arcs(31, 60, 1)
    columns = np.asarray(np.stack([src, dst], 1), like=like).T

    def batch(*given: list[int]) -> Batch:
        return Batch(*(np.asarray(each, np.int32, like=like) for each in (*given, [7] * len(given[0]))))

    changes = [
        insert(store, Batch(*columns, np.asarray(np.repeat(weights, 2).astype(np.float64), like=like)[::2]), False),
        delete(store, Batch(*columns[:, ::3], None)),
        insert(store, batch([-3, -3, -3, 30], [1, 1, 1, 5]), False),
        delete(store, batch([-3, 30, 30], [1, 5, -1])),
    ]
    located = locate(store, np.arange(31, like=like))
    return [np.array(changes), *map(host, expand(store, located))]
