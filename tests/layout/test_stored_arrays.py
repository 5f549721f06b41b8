"""Arrays on the disk, opened by several threads of a process: its ranks, or its tasks."""

import gc
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pipeline.store.arrays import create_array, load_array, write_slice


class Waits:
    """Garbage whose collection lets another thread run, wherever the collector happens to begin."""

    def __init__(self):
        self.me = self

    def __del__(self):
        time.sleep(1e-5)


@pytest.fixture
def much_garbage():
    before = gc.get_threshold()
    gc.set_threshold(10)
    yield
    gc.set_threshold(*before)


def test_threads_open_and_fill_arrays_at_the_same_time(tmp_path, much_garbage):
    # Python 3.11 fails with a SystemError where two threads parse at the same time, and NumPy parses every file's header.
    create_array(tmp_path / "array.npy", np.dtype(np.int64), 4)

    def use(thread: int) -> None:
        for number in range(400):
            garbage = [Waits() for _ in range(5)]
            del garbage
            write_slice(tmp_path / "array.npy", thread, np.array([number]))
            assert load_array(tmp_path / "array.npy", np.dtype(np.int64), 4)[thread] == number

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(use, range(4)))
