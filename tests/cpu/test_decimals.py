"""Weights in units of a power of ten, against `decimal` and `fractions`, which read the texts."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from kernels.decimals import MOST, PLACES, in_decimals, places_of, units_of
from tests.counts import NIGHTLY

pytestmark = pytest.mark.sampled
CASES = 3_000_000 if NIGHTLY else 30_000


def texts(seed: int, places: int) -> list[str]:
    """Numbers of up to so many decimals, as people write them, of all sizes that can be counted."""
    random = np.random.default_rng(seed)
    digits = random.integers(0, 16, CASES)
    numbers = random.integers(0, 10**digits + 1) % MOST
    return [f"{Decimal(int(number)).scaleb(-places):f}" for number in numbers]


@pytest.mark.parametrize("places", range(PLACES + 1))
def test_units_are_the_decimals_that_were_written(places):
    written = texts(places, places)
    units = units_of(np.array([*map(float, written)]), places)
    assert units.tolist() == [int(Decimal(text).scaleb(places)) for text in written]
    # What Fraction divides is rounded once, from the exact quotient.
    assert in_decimals(units, places).tolist() == [float(Fraction(text)) for text in written]


@pytest.mark.parametrize(
    ("weights", "places"),
    [
        ([], 0),
        ([0.0, 5.0, 12.0], 0),
        ([0.5, 12.25], 2),  # multiples of a power of two, too
        ([0.1, 12.3, 7.0], 1),
        ([0.1] * 5000 + [0.12345], 5),
        ([0.1] * 70_000 + [0.25] + [3.0] * 70_000, 2),
        ([1e-15], 15),
        ([1e-16], None),
        ([0.1 + 0.2], None),  # 0.30000000000000004
        ([2.0] * 200_000 + [2**0.5], None),
        ([float(MOST)], 0),
        ([2.0 * MOST], None),
        ([1e15, 0.001], None),  # both together need 18 digits
        ([5e-324], None),
        ([1.7e308], None),
    ],
)
def test_the_fewest_decimals_are_found(weights, places):
    assert places_of(np.array(weights, np.float64)) == places


@pytest.mark.parametrize("value", [0.30000000000000004, -0.5, np.nan, np.inf, 1e300, 0.05, 3.2, -1.1])
def test_what_is_no_unit_is_refused(value):
    with pytest.raises(ValueError, match=r"is not a multiple of 10\^-1 in 0\.\.3\.1"):
        units_of(np.array([0.1, -1.0, 3.1, value]), 1, largest=31)


def test_no_distance_stays_none_in_any_shape():
    units = units_of(np.array([0.3, -1.0]), 2)
    assert units.tolist() == [30, -1]
    assert in_decimals(np.array([[30, -1], [0, 7]], np.int32), 2).tolist() == [[0.3, -1.0], [0.0, 0.07]]
