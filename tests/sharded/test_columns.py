"""The distinct values of a column, for dense and sparse values."""

import numpy as np
import pytest

from kernels.distributed.columns import distinct


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("values", [[], [7], [3, 3, 3], [5, -1, 5, 0, -1]])
def test_each_value_is_found_once_in_ascending_order(values, dtype) -> None:
    found = distinct(np.array(values, dtype))
    assert found.tolist() == sorted(set(values)) and found.dtype == dtype


def test_a_million_sparse_keys() -> None:
    first, second = np.random.default_rng(0).integers(0, 10**6, (2, 1_000_000))
    keys = first * 10**6 + second
    np.testing.assert_array_equal(distinct(keys), np.array(sorted(set(keys.tolist()))))
