"""Digests that a GPU computes are those of the files."""

# ruff: noqa: E402  (the imports below need CuPy)

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
blake3 = pytest.importorskip("blake3").blake3

from kernels.distributed.gpu.memory import pinned_array
from kernels.gpu.blake3.digests import digest_of, text_of

# Words of an array behind a header of 32: leaves that are empty, partial and full, one, two, an odd number of them
LENGTHS = [0, 1, 15, 16, 17, 223, 224, 225, 479, 480, 481, 1247, 2016, 5000]


@pytest.mark.parametrize("part", [1, 2, 4, 1 << 20])
@pytest.mark.parametrize("length", LENGTHS)
def test_any_length_in_any_parts(length, part):
    random = np.random.default_rng(length)
    header, array = random.bytes(128), random.integers(-(2**31), 2**31, length, dtype=np.int64).astype(np.int32)
    expected = blake3(header + array.tobytes()).hexdigest()
    assert text_of(digest_of(header, cupy.asarray(array), part)) == expected


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_other_types_parts_of_arrays_and_pinned_memory(dtype):
    random = np.random.default_rng(7)
    header, array = random.bytes(64), random.random(3000).astype(dtype)
    pinned, there = pinned_array(len(array), array.dtype)
    there[:] = array
    for on_gpu in (cupy.asarray(array), pinned):
        for part in (slice(None), slice(3, 2501), slice(1, 1)):
            assert text_of(digest_of(header, on_gpu[part])) == blake3(header + array[part].tobytes()).hexdigest()
