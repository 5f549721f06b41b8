"""Columns of values: those that are distinct, however they are spread."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest

from kernels.distributed.columns import distinct


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("values", [[], [7], [3, 3, 3], [5, -1, 5, 0, -1]])
def test_each_value_once_and_ascending(values, dtype) -> None:
    found = distinct(np.array(values, dtype))
    assert found.tolist() == sorted(set(values)) and found.dtype == dtype


def test_pairs_as_keys_take_about_as_long_as_to_be_sorted() -> None:
    first, second = np.random.default_rng(0).integers(0, 10**6, (2, 1_000_000))
    keys = first * 10**6 + second

    def seconds(function) -> float:
        begun = perf_counter()
        function(keys)
        return perf_counter() - begun

    assert min(seconds(distinct) for _ in range(3)) < 5 * min(seconds(np.sort) for _ in range(3))
