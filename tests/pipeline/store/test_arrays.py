"""Arrays are saved in chunks on all cores, as the bytes of `np.save`."""

import io

import numpy as np
import pyarrow as pa
import pytest

from pipeline.store import arrays
from pipeline.store.arrays import GrowingFile, dtype_of, load_array, save_array


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


def test_the_disk_writes_an_array_while_it_grows(tmp_path, monkeypatch):
    begun, awaited = [], []
    monkeypatch.setattr(arrays, "_WINDOW", 100)
    monkeypatch.setattr(
        arrays, "_sync_file_range", lambda _, at, size, how: (awaited if how == arrays._WAIT else begun).append((at, size))
    )
    values = np.arange(200, dtype=np.int64)
    file = GrowingFile(tmp_path / "grown.npy", values.dtype, len(values))
    for piece in np.split(values, [3, 30, 190]):
        file.append(piece)
    file.close()
    np.save(tmp_path / "saved.npy", values)
    assert (tmp_path / "grown.npy").read_bytes() == (tmp_path / "saved.npy").read_bytes()
    ends = [at + size for at, size in begun]
    assert [at for at, _ in begun] == [0, *ends[:-1]] and max(size for _, size in begun) < 200  # without gaps
    assert awaited == begun[:-1] and len(begun) > 9  # each while the next one is made


@pytest.mark.parametrize("kind", ["bool", "int8", "int64", "uint16", "uint64", "float", "double"])
def test_numpy_has_a_type_for_each_of_arrow(kind):
    kind = pa.type_for_alias(kind)
    assert dtype_of(kind) == kind.to_pandas_dtype()
