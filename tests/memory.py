"""Memory that a process has had at its peak."""

from __future__ import annotations

import re
from pathlib import Path


def peak_bytes() -> int:
    """Most memory that this process has held since it was started; `ru_maxrss` would count what its parent held, too."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))[1])
