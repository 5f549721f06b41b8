"""Arrays are saved in chunks on all cores, as the bytes of `np.save`."""

import io

import numpy as np
import pyarrow as pa
import pytest

from pipeline.store import arrays
from pipeline.store.arrays import dtype_of, load_array, save_array


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.int64, np.uint64, np.float64])
@pytest.mark.parametrize("shape", [(0,), (1,), (8,), (9,), (3, 7), (0, 5)])
def test_the_bytes_are_those_of_numpy(dtype, shape, tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "_CHUNK", 24)
    monkeypatch.setattr(arrays, "_WORTH_THREADS", 48)
    values = np.arange(np.prod(shape), dtype=np.int64).reshape(shape).astype(dtype)
    for number, array in enumerate((values, np.asfortranarray(values), np.repeat(values, 2, axis=0)[::2])):
        expected = io.BytesIO()
        np.save(expected, values)
        path = tmp_path / f"{number}.npy"
        save_array(path, array)
        assert path.read_bytes() == expected.getvalue()
        assert np.array_equal(load_array(path, np.dtype(dtype), *shape), values)


@pytest.mark.parametrize("kind", ["bool", "int8", "int64", "uint16", "uint64", "float", "double"])
def test_numpy_has_a_type_for_each_of_arrow(kind):
    kind = pa.type_for_alias(kind)
    assert dtype_of(kind) == kind.to_pandas_dtype()
