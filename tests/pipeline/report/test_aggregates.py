"""Aggregates of columns in parts, against NumPy and Python's integers on the whole column."""

import numpy as np
import pyarrow as pa
import pytest

from pipeline.report.aggregates import bins, exact_sum, frequencies, lower_median, values_of


@pytest.mark.parametrize("kind", ["small", "large", "float", "equal"])
@pytest.mark.parametrize("size", [1, 2, 101])
def test_the_median_of_parts_is_that_of_the_column(kind, size):
    random = np.random.default_rng(size)
    values = {
        "small": random.integers(0, 9, size),
        "large": random.integers(2**62, 2**63 - 1, size),
        "float": random.random(size),
        "equal": np.full(size, 7),
    }[kind]
    parts = np.array_split(values, 3)
    assert lower_median(parts, bins(parts, 10)) == np.sort(values)[(size - 1) // 2]


def test_sums_do_not_overflow():
    weights = [[2**63 - 1] * 5, [-(2**63)] * 2, [], [17]]
    column = pa.chunked_array(weights, pa.int64())
    assert exact_sum(column) == sum(sum(part) for part in weights)
    assert exact_sum(pa.chunked_array([[0.5], [0.25, 4.0]])) == 4.75
    for narrow in (pa.int8(), pa.int16(), pa.int32()):
        assert exact_sum(pa.chunked_array([[127, 0], [127, -1]], narrow)) == 253


def test_nulls_have_no_level():
    column = pa.chunked_array([[0, None, 2], [], [2, 1]], pa.int64())
    assert frequencies(values_of(column)).tolist() == [1, 1, 2]
