"""Lengths as the GPU kernels encode them: codes order as the lengths do, and an interval contains at least one length."""

import numpy as np
import pytest

from kernels.paths.lengths import as_length, beyond, far_of, length_type

INT32, INT64, FLOAT64 = (np.dtype(kind) for kind in (np.int32, np.int64, np.float64))


@pytest.mark.parametrize("sums", [INT32, INT64, FLOAT64])
def test_an_interval_ends_behind_its_start_and_not_beyond_the_length_of_no_path(sums: np.dtype) -> None:
    far, of_length = far_of(sums), length_type(sums)
    for length in (0.0, 0.3, 1.0, 999.0, 1e12, 1e300):
        width = as_length(sums, length)
        assert isinstance(width, of_length)
        for start in (0, 1, far // 2, far - 1):
            assert start < beyond(sums, start, width) <= far
            assert of_length(beyond(sums, start, width)) > of_length(start)


def test_sums_of_encoded_lengths() -> None:
    assert beyond(INT32, 7, as_length(INT32, 1024.9)) == 1031
    assert beyond(INT64, 2**63 - 5, as_length(INT64, 100)) == 2**63
    assert beyond(FLOAT64, int(as_length(FLOAT64, 1.5)), as_length(FLOAT64, 0.75)) == int(np.float64(2.25).view(np.uint64))
    assert beyond(FLOAT64, int(as_length(FLOAT64, 1e17)), as_length(FLOAT64, 1e-9)) == int(as_length(FLOAT64, 1e17)) + 1
    assert far_of(FLOAT64) == int(np.float64(np.inf).view(np.uint64))
