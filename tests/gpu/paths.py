"""Comparison of paths found on a GPU with expected ones."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.answers import Paths


def to_host(paths: Paths) -> Paths:
    return Paths(paths.source, cupy.asnumpy(paths.distance), cupy.asnumpy(paths.predecessor))


def assert_equal(found: Paths, expected: Paths) -> None:
    assert found.distance.dtype == expected.distance.dtype
    assert found.predecessor.dtype == expected.predecessor.dtype
    np.testing.assert_array_equal(found.distance, expected.distance)
    np.testing.assert_array_equal(found.predecessor, expected.predecessor)
