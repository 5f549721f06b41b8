"""Memory that a process has had at its peak."""

import re
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa


def peak_bytes() -> int:
    """Most memory that this process has held since it was started; `ru_maxrss` would count what its parent held, too."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))[1])


@contextmanager
def grown() -> Iterator[Callable[[], int]]:
    """Give a function that says by how many bytes this process has grown within, at its peak; maps that were read count."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is now what is held
    before = peak_bytes()
    yield lambda: peak_bytes() - before


@contextmanager
def allocated() -> Iterator[Callable[[], int]]:
    """Give a function that says how many bytes Arrow, NumPy and Python have held within, each at its peak.

    What an allocator keeps after it was freed, which differs on a busy machine, does not count.
    """
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield lambda: (pool.max_memory() or 0) + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
