"""Memory that a process has had at its peak."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def peak_bytes(process: int | str = "self") -> int:
    """Most memory that a process has held since it was started; `ru_maxrss` would count what its parent held, too."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="ascii"))[1])


@contextmanager
def grown() -> Iterator[Callable[[], int]]:
    """Give a function that says by how many bytes this process has grown within, at its peak; maps that were read count."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is now what is held
    before = peak_bytes()
    yield lambda: peak_bytes() - before
