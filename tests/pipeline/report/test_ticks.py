"""Ticks of an axis, and their texts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.charts import short, ticks

SIZES = st.floats(0, 1e300)


@given(SIZES, SIZES, st.integers(2, 9))
def test_ticks_cover_the_axis_with_few_round_numbers(low, size, most):
    high = low + size
    if low < high:
        found = ticks(low, high, most)
        assert found[0] <= low * (1 + 1e-12)
        assert found[-1] >= high * (1 - 1e-12)
        assert len(found) <= most + 1
        step = found[1] - found[0]
        assert low > 1e9 * step or f"{step:e}"[0] in "125"


@given(st.integers(0, 10**6), st.integers(1, 10**12), st.integers(2, 9))
def test_ticks_of_integers_are_integers(low, size, most):
    found = ticks(low, low + size, most, integer=True)
    assert all(tick.is_integer() for tick in found)
    assert len(found) <= most + 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1, "1"), (999, "999"), (1000, "1k"), (999999.9, "1M"), (1.2e6, "1.2M"), (2.5e-7, "250n"), (1e18, "1E"),
     (math.inf, "inf"), (1e21, "1e+21"), (5e-324, "4.94066e-324")],
)  # fmt: skip
def test_numbers_of_ticks_are_short(value, text):
    assert short(value) == text
