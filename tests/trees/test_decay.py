"""Decayed sums against Python's own functions, and whatever the order of the trees."""

import math
from fractions import Fraction

import numpy as np
import pytest

from kernels.reductions.decay import Access, decayed
from kernels.reductions.decay.constants import CUMULATIVE, EXPONENTIAL, GRAVITY
from kernels.reductions.decay.factors import Decay, factor
from tests.trees.test_reductions import trees

DECAYS = [Decay(), Decay(EXPONENTIAL, 3e-9), Decay(GRAVITY, 1.7, 2e4)]


def plainly(decay, distance):
    """The factor of a distance as a reader would write it."""
    if decay.kind == EXPONENTIAL:
        return math.exp(-decay.rate * distance)
    return max(distance, decay.least) ** -decay.rate if decay.kind == GRAVITY else 1.0


@pytest.mark.parametrize("rate", [0.0, 1e-6, 0.5, 2.0, 37.25])
def test_factors_are_those_of_the_functions(rate):
    random = np.random.default_rng(1)
    for distance in [0.0, 0.5, 1.0, 1.5, *(10.0 ** random.uniform(-5, 9, 300)).tolist()]:
        for decay in (Decay(EXPONENTIAL, rate), Decay(GRAVITY, rate, 1e-3)):
            expected = plainly(decay, distance)
            computed = factor(distance, decay.kind, decay.parameters)
            assert computed == pytest.approx(expected, rel=1e-13 * max(1, rate * 25), abs=1e-300)
    assert factor(7.0, CUMULATIVE, Decay().parameters) == 1


def test_a_factor_that_no_float_can_be_is_infinite():
    assert Decay(GRAVITY, 100.0, 1e-9).largest == math.inf
    assert Decay(GRAVITY, 2.0, 1e-9).largest == pytest.approx(1e18)


@pytest.mark.parametrize("decay", DECAYS, ids=["cumulative", "exponential", "gravity"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_decayed_sums(dtype, decay):
    distances = trees(dtype)
    values = np.random.default_rng(2).normal(0, 1000, (2, distances.shape[1]))
    thresholds = np.array([0, 2**27, 2**40])
    counts, sums = decayed(distances, thresholds, values, decay)
    for tree, row in enumerate(distances.tolist()):
        for place, threshold in enumerate(thresholds):
            near = [at for at, distance in enumerate(row) if 0 <= distance <= threshold]
            assert counts[tree, place] == len(near)
            for column in range(2):
                terms = [values[column, at] * plainly(decay, row[at]) for at in near]
                assert sums[tree, place, column] == pytest.approx(math.fsum(terms), abs=1e-12 * sum(map(abs, terms)))


def test_decayed_sums_do_not_depend_on_an_order():
    distances = trees(np.float64)
    values = np.random.default_rng(2).random((1, distances.shape[1]))
    order = np.random.default_rng(3).permutation(distances.shape[1])
    one = decayed(distances, np.array([2.0**40]), values, DECAYS[1])
    other = decayed(distances[:, order], np.array([2.0**40]), values[:, order], DECAYS[1])
    assert [part.tolist() for part in one] == [part.tolist() for part in other]


@pytest.mark.parametrize("decay", DECAYS, ids=["cumulative", "exponential", "gravity"])
def test_access_of_vertices(decay):
    """Also of integers that no float is, and in two parts."""
    distances, amounts = trees(np.int32), np.random.default_rng(4).random((5, 2)) * [1, 1e9]
    thresholds = np.array([2**28, 2**40])
    parts = [Access(distances, distances.shape[1], thresholds, amounts.max(axis=0), decay) for _ in range(3)]
    parts[0].add(distances, amounts)
    parts[1].add(distances[3:], amounts[3:])
    parts[2].add(distances[:3], amounts[:3])
    assert (parts[1].totals + parts[2].totals == parts[0].totals).all()
    sums = parts[0].floats(parts[0].totals)
    for row in range(100):
        for place, threshold in enumerate(thresholds):
            near = [tree for tree in range(5) if 0 <= distances[tree, row] <= threshold]
            terms = [Fraction(amounts[tree, place]) * Fraction(plainly(decay, int(distances[tree, row]))) for tree in near]
            assert sums[place, row] == pytest.approx(float(sum(terms)), rel=1e-12, abs=1e-15)
