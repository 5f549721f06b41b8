"""Answers and proofs do not depend on the number of threads, however small the parts of the graph that a thread reads."""

import dataclasses
import functools

import numpy as np
import pytest

from benchmarks.graphs import graph_of_edges, random_digraph, rmat
from kernels.cpu import parallel
from kernels.registry import ALGORITHMS

PLACES = np.arange(20_000)
GRAPHS = {
    "ascending path": functools.partial(graph_of_edges, PLACES, PLACES + 1, PLACES, 20_001),
    "descending path": functools.partial(graph_of_edges, PLACES, PLACES + 1, PLACES[::-1], 20_001),
    "R-MAT": functools.partial(rmat, 12),
    "random digraph": functools.partial(random_digraph, 1 << 12),
}


def _arrays(answer):
    return [value for value in dataclasses.asdict(answer).values() if isinstance(value, np.ndarray)]


EXACT = [one for one in ALGORITHMS if one.by_default and one.exact and not one.has_index]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("algorithm", EXACT, ids=lambda one: one.name)
def test_several_threads_give_the_answer_of_one(algorithm, name, monkeypatch):
    graph = GRAPHS[name]()
    source = (0,) if algorithm.has_sources else ()
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    expected = _arrays(algorithm.resolve("solver")(graph, *source))
    monkeypatch.setattr(parallel, "cores", lambda: 4)
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    for _ in range(3):
        answer = algorithm.resolve("solver")(graph, *source)
        for array, other in zip(_arrays(answer), expected, strict=True):
            np.testing.assert_array_equal(array, other)
        verdict = algorithm.resolve("certificate")(graph, answer)
        assert verdict.holds, verdict.reason


def test_the_exception_of_the_first_item_is_raised(monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 4)

    def work(item):
        if item in (3, 9):
            raise ValueError(item)
        return item

    for _ in range(20):
        with pytest.raises(ValueError, match=r"^3$"):
            parallel.over_items(range(16), work)
    assert parallel.over_items([7, 5, 6], work) == [7, 5, 6]


@pytest.mark.parametrize("seed", range(20))
def test_values_are_inserted_at_their_places(seed, monkeypatch):
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    random = np.random.default_rng(seed)
    values, new = random.integers(0, 9, seed * 7), random.integers(0, 9, random.integers(0, 60))
    places = np.sort(random.integers(0, len(values), len(new), endpoint=True))
    places[: len(new) // 4], places[len(new) - len(new) // 4 :] = 0, len(values)
    assert np.array_equal(parallel.inserted(values, places, new), np.insert(values, places, new))


@pytest.mark.parametrize("length", [0, 1, parallel._BLOCK, 2 * parallel._BLOCK + 1])
@pytest.mark.parametrize("several", [False, True])
def test_elementwise_work_is_done_in_blocks(length, several, monkeypatch):
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1 if several else 1 << 30)
    values, blocks = np.arange(length), list[int]()

    def work(own, other):
        blocks.append(len(own))
        return own * 3 + other

    made = parallel.elementwise(work, values, values[::-1], dtype=np.int32)
    assert made.dtype == np.int32 and np.array_equal(made, values * 3 + values[::-1])
    assert max(blocks) <= parallel._BLOCK and sum(blocks) == length
