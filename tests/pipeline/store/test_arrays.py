"""Arrays are saved in parts, as the bytes of `np.save`; who opens one that is being saved waits."""

import io
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Timer

import numpy as np
import pyarrow as pa
import pytest

from pipeline.errors import Damaged
from pipeline.store import arrays
from pipeline.store.arrays import Background, GrowingFile, dtype_of, load_array, save_array


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.int64, np.uint64, np.float64])
@pytest.mark.parametrize("shape", [(0,), (1,), (8,), (9,), (3, 7), (0, 5)])
def test_the_bytes_are_those_of_numpy(dtype, shape, tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "_PART", 24)
    values = np.arange(np.prod(shape), dtype=np.int64).reshape(shape).astype(dtype)
    for number, array in enumerate((values, np.asfortranarray(values), np.repeat(values, 2, axis=0)[::2])):
        expected = io.BytesIO()
        np.save(expected, values)
        path = tmp_path / f"{number}.npy"
        save_array(path, array)
        assert path.read_bytes() == expected.getvalue()
        assert np.array_equal(load_array(path, np.dtype(dtype), *shape), values)


def test_who_opens_an_array_waits_until_it_is_saved(tmp_path, monkeypatch):
    real, values, may_write = arrays._write, np.arange(99), Event()
    monkeypatch.setattr(arrays, "_write", lambda *of: may_write.wait() and real(*of))
    with Background() as background, ThreadPoolExecutor(1) as other:
        background.save(tmp_path / "array.npy", values)
        (tmp_path / "array.npy").rename(tmp_path / "renamed.npy")
        opened = other.submit(load_array, tmp_path / "renamed.npy", values.dtype, 99)
        with pytest.raises(TimeoutError):
            opened.result(0.1)
        may_write.set()
        assert np.array_equal(opened.result(), values)
    assert not arrays._unfinished and background.digests() == {}


def test_an_array_that_cannot_be_saved_is_damaged(tmp_path, monkeypatch):
    def full(*_):
        assert may_fail.wait()
        raise OSError("No space left on device")

    may_fail = Event()
    monkeypatch.setattr(arrays, "_write", full)
    with Background() as background, ThreadPoolExecutor(1) as other:
        background.save(tmp_path / "array.npy", np.arange(99))
        opened = other.submit(load_array, tmp_path / "array.npy", np.dtype(np.int64), 99)
        Timer(0.1, may_fail.set).start()
        with pytest.raises(Damaged):
            opened.result()
        while arrays._unfinished:
            time.sleep(0.001)
        with pytest.raises(Damaged):  # not an array of zeros, while other files are still being saved
            load_array(tmp_path / "array.npy", np.dtype(np.int64), 99)
        with pytest.raises(OSError, match="No space left"):
            background.finish()


def test_nobody_waits_for_a_file_that_no_thread_saves(tmp_path, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("kernels.cpu.staying.begin_call", refuse)
    with Background() as background:
        with pytest.raises(RuntimeError, match="new thread"):
            background.save(tmp_path / "array.npy", np.arange(99))
        assert not arrays._unfinished
        background.finish()


def test_few_files_wait_to_be_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "_OPEN", 2)
    with Background() as background:
        for number in range(20):
            background.save(tmp_path / f"{number}.npy", np.full(9, number))
            assert len(arrays._unfinished) <= 2
    assert all(load_array(tmp_path / f"{number}.npy", np.dtype(np.int64), 9)[0] == number for number in range(20))


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
