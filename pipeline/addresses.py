"""The limit of addresses of this process (`ulimit -v`), which the C library and threads meet before any message about memory."""

import resource
from pathlib import Path

from pipeline.units import size

STATUS = Path("/proc/self/status")
ADDRESSES = "`ulimit -v` allows of addresses"


def address_space() -> tuple[int, int] | None:
    """Bytes of addresses that this process may have, and those that it has, also of maps; None without a limit."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if most == resource.RLIM_INFINITY else (most, status("VmSize"))


def lack_of_addresses() -> str:
    """That a limit of addresses may be why memory was refused, with both numbers; empty without a limit."""
    space = address_space()
    return f"; this process has {size(space[1])} of the {size(space[0])} that {ADDRESSES}" if space else ""


def status(*names: str) -> int:
    """The sum of these entries of this process, in bytes."""
    try:
        lines = STATUS.read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))
    except OSError:  # no Linux
        return 0
