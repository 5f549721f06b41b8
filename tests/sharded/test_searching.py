"""The search in ascending values agrees with NumPy's."""

import numpy as np
import pytest

from kernels.distributed.searching import places_upto

VALUES = {
    "none": [],
    "one": [7],
    "the least and the largest": [0, np.iinfo(np.int32).max],
    "dense": range(300),
    "repeated": [3, 3, 3, 9, 9, 400],
    "dense, then sparse": [*range(100), 10**6, 2 * 10**6, 10**9],
    "sparse, then dense": [0, 10**9, *range(10**9 + 10**6, 10**9 + 10**6 + 100)],
}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_positions_equal_those_of_numpy(values: list[int], dtype: type) -> None:
    ascending = np.array(values, dtype)
    extremes = [-1, 0, np.iinfo(dtype).max]
    beside = [value + step for value in values for step in (-1, 0, 1) if value + step <= np.iinfo(dtype).max]
    asked = np.random.default_rng(1).permutation(np.array([*extremes, *beside], dtype))
    places = places_upto(ascending, asked)
    assert places.dtype == dtype
    np.testing.assert_array_equal(places, np.searchsorted(ascending, asked, "right"))
