"""Rows of two blocks with the same keys, against Python's sets; what threads share."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pipeline.comparison import matching
from pipeline.comparison.matching import Matchings, Unordered, match


def keys(random, apart=1):
    return np.flatnonzero(random.random(60) < random.choice([0, 0.1, 0.6, 1])) * apart


@pytest.mark.parametrize("apart", [1, 1000])  # numbers for each row, which decide how keys are found
@pytest.mark.parametrize("seed", range(30))
def test_rows_with_the_same_keys_are_those_of_python(seed, apart):
    random = np.random.default_rng(seed)
    old, new = keys(random, apart), keys(random, apart)
    found = match(old, new)
    assert old[found.removed].tolist() == sorted({*old.tolist()} - {*new.tolist()})
    assert new[found.added].tolist() == sorted({*new.tolist()} - {*old.tolist()})
    source = np.arange(len(new)) if found.source is None else found.source
    shared = np.setdiff1d(np.arange(len(new)), found.added)
    assert np.array_equal(old[source[shared]], new[shared]) and not source[found.added].any()


def test_keys_that_do_not_ascend_are_refused():
    for of in (match, Matchings(1).of):
        with pytest.raises(Unordered, match="the keys do not ascend, each once"):
            of(np.array([1, 3, 2]), np.array([1, 2, 3]))


def test_blocks_are_matched_once_for_all_tables(monkeypatch):
    random = np.random.default_rng(3)
    pairs = [tuple(np.r_[0, np.sort(random.choice(np.arange(1, 99), 40, replace=False)), 99] for _ in "ab") for _ in range(4)]
    calls = []

    def counted(old, new):
        calls.append(1)
        return match(old, new)

    monkeypatch.setattr(matching, "match", counted)
    shared = Matchings(2)
    with ThreadPoolExecutor(8) as threads:
        first = [*threads.map(lambda _: shared.of(*(side.copy() for side in pairs[0])), range(50))]
    assert len(calls) == 1 and all(one is first[0] for one in first)
    for old, new in pairs:  # with the same lengths and ends
        found, due = shared.of(old, new), match(old, new)
        assert all(np.array_equal(getattr(found, name), getattr(due, name)) for name in ("source", "added", "removed"))
    assert len(calls) == len(pairs)
    longer = [np.arange(length) for length in (5, 6, 7)]
    for side in (*longer, longer[0]):  # only the last two are held
        shared.of(side, side)
    assert len(calls) == len(pairs) + 4


def test_what_cannot_be_matched_is_refused_for_every_table():
    shared = Matchings(2)
    for _ in range(2):
        with pytest.raises(Unordered, match="ascend"):
            shared.of(np.array([1, 3, 2]), np.array([1, 2]))
