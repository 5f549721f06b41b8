"""Comparison of paths found on a GPU with expected ones."""

import numpy as np

from kernels.answers import Paths


def assert_equal(found: Paths, expected: Paths) -> None:
    assert found.distance.dtype == expected.distance.dtype
    assert found.predecessor.dtype == expected.predecessor.dtype
    np.testing.assert_array_equal(found.distance, expected.distance)
    np.testing.assert_array_equal(found.predecessor, expected.predecessor)
