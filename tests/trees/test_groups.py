"""Distances by groups against exact sums of fractions, in one part and in several."""

from fractions import Fraction

import numpy as np
import pytest

from kernels.reductions.groups import GroupSums, by_groups
from tests.trees.test_reductions import trees

GROUPS = 7


def known_of(distances, groups, weights, limit):
    """Pairs, those without a distance, the least, the mean, the weighted mean of a group, and the weights' sum."""
    every = [(d if 0 <= d <= limit else None, Fraction(w)) for d, w in zip(distances, weights, strict=True)]
    near = [(Fraction(d), w) for d, w in every if d is not None]
    total, weight = sum(d for d, _ in near), sum(w for _, w in near)
    mean = float(total / len(near)) if near else None
    weighted = float(sum(d * w for d, w in near) / weight) if weight else None
    return len(every), len(every) - len(near), min(near)[0] if near else -1, mean, weighted


def nearly(due):
    return tuple(value if value is None else pytest.approx(value, rel=3e-16) for value in due)


def stated(groups, place):
    means = [None if np.isnan(of[place]) else of[place] for of in (groups.means, groups.weighted_means)]
    return *groups.counts[place].tolist(), groups.least[place], *means


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_distances_by_groups(dtype):
    distances = trees(dtype)[:, :900]
    random = np.random.default_rng(3)
    groups, weights = random.integers(0, GROUPS - 1, 900), random.random(900) * 10.0 ** random.integers(-9, 9, 900)
    weights[groups == 2] = 0
    limit = 2**29 if dtype is np.int32 else np.inf if dtype is np.float64 else 2**62
    by_tree = by_groups(distances, groups, weights, GROUPS, limit)
    for tree, row in enumerate(distances.tolist()):
        for group in range(GROUPS):
            chosen = np.flatnonzero(groups == group)
            due = known_of([row[at] for at in chosen], groups, weights[chosen].tolist(), limit)
            assert stated(by_tree, (tree, group)) == nearly(due)
    sources, of_sources = np.array([0, 1, 0, 1, 1]), np.array([3.5, 0.1, 1e-9, 0.0, 1e9])
    whole, parts = (GroupSums.empty((2, GROUPS), by_tree.least.dtype) for _ in range(2))
    whole.merge(by_tree, sources, of_sources)
    for part in (slice(0, 2), slice(2, 3), slice(3, 5)):
        parts.merge(by_groups(distances[part], groups, weights, GROUPS, limit), sources[part], of_sources[part])
    for one, other in zip(vars(whole).values(), vars(parts).values(), strict=True):
        assert one.tobytes() == other.tobytes()
    for source in range(2):
        for group in range(GROUPS):
            chosen, rows = np.flatnonzero(groups == group).tolist(), np.flatnonzero(sources == source).tolist()
            pairs = [(row, at) for row in rows for at in chosen]
            of_pairs = [Fraction(weights[at]) * Fraction(of_sources[row]) for row, at in pairs]
            due = known_of([distances[pair].item() for pair in pairs], groups, of_pairs, limit)
            assert stated(whole, (source, group)) == nearly(due)


def test_distances_of_vertices_by_groups():
    distances, weights = np.array([5, -1, 2, 9, -1]), np.array([1.0, 2.0, 3.0, 0.0, 1.0])
    made = GroupSums.empty((2,), np.int64)
    made.add(distances, np.array([0, 0, 0, 0, 1]), weights)
    assert made.counts.tolist() == [[4, 1], [1, 1]]
    assert made.least.tolist() == [2, -1]
    assert made.means[0] == 16 / 3 and made.weighted_means[0] == 11 / 4
    assert np.isnan(made.means[1]) and np.isnan(made.weighted_means[1])
